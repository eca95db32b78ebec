/* grep: the lines of a file of any size that have a text in them, with lines around. No model.
 *
 * The file is read window by window. What is kept of it is the lines around matches and the line
 * that a window has cut; a line of more than LINE_BYTES_MAX is taken for several.
 */
#include "cuttlebone.h"

#define CONTEXT_MAX 5
#define MATCHES_MAX 100
#define WINDOW_BYTES_DEFAULT 65536
#define LINE_BYTES_MAX 65536
#define SHOWN_BYTES_MAX 240 /* of a line, in the result */
#define PROGRESS_EVENTS 10

CF_SIGNATURE("{path: text, pattern: text}",
             "{matches: [{line: number, text: text, before: [text], after: [text]}], lines: number, "
             "complete: bool}")

/* What is shown of a line. */
typedef struct {
    char bytes[SHOWN_BYTES_MAX];
    size_t len;
} shown;

typedef struct {
    uint64_t line;
    shown text;
    shown before[CONTEXT_MAX], after[CONTEXT_MAX];
    size_t before_count, after_count;
} match;

static struct {
    cf_buffer path, pattern;
    uint32_t context, matches;
    uint64_t window_bytes;
    bool ignore_case;
} wanted;

static struct {
    uint32_t handle;
    uint64_t len, offset, told;
} file;

static cf_buffer unfinished; /* the beginning of a line whose end has not been read yet */
static uint64_t lines;
static shown before[CONTEXT_MAX]; /* the last lines, the latest at the end */
static size_t before_count;
static match *matches;
static size_t matches_count;

