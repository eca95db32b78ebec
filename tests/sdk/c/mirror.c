/* mirror: shows what the C SDK understood. It builds each command it is given from the command's
 * fields, copies values through readers and writers, asks for buffers as a host does, and tells every
 * event field by field. */
#include "cuttlebone.h"

static cf_str text_in(cf_json object, const char *key) {
    cf_str text = CF("");
    cf_read_text(cf_get(object, key), &text);
    return text;
}

static uint32_t u32_in(cf_json object, const char *key) {
    uint32_t number = 0;
    cf_read_u32(cf_get(object, key), &number);
    return number;
}

static uint64_t u64_in(cf_json object, const char *key) {
    uint64_t number = 0;
    cf_read_u64(cf_get(object, key), &number);
    return number;
}

static cf_optional_f64 optional_f64(cf_json object, const char *key) {
    cf_optional_f64 number = {false, 0};
    number.given = cf_read_f64(cf_get(object, key), &number.value);
    return number;
}

static cf_optional_u32 optional_u32(cf_json object, const char *key) {
    cf_optional_u32 number = {false, 0};
    number.given = cf_read_u32(cf_get(object, key), &number.value);
    return number;
}

static const char *terminated(cf_str text) {
    char *copy = cf_scratch(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

/* ---- Commands ---------------------------------------------------------------------------- */

#define LIST_MAX 16

static cf_infer_request request_like(cf_json json) {
    cf_message *messages = cf_scratch(LIST_MAX * sizeof(cf_message));
    cf_str *stop = cf_scratch(LIST_MAX * sizeof(cf_str));
    uint32_t *images = cf_scratch(LIST_MAX * sizeof(uint32_t));
    cf_infer_request request = {0};
    request.prompt = text_in(json, "prompt");
    cf_read_bool(cf_get(json, "raw"), &request.raw);
    if (cf_type_of(cf_get(json, "messages")) == CF_JSON_ARRAY) request.messages = messages;
    for (cf_items items = cf_each(cf_get(json, "messages")); cf_next(&items);) {
        cf_message *message = &messages[request.messages_count++];
        message->role = terminated(text_in(items.value, "role"));
        message->content = text_in(items.value, "content");
    }
    request.max_tokens = u32_in(json, "max_tokens");
    request.temperature = optional_f64(json, "temperature");
    request.top_p = optional_f64(json, "top_p");
    request.top_k = optional_u32(json, "top_k");
    request.min_p = optional_f64(json, "min_p");
    request.repeat_penalty = optional_f64(json, "repeat_penalty");
    request.seed = optional_u32(json, "seed");
    request.stop = stop;
    for (cf_items items = cf_each(cf_get(json, "stop")); cf_next(&items);)
        cf_read_text(items.value, &stop[request.stop_count++]);
    request.json_schema = cf_get(json, "json_schema");
    request.grammar = text_in(json, "grammar");
    request.images = images;
    for (cf_items items = cf_each(cf_get(json, "images")); cf_next(&items);)
        cf_read_u32(items.value, &images[request.images_count++]);
    return request;
}

static cf_command infer_like(cf_json json) {
    cf_infer_request request = request_like(json);
    return cf_infer(&request);
}

static cf_command infer_many_like(cf_json json) {
    static cf_infer_request requests[LIST_MAX];
    size_t count = 0;
    for (cf_items items = cf_each(cf_get(json, "requests")); cf_next(&items);)
        requests[count++] = request_like(items.value);
    return cf_infer_many(requests, count);
}

static cf_command count_tokens_like(cf_json json) {
    cf_infer_request request = request_like(json);
    request.prompt = text_in(json, "text");
    return cf_count_tokens(&request);
}

static cf_command slice_like(cf_json json) {
    uint32_t handle = u32_in(json, "handle");
    uint64_t offset = u64_in(json, "offset"), len = u64_in(json, "len");
    if (cf_equal(text_in(json, "invalid"), CF("replace"))) return cf_slice_lossy(handle, offset, len);
    return cf_slice(handle, offset, len);
}

static cf_command slice_bytes_like(cf_json json) {
    return cf_slice_bytes(u32_in(json, "handle"), u64_in(json, "offset"), u64_in(json, "len"));
}

static cf_command command_like(cf_json json) {
    cf_str cmd = text_in(json, "cmd");
    if (cf_equal(cmd, CF("infer"))) return infer_like(json);
    if (cf_equal(cmd, CF("infer_many"))) return infer_many_like(json);
    if (cf_equal(cmd, CF("count_tokens"))) return count_tokens_like(json);
    if (cf_equal(cmd, CF("open"))) return cf_open(text_in(json, "path"));
    if (cf_equal(cmd, CF("slice"))) return slice_like(json);
    if (cf_equal(cmd, CF("slice_bytes"))) return slice_bytes_like(json);
    if (cf_equal(cmd, CF("list"))) return cf_list(text_in(json, "path"), text_in(json, "after"));
    if (cf_equal(cmd, CF("close"))) return cf_close(u32_in(json, "handle"));
    if (cf_equal(cmd, CF("emit"))) return cf_emit(cf_get(json, "progress"));
    if (cf_equal(cmd, CF("done"))) return cf_done(cf_get(json, "result"));
    if (cf_equal(cmd, CF("fail"))) return cf_fail(text_in(json, "code"), text_in(json, "message"));
    return cf_command_of(json);
}

static cf_command same_command(cf_json json) {
    bool try = cf_equal(text_in(json, "on_error"), CF("event"));
    cf_command command = command_like(json);
    bool passed_through = cf_type_of(cf_get(cf_json_of(&command.json), "on_error")) != CF_JSON_NONE;
    return try && !passed_through ? cf_or_error(command) : command;
}

/* ---- Values ------------------------------------------------------------------------------ */

static void copy(cf_buffer *out, cf_json value);

static void copy_number(cf_buffer *out, cf_json value) {
    uint64_t whole;
    double number = 0;
    if (cf_read_u64(value, &whole)) {
        cf_put_u64(out, whole);
        return;
    }
    cf_json without_sign = {value.ptr + 1, value.len - 1};
    if (*value.ptr == '-' && cf_read_u64(without_sign, &whole) && whole <= (uint64_t)1 << 63) {
        cf_put_i64(out, (int64_t)(0 - whole));
        return;
    }
    cf_read_f64(value, &number);
    cf_put_f64(out, number);
}

static void copy_all(cf_buffer *out, cf_json container) {
    for (cf_items items = cf_each(container); cf_next(&items);) {
        if (items.object) cf_key(out, terminated(items.key));
        copy(out, items.value);
    }
}

static void copy(cf_buffer *out, cf_json value) {
    cf_str text;
    bool truth;
    switch (cf_type_of(value)) {
    case CF_JSON_NONE: return;
    case CF_JSON_NULL: cf_put_null(out); return;
    case CF_JSON_BOOL: cf_put_bool(out, cf_read_bool(value, &truth) && truth); return;
    case CF_JSON_NUMBER: copy_number(out, value); return;
    case CF_JSON_TEXT: cf_put_text(out, cf_read_text(value, &text) ? text : CF("?")); return;
    case CF_JSON_ARRAY:
        cf_begin_array(out);
        copy_all(out, value);
        cf_end_array(out);
        return;
    case CF_JSON_OBJECT:
        cf_begin_object(out);
        copy_all(out, value);
        cf_end_object(out);
        return;
    }
}

/* ---- Events ------------------------------------------------------------------------------ */

static void put_named_text(cf_buffer *out, const char *key, cf_str text) {
    cf_key(out, key);
    cf_put_text(out, text);
}

static void put_named_u64(cf_buffer *out, const char *key, uint64_t number) {
    cf_key(out, key);
    cf_put_u64(out, number);
}

static void tell_generation(cf_buffer *out, const cf_infer_done *done) {
    static const char *const ends[] = {"", "eos", "length", "stop", "guest"};
    put_named_text(out, "text", done->text);
    put_named_u64(out, "tokens_out", done->tokens_out);
    cf_key(out, "finish");
    const char *end = ends[done->finish];
    size_t len = 0;
    while (end[len]) len++;
    cf_put_text(out, cf_span(end, len));
    put_named_u64(out, "tokens_in", done->tokens_in);
    put_named_u64(out, "tokens_cached", done->tokens_cached);
    put_named_u64(out, "seed", done->seed);
}

static void tell_results(cf_buffer *out, cf_json results) {
    cf_key(out, "results");
    cf_begin_array(out);
    for (cf_items items = cf_each(results); cf_next(&items);) {
        cf_infer_result result = cf_read_infer_result(items.value);
        cf_begin_object(out);
        if (result.ok) {
            tell_generation(out, &result.done);
        } else {
            cf_key(out, "error");
            cf_begin_object(out);
            put_named_text(out, "code", result.error.code);
            put_named_text(out, "message", result.error.message);
            cf_end_object(out);
        }
        cf_end_object(out);
    }
    cf_end_array(out);
}

static void tell_bytes(cf_buffer *out, cf_str bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    cf_buffer text = CF_SCRATCH;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)(uint8_t)bytes.ptr[i] << 16;
        if (left > 1) bits |= (uint32_t)(uint8_t)bytes.ptr[i + 1] << 8;
        if (left > 2) bits |= (uint8_t)bytes.ptr[i + 2];
        for (size_t digit = 0; digit < 4; digit++)
            cf_append(&text, digit <= left ? cf_span(&digits[bits >> (18 - 6 * digit) & 63], 1) : CF("="));
    }
    put_named_text(out, "bytes_base64", cf_text_of(&text));
}

