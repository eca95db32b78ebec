/* ask: answers a question from the text files of a folder.
 *
 * The beginning of each file goes into one prompt. Whether that fits is asked of the model, which alone
 * knows what a token is, and excerpts become shorter until it does. One paragraph is enough of an answer.
 */
#include "cuttlebone.h"

#define FILES_MAX 64
#define EXCERPT_BYTES_MAX 2000
#define EXCERPT_BYTES_MIN 16
#define ANSWER_TOKENS_MAX 128

CF_SIGNATURE("{folder: text, question: text}",
             "{answer: text, sources: [text], skipped: [text], excerpt_bytes: number}")

typedef struct {
    cf_buffer name, text;
    bool skipped;
} file;

static cf_buffer folder, question;
static file files[FILES_MAX];
static size_t files_count, now;
static uint32_t handle; /* 0 if no file is open */
static uint64_t excerpt_bytes = EXCERPT_BYTES_MAX;
static cf_buffer said; /* by the running generation */

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static cf_str trimmed(cf_str text) {
    while (text.len && is_space(*text.ptr)) text = cf_span(text.ptr + 1, text.len - 1);
    while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

/* Bytes up to the first blank line; all of the text if there is none. */
static size_t paragraph_len(cf_str text) {
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i - 1] == '\n' && text.ptr[i] == '\n') return i - 1;
    return text.len;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static cf_command fail_on_folder(cf_str code, cf_str reason) {
    cf_buffer message = CF_SCRATCH;
    cf_append(&message, CF("cannot ask about "));
    cf_append(&message, cf_text_of(&folder));
    cf_append(&message, CF(": "));
    cf_append(&message, reason);
    return cf_fail(code, cf_text_of(&message));
}

static cf_command count_tokens(void);

/* Open the next file, or go on to the question. */
static cf_command next_file(void) {
    if (now == files_count) return count_tokens();
    cf_buffer path = CF_SCRATCH;
    cf_append(&path, cf_text_of(&folder));
    cf_append(&path, CF("/"));
    cf_append(&path, cf_text_of(&files[now].name));
    return cf_or_error(cf_open(cf_text_of(&path)));
}

static cf_command take_entries(cf_listed list) {
    for (cf_items items = cf_each(list.entries); cf_next(&items);) {
        cf_entry entry = cf_read_entry(items.value);
        if (entry.is_folder || !entry.name.len) continue;
        if (files_count == FILES_MAX)
            return fail_on_folder(CF("too_many_files"), CF("it has more than 64 files; ask about a smaller one"));
        cf_append(&files[files_count++].name, entry.name);
    }
    return list.more ? cf_or_error(cf_list(cf_text_of(&folder), list.after)) : next_file();
}

static cf_command file_done(bool skipped) {
    files[now++].skipped = skipped;
    uint32_t open = handle;
    handle = 0;
    return open ? cf_close(open) : next_file();
}

static cf_command take_file(cf_opened opened) {
    handle = opened.handle;
    if (opened.kind != CF_FILE_TEXT) return file_done(true);
    return cf_or_error(cf_slice(handle, 0, EXCERPT_BYTES_MAX));
}

static cf_command take_text(cf_str text) {
    cf_append(&files[now].text, trimmed(text));
    return file_done(trimmed(text).len == 0);
}

/* ---- Asking ------------------------------------------------------------------------------- */

static cf_str prompt(void) {
    cf_buffer out = CF_SCRATCH;
    for (size_t i = 0; i < files_count; i++) {
        if (files[i].skipped) continue;
        cf_append(&out, CF("File "));
        cf_append(&out, cf_text_of(&files[i].name));
        cf_append(&out, CF(":\n"));
        cf_append(&out, cf_cut(cf_text_of(&files[i].text), (size_t)excerpt_bytes));
        cf_append(&out, CF("\n\n"));
    }
    cf_append(&out, CF("Question: "));
    cf_append(&out, cf_text_of(&question));
    return cf_text_of(&out);
}

