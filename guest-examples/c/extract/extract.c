/* extract: named fields from a text document, or none at all.
 *
 * The model has to answer with a JSON object. It is held to that by json_schema, where the host offers it;
 * the block checks the answer in any case, asks once more with what is wrong, and then gives up.
 */
#include "cuttlebone.h"

#define DOCUMENT_BYTES 6000
#define ANSWER_TOKENS_MAX 400

CF_SIGNATURE("{path: text, fields: json}", "{fields: json, repaired: bool, complete: bool}")

static cf_buffer input_kept;
static cf_json fields; /* name to type */
static cf_str path;
static uint64_t file_len;
static bool complete;
static cf_buffer document, answer, faults;
static bool repairing;
static bool without_schema; /* the host, or its model, does not offer one */

/* ---- Types -------------------------------------------------------------------------------- */

typedef enum { TEXT, NUMBER, BOOL, UNKNOWN } type;

static const struct {
    const char *json, *article;
} type_names[] = {{"string", "a text"}, {"number", "a number"}, {"boolean", "true, false"}};

static cf_str zero_terminated(const char *text) {
    size_t len = 0;
    while (text[len]) len++;
    return cf_span(text, len);
}

static type type_named(cf_json value) {
    cf_str name = CF("");
    cf_read_text(value, &name);
    if (cf_equal(name, CF("text"))) return TEXT;
    if (cf_equal(name, CF("number"))) return NUMBER;
    if (cf_equal(name, CF("bool"))) return BOOL;
    return UNKNOWN;
}

static const char *zero_terminated_key(cf_str key) {
    char *copy = (char *)cf_scratch(key.len + 1);
    memcpy(copy, key.ptr, key.len);
    copy[key.len] = 0;
    return copy;
}

static cf_json schema(void) {
    cf_buffer out = CF_SCRATCH;
    cf_begin_object(&out);
    cf_key(&out, "type");
    cf_put_text(&out, CF("object"));
    cf_key(&out, "properties");
    cf_begin_object(&out);
    for (cf_items items = cf_each(fields); cf_next(&items);) {
        cf_key(&out, zero_terminated_key(items.key));
        cf_begin_object(&out);
        cf_key(&out, "type");
        cf_begin_array(&out);
        cf_put_text(&out, zero_terminated(type_names[type_named(items.value)].json));
        cf_put_text(&out, CF("null"));
        cf_end_array(&out);
        cf_end_object(&out);
    }
    cf_end_object(&out);
    cf_key(&out, "required");
    cf_begin_array(&out);
    for (cf_items items = cf_each(fields); cf_next(&items);) cf_put_text(&out, items.key);
    cf_end_array(&out);
    cf_key(&out, "additionalProperties");
    cf_put_bool(&out, false);
    cf_end_object(&out);
    return cf_json_of(&out);
}

/* ---- The model ---------------------------------------------------------------------------- */

static cf_str instruction(void) {
    cf_buffer out = CF_SCRATCH;
    cf_append(&out, CF("Extract these fields from the text, and answer with one JSON object that has them and "
                       "nothing else. A field that the text does not have is null. The fields:"));
    for (cf_items items = cf_each(fields); cf_next(&items);) {
        cf_append(&out, CF("\n- "));
        cf_append(&out, items.key);
        cf_append(&out, CF(", "));
        cf_append(&out, zero_terminated(type_names[type_named(items.value)].article));
        cf_append(&out, CF(" or null"));
    }
    return cf_text_of(&out);
}

static cf_command ask(void) {
    cf_buffer again = CF_SCRATCH;
    cf_append(&again, CF("That is not right: "));
    cf_append(&again, cf_text_of(&faults));
    cf_append(&again, CF(". Answer again, with the JSON object alone."));
    cf_message messages[] = {
        {"system", instruction()},
        {"user", cf_text_of(&document)},
        {"assistant", cf_text_of(&answer)},
        {"user", cf_text_of(&again)},
    };
    cf_infer_request request = {0};
    request.messages = messages;
    request.messages_count = repairing ? 4 : 2;
    request.max_tokens = ANSWER_TOKENS_MAX;
    if (!without_schema) request.json_schema = schema();
    return cf_or_error(cf_infer(&request));
}

/* ---- The answer --------------------------------------------------------------------------- */

/* From the first brace to the last; empty if there are none. */
static cf_json object_in(cf_str text) {
    while (text.len && *text.ptr != '{') text = cf_span(text.ptr + 1, text.len - 1);
    while (text.len && text.ptr[text.len - 1] != '}') text.len--;
    cf_json value = {text.ptr, text.len};
    return value;
}

static void note(cf_str name, const char *what, const char *more) {
    if (faults.len) cf_append(&faults, CF("; "));
    cf_append(&faults, CF("`"));
    cf_append(&faults, name);
    cf_append(&faults, CF("` "));
    cf_append(&faults, zero_terminated(what));
    cf_append(&faults, zero_terminated(more));
}

