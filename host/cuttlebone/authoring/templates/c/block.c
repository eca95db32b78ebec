/* Reads the beginning of a text file and asks the model for a title. */
#include "cuttlebone.h"

CF_SIGNATURE("{path: text}", "{title: text}")

#define WINDOW_BYTES 2000

/* The input of the job; the first command is to open the file. */
static cf_command start(cf_json input) {
    cf_str path = CF("");
    cf_read_text(cf_get(input, "path"), &path);
    return cf_open(path);
}

static cf_command ask_for_title(cf_str text) {
    cf_buffer prompt = CF_SCRATCH;
    cf_append(&prompt, CF("Write a title of at most five words for this text:\n\n"));
    cf_append(&prompt, text);
    cf_infer_request request = {0};
    request.prompt = cf_text_of(&prompt);
    request.max_tokens = 20;
    return cf_infer(&request);
}

static cf_command finish(cf_str title) {
    cf_buffer result = CF_SCRATCH;
    cf_begin_object(&result);
    cf_key(&result, "title");
    cf_put_text(&result, title);
    cf_end_object(&result);
    return cf_done(cf_json_of(&result));
}

/* The answer to the last command; returns the next one. */
static cf_command step(cf_event event) {
    switch (event.kind) {
    case CF_OPENED: return cf_slice(event.opened.handle, 0, WINDOW_BYTES);
    case CF_SLICED: return ask_for_title(event.sliced.text);
    case CF_INFER_DONE: return finish(event.infer_done.text);
    default: return cf_fail(CF("unexpected_event"), CF("this block asked for nothing of the kind"));
    }
}

CF_BLOCK(start, step)
