/* summarize: a summary of a text file of any size.
 *
 * Map: the file is read window by window, and the model says the key point of each in a sentence.
 * Reduce: as many sentences as fit into one window are merged into one, level after level, until
 * all that are left fit together; these become the summary.
 *
 * input  {"path": text, "window"?: number}     bytes of text that the model reads at once
 * result {"summary": text, "windows": number, "bytes": number}
 */
#include "cuttlebone.h"

#define WINDOW_BYTES_DEFAULT 1400
#define WINDOW_BYTES_MIN 256
#define WINDOW_BYTES_MAX 65536
#define SENTENCE_BYTES_MIN 20
#define NOTE_TOKENS_MAX 60
#define SUMMARY_TOKENS_MAX 120
#define SUMMARY_SENTENCES 3

#define ASK_NOTE CF("Extract the key point of the text in one very short sentence.")
#define ASK_SUMMARY CF("Write a concise, objective summary of the text in up to three sentences.")

CF_SIGNATURE("{path: text}", "{summary: text, windows: number, bytes: number}")

static struct {
    uint32_t handle;
    uint64_t len;
    uint64_t offset; /* of the next window */
    uint64_t windows;
    uint64_t window_bytes;
    cf_buffer path;
    cf_buffer window;
} file;

/* The sentences of one level, a line each, and those of the next level that are made of them. */
static struct {
    cf_buffer notes;
    cf_buffer merged;
    size_t taken; /* bytes of `notes` that are merged already */
    uint64_t level;
} merge;

static enum { READING, MERGING, CONCLUDING } phase;

/* What the running generation has said so far, and how many sentences are wanted of it. */
static cf_buffer said;
static size_t wanted;

/* ---- Text -------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static cf_str trimmed(cf_str text) {
    while (text.len && is_space(*text.ptr)) text = cf_span(text.ptr + 1, text.len - 1);
    while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

/* Whether the full stop at `at` follows something like "Dr", "Mrs" or an initial. */
static bool abbreviates(cf_str text, size_t at) {
    size_t start = at;
    while (start > 0 && !is_space(text.ptr[start - 1])) start--;
    return at - start <= 3 && at > start && is_upper(text.ptr[start]);
}

static bool ends_sentence(cf_str text, size_t at, bool more_may_come) {
    char c = text.ptr[at];
    if (c == '\n') return true;
    if (c != '.' && c != '!' && c != '?') return false;
    if (c == '.' && abbreviates(text, at)) return false;
    if (at + 1 < text.len) return is_space(text.ptr[at + 1]);
    return !more_may_come || !is_digit(text.ptr[at - 1]); /* "1." may become "1.5" */
}

/* Bytes of `text` up to the end of its sentence number `count`; 0 if there are fewer. */
static size_t sentences_len(cf_str text, size_t count, bool more_may_come) {
    size_t start = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (i - start < SENTENCE_BYTES_MIN || !ends_sentence(text, i, more_may_come)) continue;
        if (--count == 0) return i + 1;
        start = i + 1;
    }
    return 0;
}

/* The whole sentences of an answer, at most `count`; all of it if it has not even one. */
static cf_str whole_sentences(cf_str text, size_t count) {
    text = trimmed(text);
    for (; count > 0; count--) {
        size_t len = sentences_len(text, count, false);
        if (len) return trimmed(cf_span(text.ptr, len));
    }
    return text;
}

/* Where to end a window so that no word is cut: after the last line or sentence of its last
 * quarter, else after its last word, else where it ends anyway. */
static size_t good_end(cf_str text) {
    size_t after_word = 0;
    for (size_t i = text.len; i > text.len - text.len / 4; i--) {
        char c = text.ptr[i - 1];
        if (c == '\n' || (i < text.len && ends_sentence(text, i - 1, false))) return i;
        if (is_space(c) && !after_word) after_word = i;
    }
    return after_word ? after_word : text.len;
}

static void append_line(cf_buffer *lines, cf_str text) {
    for (size_t i = 0; i < text.len; i++)
        cf_append(lines, is_space(text.ptr[i]) ? CF(" ") : cf_span(text.ptr + i, 1));
    cf_append(lines, CF("\n"));
}

static size_t count_lines(cf_str text) {
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++) lines += text.ptr[i] == '\n';
    return lines;
}

/* ---- The model ---------------------------------------------------------------------------- */

static cf_command ask(cf_str instruction, cf_str text, uint32_t tokens_max, size_t sentences) {
    cf_message messages[2] = {{"system", instruction}, {"user", text}};
    cf_infer_request request = {0};
    request.messages = messages;
    request.messages_count = 2;
    request.max_tokens = tokens_max;
    cf_clear(&said);
    wanted = sentences;
    return cf_infer(&request);
}

static cf_verdict listen(cf_str piece) {
    cf_append(&said, piece);
    return sentences_len(trimmed(cf_text_of(&said)), wanted, true) ? CF_STOP : CF_CONTINUE;
}

/* ---- Reduce ------------------------------------------------------------------------------- */

static cf_command finish(cf_str summary) {
    cf_buffer result = CF_SCRATCH;
    cf_begin_object(&result);
    cf_key(&result, "summary");
    cf_put_text(&result, summary);
    cf_key(&result, "windows");
    cf_put_u64(&result, file.windows);
    cf_key(&result, "bytes");
    cf_put_u64(&result, file.len);
    cf_end_object(&result);
    return cf_done(cf_json_of(&result));
}

/* The next lines to merge: what fits into one window, but at least two so that levels shrink. */
static cf_str next_group(void) {
    cf_str rest = cf_text_of(&merge.notes);
    rest = cf_span(rest.ptr + merge.taken, rest.len - merge.taken);
    size_t end = 0, lines = 0;
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.ptr[i] != '\n') continue;
        if (lines >= 2 && i > file.window_bytes) break;
        end = i + 1;
        lines++;
    }
    return cf_span(rest.ptr, end);
}