static void tell_listed(cf_buffer *out, const cf_listed *listed) {
    cf_key(out, "entries");
    cf_begin_array(out);
    for (cf_items items = cf_each(listed->entries); cf_next(&items);) {
        cf_entry entry = cf_read_entry(items.value);
        cf_begin_object(out);
        put_named_text(out, "name", entry.name);
        put_named_text(out, "kind", entry.is_folder ? CF("dir") : CF("file"));
        put_named_u64(out, "len", entry.len);
        cf_end_object(out);
    }
    cf_end_array(out);
    cf_key(out, "after");
    if (listed->more)
        cf_put_text(out, listed->after);
    else
        cf_put_null(out);
}

static void tell_kind(cf_buffer *out, const cf_event *event) {
    switch (event->opened.kind) {
    case CF_FILE_TEXT: put_named_text(out, "kind", CF("text")); break;
    case CF_FILE_BINARY: put_named_text(out, "kind", CF("binary")); break;
    case CF_FILE_IMAGE:
        put_named_text(out, "kind", CF("image"));
        put_named_text(out, "format", event->opened.format);
        break;
    case CF_FILE_DOCUMENT:
        put_named_text(out, "kind", CF("document"));
        put_named_u64(out, "pages", event->opened.pages);
        cf_key(out, "has_text_layer");
        cf_put_bool(out, event->opened.has_text_layer);
        break;
    case CF_FILE_UNKNOWN: break;
    }
}