/* Whether all matches that are wanted have been found, and the lines after the last of them. */
static bool full(void) {
    return matches_count == wanted.matches && matches[matches_count - 1].after_count == wanted.context;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool is_match(cf_str line) {
    cf_str pattern = cf_text_of(&wanted.pattern);
    for (size_t at = 0; at + pattern.len <= line.len; at++) {
        size_t same = 0;
        while (same < pattern.len &&
               (line.ptr[at + same] == pattern.ptr[same] ||
                (wanted.ignore_case && lower(line.ptr[at + same]) == lower(pattern.ptr[same]))))
            same++;
        if (same == pattern.len) return true;
    }
    return false;
}

static shown shown_of(cf_str line) {
    shown result;
    cf_str text = cf_cut(line, SHOWN_BYTES_MAX);
    memcpy(result.bytes, text.ptr, text.len);
    result.len = text.len;
    return result;
}

static void remember(shown line) {
    if (wanted.context == 0) return;
    if (before_count == wanted.context) {
        for (size_t i = 1; i < before_count; i++) before[i - 1] = before[i];
        before_count--;
    }
    before[before_count++] = line;
}

static void take_line(cf_str line) {
    if (full()) return;
    lines++;
    shown text = shown_of(line);
    size_t first = matches_count > wanted.context ? matches_count - wanted.context : 0;
    for (size_t i = first; i < matches_count; i++)
        if (matches[i].after_count < wanted.context && matches[i].line + wanted.context >= lines)
            matches[i].after[matches[i].after_count++] = text;
    if (matches_count < wanted.matches && is_match(line)) {
        match *found = &matches[matches_count++];
        found->line = lines;
        found->text = text;
        found->before_count = before_count;
        found->after_count = 0;
        for (size_t i = 0; i < before_count; i++) found->before[i] = before[i];
    }
    remember(text);
}

static void take_window(cf_str text) {
    while (text.len) {
        size_t end = 0;
        while (end < text.len && text.ptr[end] != '\n') end++;
        bool whole = end < text.len;
        cf_append(&unfinished, cf_span(text.ptr, end));
        text = cf_span(text.ptr + end + whole, text.len - end - whole);
        if (!whole && unfinished.len <= LINE_BYTES_MAX) return;
        cf_str line = cf_text_of(&unfinished);
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        take_line(line);
        cf_clear(&unfinished);
    }
}

static cf_command next(void) {
    if (file.offset < file.len && !full())
        return cf_or_error(cf_slice_lossy(file.handle, file.offset, wanted.window_bytes));
    if (unfinished.len && !full()) take_line(cf_text_of(&unfinished));
    return cf_close(file.handle);
}

/* Tell watchers, but only so often: a huge file has more windows than a job may emit. */
static cf_command tell_or_go_on(void) {
    if (file.offset < file.told + file.len / PROGRESS_EVENTS || file.offset == file.len) return next();
    file.told = file.offset;
    cf_buffer progress = CF_SCRATCH;
    cf_begin_object(&progress);
    cf_key(&progress, "offset");
    cf_put_u64(&progress, file.offset);
    cf_key(&progress, "len");
    cf_put_u64(&progress, file.len);
    cf_key(&progress, "matches");
    cf_put_u64(&progress, matches_count);
    cf_end_object(&progress);
    return cf_emit(cf_json_of(&progress));
}

static void put_lines(cf_buffer *out, const char *key, const shown *from, size_t count) {
    cf_key(out, key);
    cf_begin_array(out);
    for (size_t i = 0; i < count; i++) cf_put_text(out, cf_span(from[i].bytes, from[i].len));
    cf_end_array(out);
}

static void put_match(cf_buffer *out, const match *found) {
    cf_begin_object(out);
    cf_key(out, "line");
    cf_put_u64(out, found->line);
    cf_key(out, "text");
    cf_put_text(out, cf_span(found->text.bytes, found->text.len));
    put_lines(out, "before", found->before, found->before_count);
    put_lines(out, "after", found->after, found->after_count);
    cf_end_object(out);
}

static cf_command finish(void) {
    cf_buffer result = CF_SCRATCH;
    cf_begin_object(&result);
    cf_key(&result, "matches");
    cf_begin_array(&result);
    for (size_t i = 0; i < matches_count; i++) put_match(&result, &matches[i]);
    cf_end_array(&result);
    cf_key(&result, "lines");
    cf_put_u64(&result, lines);
    cf_key(&result, "complete");
    cf_put_bool(&result, file.offset == file.len && matches_count < wanted.matches);
    cf_end_object(&result);
    return cf_done(cf_json_of(&result));
}

static cf_command fail_on_file(cf_error error) {
    cf_buffer message = CF_SCRATCH;
    cf_append(&message, CF("cannot search "));
    cf_append(&message, cf_text_of(&wanted.path));
    cf_append(&message, CF(": "));
    cf_append(&message, error.message);
    return cf_fail(error.code, cf_text_of(&message));
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

static cf_command start(cf_json input) {
    cf_str path = CF(""), pattern = CF("");
    uint64_t context = 0, count = MATCHES_MAX, window_bytes = WINDOW_BYTES_DEFAULT;
    cf_read_text(cf_get(input, "path"), &path);
    cf_read_text(cf_get(input, "pattern"), &pattern);
    cf_read_u64(cf_get(input, "context"), &context);
    cf_read_u64(cf_get(input, "matches_max"), &count);
    cf_read_u64(cf_get(input, "window"), &window_bytes);
    cf_read_bool(cf_get(input, "ignore_case"), &wanted.ignore_case);
    if (!pattern.len) return cf_fail(CF("invalid_input"), CF("$.pattern: give the text to look for"));
    cf_append(&wanted.path, path);
    cf_append(&wanted.pattern, pattern);
    wanted.context = (uint32_t)between(context, 0, CONTEXT_MAX);
    wanted.matches = (uint32_t)between(count, 1, MATCHES_MAX);
    wanted.window_bytes = between(window_bytes, 4, 1 << 20);
    matches = (match *)cf_malloc(wanted.matches * sizeof(match));
    return cf_or_error(cf_open(cf_text_of(&wanted.path)));
}

static cf_command step(cf_event event) {
    switch (event.kind) {
    case CF_OPENED:
        file.handle = event.opened.handle;
        file.len = event.opened.len;
        return next();
    case CF_SLICED:
        take_window(event.sliced.text);
        file.offset = event.sliced.next_offset;
        return tell_or_go_on();
    case CF_EMITTED: return next();
    case CF_CLOSED: return finish();
    case CF_ERROR: return fail_on_file(event.error);
    default: return cf_fail(CF("unexpected_event"), CF("the host sent an event that grep does not know"));
    }
}

CF_BLOCK(start, step)
