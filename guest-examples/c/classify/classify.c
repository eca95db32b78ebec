/* classify: labels text files, one after the other, and goes on past those that it cannot read. */
#include "cuttlebone.h"

#define EXCERPT_BYTES 1500 /* of each file, for the model */
#define ANSWER_TOKENS_MAX 16

CF_SIGNATURE("{paths: [text], labels: [text]}", "{files: [{path: text}], failed: number}")

static cf_buffer input_kept;
static cf_json paths, labels;
static uint64_t paths_count, done, failures;
static cf_buffer files; /* the entries of the result */
static uint32_t handle; /* 0 if no file is open */

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static cf_str trimmed(cf_str text) {
    while (text.len && is_space(*text.ptr)) text = cf_span(text.ptr + 1, text.len - 1);
    while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

static cf_str path_now(void) {
    cf_str path = CF("");
    cf_read_text(cf_at(paths, (size_t)done), &path);
    return path;
}

/* Open the next file, or end. */
static cf_command next(void) {
    if (done < paths_count) return cf_or_error(cf_open(path_now()));
    cf_end_array(&files);
    cf_buffer result = CF_SCRATCH;
    cf_begin_object(&result);
    cf_key(&result, "files");
    cf_put_json(&result, cf_json_of(&files));
    cf_key(&result, "failed");
    cf_put_u64(&result, failures);
    cf_end_object(&result);
    return cf_done(cf_json_of(&result));
}

static cf_command ask(cf_str text) {
    cf_buffer instruction = CF_SCRATCH;
    cf_append(&instruction, CF("Which label fits the text best? Answer with one of these, and nothing else: "));
    bool first = true;
    for (cf_items items = cf_each(labels); cf_next(&items); first = false) {
        cf_str label = CF("");
        cf_read_text(items.value, &label);
        if (!first) cf_append(&instruction, CF(", "));
        cf_append(&instruction, label);
    }
    cf_append(&instruction, CF("."));
    cf_message messages[] = {{"system", cf_text_of(&instruction)}, {"user", text}};
    cf_infer_request request = {0};
    request.messages = messages;
    request.messages_count = 2;
    request.max_tokens = ANSWER_TOKENS_MAX;
    return cf_or_error(cf_infer(&request));
}

/* How the file that is being dealt with ended: with a label, or with an error. */
typedef struct {
    cf_str label, code, message;
} ending;

static void put_ending(cf_buffer *out, ending end) {
    cf_key(out, "path");
    cf_put_text(out, path_now());
    if (end.label.len) {
        cf_key(out, "label");
        cf_put_text(out, end.label);
        return;
    }
    cf_key(out, "error");
    cf_begin_object(out);
    cf_key(out, "code");
    cf_put_text(out, end.code);
    cf_key(out, "message");
    cf_put_text(out, end.message);
    cf_end_object(out);
}

/* Write down how the file ended, and tell watchers. */
static cf_command settle(ending end) {
    cf_begin_object(&files);
    put_ending(&files, end);
    cf_end_object(&files);
    cf_buffer progress = CF_SCRATCH;
    cf_begin_object(&progress);
    put_ending(&progress, end);
    done++;
    cf_key(&progress, "done");
    cf_put_u64(&progress, done);
    cf_key(&progress, "of");
    cf_put_u64(&progress, paths_count);
    cf_end_object(&progress);
    return cf_emit(cf_json_of(&progress));
}

static cf_command failed(cf_str code, cf_str message) {
    failures++;
    ending end = {CF(""), code, message};
    return settle(end);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Where `label` begins in `answer`, or the length of the answer if it is not there. */
static size_t place_of(cf_str label, cf_str answer) {
    for (size_t at = 0; at + label.len <= answer.len; at++) {
        size_t same = 0;
        while (same < label.len && lower(answer.ptr[at + same]) == lower(label.ptr[same])) same++;
        if (same == label.len) return at;
    }
    return answer.len;
}

/* The label that stands first in an answer; the longest, where one begins like another. */
static cf_command labelled(cf_str answer) {
    cf_str best = CF("");
    size_t best_at = answer.len;
    for (cf_items items = cf_each(labels); cf_next(&items);) {
        cf_str label = CF("");
        cf_read_text(items.value, &label);
        size_t at = place_of(label, answer);
        if (at == answer.len || at > best_at || (at == best_at && label.len <= best.len)) continue;
        best = label;
        best_at = at;
    }
    if (best.len) {
        ending end = {best, CF(""), CF("")};
        return settle(end);
    }
    cf_buffer message = CF_SCRATCH;
    cf_append(&message, CF("the answer has no label: "));
    cf_append(&message, trimmed(answer));
    return failed(CF("no_label"), cf_text_of(&message));
}

static cf_command start(cf_json input) {
    cf_append(&input_kept, cf_span(input.ptr, input.len));
    paths = cf_get(cf_json_of(&input_kept), "paths");
    labels = cf_get(cf_json_of(&input_kept), "labels");
    size_t labels_count = 0;
    for (cf_items items = cf_each(paths); cf_next(&items);) paths_count++;
    for (cf_items items = cf_each(labels); cf_next(&items); labels_count++) {
        cf_str label = CF("");
        if (!cf_read_text(items.value, &label) || !label.len)
            return cf_fail(CF("invalid_input"), CF("$.labels: a label has at least one character"));
    }
    if (labels_count < 2) return cf_fail(CF("invalid_input"), CF("$.labels: give two labels or more"));
    cf_begin_array(&files);
    return next();
}

static cf_command take_file(cf_opened file) {
    handle = file.handle;
    if (file.kind != CF_FILE_TEXT) return failed(CF("not_text"), CF("it is not a text file"));
    return cf_or_error(cf_slice(handle, 0, EXCERPT_BYTES));
}

static cf_command close_or_go_on(void) {
    uint32_t open = handle;
    handle = 0;
    return open ? cf_close(open) : next();
}

static cf_command step(cf_event event) {
    switch (event.kind) {
    case CF_OPENED: return take_file(event.opened);
    case CF_SLICED:
        if (!trimmed(event.sliced.text).len) return failed(CF("empty"), CF("there is nothing in it"));
        return ask(event.sliced.text);
    case CF_INFER_DONE: return labelled(event.infer_done.text);
    case CF_ERROR: return failed(event.error.code, event.error.message);
    case CF_EMITTED: return close_or_go_on();
    case CF_CLOSED: return next();
    default: return cf_fail(CF("unexpected_event"), CF("the host sent an event that classify does not know"));
    }
}

CF_BLOCK(start, step)