static void tell_opened(cf_buffer *out, const cf_event *event) {
    put_named_text(out, "event", CF("opened"));
    put_named_u64(out, "handle", event->opened.handle);
    put_named_u64(out, "len", event->opened.len);
    cf_key(out, "kind");
    cf_begin_object(out);
    tell_kind(out, event);
    cf_end_object(out);
}

static void tell(cf_buffer *out, const cf_event *event) {
    switch (event->kind) {
    case CF_INFER_DONE:
        put_named_text(out, "event", CF("infer_done"));
        tell_generation(out, &event->infer_done);
        break;
    case CF_INFER_MANY_DONE:
        put_named_text(out, "event", CF("infer_many_done"));
        tell_results(out, event->infer_many_done.results);
        break;
    case CF_TOKENS_COUNTED:
        put_named_text(out, "event", CF("tokens_counted"));
        put_named_u64(out, "tokens", event->tokens_counted.tokens);
        put_named_u64(out, "context", event->tokens_counted.context);
        break;
    case CF_SLICED_BYTES:
        put_named_text(out, "event", CF("sliced_bytes"));
        tell_bytes(out, event->sliced_bytes.bytes);
        put_named_u64(out, "next_offset", event->sliced_bytes.next_offset);
        break;
    case CF_LISTED:
        put_named_text(out, "event", CF("listed"));
        tell_listed(out, &event->listed);
        break;
    case CF_OPENED: tell_opened(out, event); break;
    case CF_SLICED:
        put_named_text(out, "event", CF("sliced"));
        put_named_text(out, "text", event->sliced.text);
        put_named_u64(out, "next_offset", event->sliced.next_offset);
        break;
    case CF_CLOSED: put_named_text(out, "event", CF("closed")); break;
    case CF_EMITTED: put_named_text(out, "event", CF("emitted")); break;
    case CF_ERROR:
        put_named_text(out, "event", CF("error"));
        put_named_text(out, "code", event->error.code);
        put_named_text(out, "message", event->error.message);
        break;
    case CF_UNKNOWN: break;
    }
}

/* ---- Buffers ----------------------------------------------------------------------------- */

static cf_command buffers_of(cf_json sizes) {
    cf_buffer out = CF_SCRATCH;
    cf_begin_array(&out);
    for (cf_items items = cf_each(sizes); cf_next(&items);) {
        uint64_t size = 0;
        cf_read_u64(items.value, &size);
        cf_put_u64(&out, (uintptr_t)cf_alloc((size_t)size));
    }
    cf_end_array(&out);
    return cf_emit(cf_json_of(&out));
}

static void waste_memory(void) {
    for (;;) memset(cf_malloc(1 << 20), 1, 1 << 20);
}

static cf_verdict listen(cf_str piece) {
    CF_ASSERT(!cf_equal(piece, CF("panic")));
    return cf_equal(piece, CF("stop")) ? CF_STOP : CF_CONTINUE;
}

/* ---- The block --------------------------------------------------------------------------- */

static cf_command start(cf_json input) {
    cf_json command = cf_get(input, "command");
    cf_json sizes = cf_get(input, "sizes");
    cf_str message;
    bool waste = false;
    cf_read_bool(cf_get(input, "waste"), &waste);
    if (cf_read_text(cf_get(input, "panic"), &message)) cf_panic_with(message);
    if (waste) waste_memory();
    if (command.len) return same_command(command);
    if (sizes.len) return buffers_of(sizes);
    cf_buffer out = CF_SCRATCH;
    copy(&out, cf_get(input, "copy"));
    return cf_emit(cf_json_of(&out));
}

static cf_command step(cf_event event) {
    cf_buffer out = CF_SCRATCH;
    cf_begin_object(&out);
    tell(&out, &event);
    cf_end_object(&out);
    return cf_emit(cf_json_of(&out));
}

CF_ON_TOKEN(listen)
CF_BLOCK(start, step)