/* Writes a value if it has the type. It is written anew, so that nothing unchecked gets out. */
static bool put_checked(cf_buffer *out, cf_json value, type wanted) {
    cf_str text;
    uint64_t whole;
    double number;
    bool truth;
    if (cf_type_of(value) == CF_JSON_NULL) {
        cf_put_null(out);
    } else if (wanted == TEXT && cf_read_text(value, &text)) {
        cf_put_text(out, text);
    } else if (wanted == NUMBER && cf_read_u64(value, &whole)) {
        cf_put_u64(out, whole);
    } else if (wanted == NUMBER && cf_read_f64(value, &number)) {
        cf_put_f64(out, number);
    } else if (wanted == BOOL && cf_read_bool(value, &truth)) {
        cf_put_bool(out, truth);
    } else {
        return false;
    }
    return true;
}

static void check(cf_buffer *out, cf_json object) {
    cf_clear(&faults);
    if (cf_type_of(object) != CF_JSON_OBJECT) {
        cf_append(&faults, CF("it is no JSON object"));
        return;
    }
    cf_begin_object(out);
    for (cf_items items = cf_each(fields); cf_next(&items);) {
        const char *name = zero_terminated_key(items.key);
        type wanted = type_named(items.value);
        cf_json value = cf_get(object, name);
        cf_key(out, name);
        if (!value.len)
            note(items.key, "is missing", "");
        else if (!put_checked(out, value, wanted))
            note(items.key, "has to be ", wanted == TEXT ? "a text or null" : wanted == NUMBER ? "a number or null" : "true, false or null");
    }
    cf_end_object(out);
}

static cf_command finish(cf_json checked) {
    cf_buffer result = CF_SCRATCH;
    cf_begin_object(&result);
    cf_key(&result, "fields");
    cf_put_json(&result, checked);
    cf_key(&result, "repaired");
    cf_put_bool(&result, repairing);
    cf_key(&result, "complete");
    cf_put_bool(&result, complete);
    cf_end_object(&result);
    return cf_done(cf_json_of(&result));
}

static cf_command take_answer(cf_str text) {
    cf_buffer checked = CF_SCRATCH;
    check(&checked, object_in(text));
    if (!faults.len) return finish(cf_json_of(&checked));
    if (repairing) {
        cf_buffer message = CF_SCRATCH;
        cf_append(&message, CF("the answer of the model stays wrong: "));
        cf_append(&message, cf_text_of(&faults));
        return cf_fail(CF("not_extracted"), cf_text_of(&message));
    }
    repairing = true;
    cf_clear(&answer);
    cf_append(&answer, text);
    return ask();
}

/* ---- The block ---------------------------------------------------------------------------- */

static cf_command fail_on(cf_str code, cf_str reason) {
    cf_buffer message = CF_SCRATCH;
    cf_append(&message, CF("cannot extract from "));
    cf_append(&message, path);
    cf_append(&message, CF(": "));
    cf_append(&message, reason);
    return cf_fail(code, cf_text_of(&message));
}

static cf_command take_error(cf_error error) {
    bool no_schema = cf_equal(error.code, CF("unsupported")) || cf_equal(error.code, CF("invalid_grammar"));
    if (!no_schema || without_schema) return fail_on(error.code, error.message);
    without_schema = true;
    return ask();
}

static cf_command start(cf_json input) {
    cf_append(&input_kept, cf_span(input.ptr, input.len));
    input = cf_json_of(&input_kept);
    fields = cf_get(input, "fields");
    for (cf_items items = cf_each(fields); cf_next(&items);)
        if (type_named(items.value) == UNKNOWN)
            return cf_fail(CF("invalid_input"), CF("$.fields: a type is text, number or bool"));
    static cf_buffer path_kept;
    cf_str given = CF("");
    cf_read_text(cf_get(input, "path"), &given);
    cf_append(&path_kept, given);
    path = cf_text_of(&path_kept);
    return cf_or_error(cf_open(path));
}

static cf_command take_file(cf_opened file) {
    if (file.kind != CF_FILE_TEXT)
        return fail_on(CF("not_text"), CF("it is not a text file; give the path of one in UTF-8"));
    file_len = file.len;
    return cf_or_error(cf_slice(file.handle, 0, DOCUMENT_BYTES));
}

static cf_command take_text(cf_sliced window) {
    cf_append(&document, window.text);
    complete = window.next_offset == file_len;
    return ask();
}

static cf_command step(cf_event event) {
    switch (event.kind) {
    case CF_OPENED: return take_file(event.opened);
    case CF_SLICED: return take_text(event.sliced);
    case CF_INFER_DONE: return take_answer(event.infer_done.text);
    case CF_ERROR: return take_error(event.error);
    default: return cf_fail(CF("unexpected_event"), CF("the host sent an event that extract does not know"));
    }
}

CF_BLOCK(start, step)