/* The request lives as long as the running function. */
static const cf_infer_request *request(void) {
    static cf_message messages[2];
    static cf_infer_request asked;
    messages[0].role = "system";
    messages[0].content = CF("Answer the question from the files alone, in one short paragraph. "
                             "If they do not say, answer that they do not.");
    messages[1].role = "user";
    messages[1].content = prompt();
    asked.messages = messages;
    asked.messages_count = 2;
    asked.max_tokens = ANSWER_TOKENS_MAX;
    return &asked;
}

static cf_command count_tokens(void) {
    size_t usable = 0;
    for (size_t i = 0; i < files_count; i++) usable += !files[i].skipped;
    if (!usable) return fail_on_folder(CF("nothing_to_read"), CF("there is no text file with text in it"));
    return cf_or_error(cf_count_tokens(request()));
}

/* Ask if the prompt fits, else shorten the excerpts by what it is too long, and a tenth. */
static cf_command take_count(cf_tokens_counted count) {
    uint64_t room = count.context > ANSWER_TOKENS_MAX ? count.context - ANSWER_TOKENS_MAX : 0;
    if (count.tokens <= room) return cf_infer(request());
    excerpt_bytes = excerpt_bytes * room / count.tokens * 9 / 10;
    if (excerpt_bytes < EXCERPT_BYTES_MIN)
        return fail_on_folder(CF("context_overflow"), CF("the context of the model is too small for its files"));
    return count_tokens();
}

static cf_verdict listen(cf_str piece) {
    cf_append(&said, piece);
    cf_str text = cf_text_of(&said);
    while (text.len && is_space(*text.ptr)) text = cf_span(text.ptr + 1, text.len - 1);
    return paragraph_len(text) < text.len ? CF_STOP : CF_CONTINUE;
}

static void put_names(cf_buffer *out, const char *key, bool skipped) {
    cf_key(out, key);
    cf_begin_array(out);
    for (size_t i = 0; i < files_count; i++)
        if (files[i].skipped == skipped) cf_put_text(out, cf_text_of(&files[i].name));
    cf_end_array(out);
}

static cf_command finish(cf_str answer) {
    answer = trimmed(answer);
    answer.len = paragraph_len(answer);
    cf_buffer result = CF_SCRATCH;
    cf_begin_object(&result);
    cf_key(&result, "answer");
    cf_put_text(&result, answer);
    put_names(&result, "sources", false);
    put_names(&result, "skipped", true);
    cf_key(&result, "excerpt_bytes");
    cf_put_u64(&result, excerpt_bytes);
    cf_end_object(&result);
    return cf_done(cf_json_of(&result));
}

/* ---- The block ---------------------------------------------------------------------------- */

static cf_command take_error(cf_error error) {
    if (!files_count) return fail_on_folder(error.code, error.message); /* it could not be listed */
    if (now < files_count) return file_done(true);
    return cf_infer(request()); /* this host cannot count: the model will say whether it fits */
}

static cf_command start(cf_json input) {
    cf_str text = CF("");
    cf_read_text(cf_get(input, "folder"), &text);
    cf_append(&folder, text);
    cf_read_text(cf_get(input, "question"), &text);
    cf_append(&question, text);
    return cf_or_error(cf_list(cf_text_of(&folder), CF("")));
}

static cf_command step(cf_event event) {
    switch (event.kind) {
    case CF_LISTED: return take_entries(event.listed);
    case CF_OPENED: return take_file(event.opened);
    case CF_SLICED: return take_text(event.sliced.text);
    case CF_CLOSED: return next_file();
    case CF_TOKENS_COUNTED: return take_count(event.tokens_counted);
    case CF_INFER_DONE: return finish(event.infer_done.text);
    case CF_ERROR: return take_error(event.error);
    default: return cf_fail(CF("unexpected_event"), CF("the host sent an event that ask does not know"));
    }
}

CF_ON_TOKEN(listen)
CF_BLOCK(start, step)