static cf_command emit_level(void) {
    merge.level++;
    cf_buffer progress = CF_SCRATCH;
    cf_begin_object(&progress);
    cf_key(&progress, "merge");
    cf_put_u64(&progress, merge.level);
    cf_key(&progress, "sentences");
    cf_put_u64(&progress, count_lines(cf_text_of(&merge.notes)));
    cf_end_object(&progress);
    return cf_emit(cf_json_of(&progress));
}

static cf_command begin_level(void) {
    cf_str notes = cf_text_of(&merge.notes);
    if (count_lines(notes) <= 1) return finish(trimmed(notes));
    phase = MERGING;
    merge.taken = 0;
    cf_clear(&merge.merged);
    return emit_level();
}

static cf_command end_level(void) {
    cf_buffer done = merge.notes;
    merge.notes = merge.merged;
    merge.merged = done;
    return begin_level();
}

static cf_command merge_next(void) {
    cf_str group = next_group();
    if (group.len == merge.notes.len) {
        phase = CONCLUDING;
        return ask(ASK_SUMMARY, trimmed(group), SUMMARY_TOKENS_MAX, SUMMARY_SENTENCES);
    }
    if (count_lines(group) == 1) { /* the last one of its level, with nothing to merge it with */
        cf_append(&merge.merged, group);
        return end_level();
    }
    merge.taken += group.len;
    return ask(ASK_NOTE, trimmed(group), NOTE_TOKENS_MAX, 1);
}

/* ---- Map ---------------------------------------------------------------------------------- */

static cf_command read_next(void) {
    uint64_t rest = file.len - file.offset;
    if (rest == 0) return cf_close(file.handle);
    /* Windows of equal size: a last one of a few words would make the model talk nonsense. */
    uint64_t count = (rest + file.window_bytes - 1) / file.window_bytes;
    return cf_or_error(cf_slice(file.handle, file.offset, (rest + count - 1) / count));
}

static cf_command take_window(cf_str text, uint64_t next_offset) {
    size_t len = next_offset < file.len ? good_end(text) : text.len;
    if (len == 0) return cf_fail(CF("no_progress"), CF("the host returned an empty window"));
    cf_clear(&file.window);
    cf_append(&file.window, cf_span(text.ptr, len));
    file.windows++;
    cf_buffer progress = CF_SCRATCH;
    cf_begin_object(&progress);
    cf_key(&progress, "window");
    cf_put_u64(&progress, file.windows);
    cf_key(&progress, "offset");
    cf_put_u64(&progress, file.offset);
    cf_key(&progress, "len");
    cf_put_u64(&progress, len);
    cf_key(&progress, "file_len");
    cf_put_u64(&progress, file.len);
    cf_end_object(&progress);
    file.offset += len;
    return cf_emit(cf_json_of(&progress));
}

static cf_command note_window(void) {
    cf_str text = trimmed(cf_text_of(&file.window));
    if (text.len == 0) return read_next();
    return ask(ASK_NOTE, text, NOTE_TOKENS_MAX, 1);
}

static cf_command take_answer(cf_str text) {
    cf_str answer = whole_sentences(text, wanted);
    if (phase == CONCLUDING) return finish(answer);
    if (answer.len) append_line(phase == READING ? &merge.notes : &merge.merged, answer);
    if (phase == READING) return read_next();
    return merge.taken < merge.notes.len ? merge_next() : end_level();
}

/* ---- The block ---------------------------------------------------------------------------- */

static cf_command fail_on_file(cf_str code, cf_str reason) {
    cf_buffer message = CF_SCRATCH;
    cf_append(&message, CF("cannot summarize "));
    cf_append(&message, cf_text_of(&file.path));
    cf_append(&message, CF(": "));
    cf_append(&message, reason);
    return cf_fail(code, cf_text_of(&message));
}

static cf_command take_file(cf_event event) {
    if (event.opened.kind != CF_FILE_TEXT)
        return fail_on_file(CF("not_text"), CF("it is not a text file; give the path of one in UTF-8"));
    file.handle = event.opened.handle;
    file.len = event.opened.len;
    return read_next();
}

static cf_command start(cf_json input) {
    cf_str path;
    file.window_bytes = WINDOW_BYTES_DEFAULT;
    cf_json window = cf_get(input, "window");
    if (!cf_read_text(cf_get(input, "path"), &path))
        return cf_fail(CF("invalid_input"), CF("$.path: give the path of a text file"));
    if (window.len && (!cf_read_u64(window, &file.window_bytes) ||
                       file.window_bytes < WINDOW_BYTES_MIN || file.window_bytes > WINDOW_BYTES_MAX))
        return cf_fail(CF("invalid_input"), CF("$.window: give a whole number from 256 to 65536"));
    cf_append(&file.path, path);
    return cf_or_error(cf_open(path));
}

static cf_command step(cf_event event) {
    switch (event.kind) {
    case CF_OPENED: return take_file(event);
    case CF_SLICED: return take_window(event.sliced.text, event.sliced.next_offset);
    case CF_EMITTED: return phase == READING ? note_window() : merge_next();
    case CF_INFER_DONE: return take_answer(event.infer_done.text);
    case CF_CLOSED: return begin_level();
    case CF_ERROR: return fail_on_file(event.error.code, event.error.message);
    default: break;
    }
    return cf_fail(CF("unexpected_event"), CF("the host sent an event that this block does not know"));
}

CF_ON_TOKEN(listen)
CF_BLOCK(start, step)
