/* cuttlebone.h: all that a block written in C or C++ needs. One header, no libc, no imports.
 *
 * A block is two functions and the macro CF_BLOCK(start, step):
 *
 *     cf_command start(cf_json input);   the job's input; returns the first command
 *     cf_command step(cf_event event);   the answer to the last command; returns the next one
 *
 * Between two calls a block keeps what it must in static variables: each job has an instance of
 * its own, and one thread. A block of several source files includes this header in each, with
 * CF_DECLARATIONS_ONLY defined in all but one of them.
 *
 * HOW LONG THINGS LIVE. The input, an event, and whatever the readers and command functions make
 * live until your function returns: copy what you need longer into a static cf_buffer. A buffer
 * that is CF_SCRATCH lives as long as an event; any other until you call cf_free_buffer.
 *
 * README.md, beside this file, has a whole block and the command that builds it.
 */
#ifndef CUTTLEBONE_H
#define CUTTLEBONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CF_ABI_VERSION 1
#define CF_EXPORT(name) __attribute__((export_name(name), used))

/* ---- Text ------------------------------------------------------------------------------- */

/* UTF-8 of a known length, not terminated by a zero byte. */
typedef struct cf_str {
    const char *ptr;
    size_t len;
} cf_str;

/* A string literal as a cf_str: CF("text"). */
#define CF(literal) cf_span("" literal, sizeof(literal) - 1)

cf_str cf_span(const char *ptr, size_t len);
bool cf_equal(cf_str a, cf_str b);
/* The first `len_max` bytes of `text`, less if that would cut a character in two. */
cf_str cf_cut(cf_str text, size_t len_max);

/* ---- Memory ----------------------------------------------------------------------------- */

/* Memory aligned to 8 bytes that lives until cf_free. Traps when there is none left. */
void *cf_malloc(size_t size);
void cf_free(void *memory);
/* Memory aligned to 8 bytes that lives until the running function of the block returns. */
void *cf_scratch(size_t size);

/* Bytes that grow. All zero is an empty buffer, so `static cf_buffer b;` is ready for use. */
typedef struct cf_buffer {
    char *ptr;
    size_t len;
    size_t capacity;
    bool scratch;
} cf_buffer;

#ifdef __cplusplus
#define CF_SCRATCH cf_buffer{nullptr, 0, 0, true}
#else
#define CF_SCRATCH ((cf_buffer){.scratch = true})
#endif

void cf_append(cf_buffer *buffer, cf_str text);
void cf_append_u64(cf_buffer *buffer, uint64_t value);
void cf_clear(cf_buffer *buffer); /* empties it and keeps its memory */
void cf_free_buffer(cf_buffer *buffer);
cf_str cf_text_of(const cf_buffer *buffer);

/* ---- Panics ----------------------------------------------------------------------------- */

/* Ends the job as failed, with the code `panic` and this message. */
__attribute__((noreturn)) void cf_panic_with(cf_str message);

/* Panics with the condition and its place unless it holds. */
#define CF_ASSERT(condition)                                                                   \
    ((condition) ? (void)0 : cf_panic_with(CF(#condition " does not hold, at " __FILE__ ":" CF_LINE)))
#define CF_LINE CF_LINE_TEXT(__LINE__)
#define CF_LINE_TEXT(line) CF_QUOTED(line)
#define CF_QUOTED(text) #text

/* ---- Reading JSON ----------------------------------------------------------------------- */

/* The text of one JSON value. `len` is 0 when there is no such value, which every reader takes. */
typedef struct cf_json {
    const char *ptr;
    size_t len;
} cf_json;

typedef enum cf_json_type {
    CF_JSON_NONE,
    CF_JSON_NULL,
    CF_JSON_BOOL,
    CF_JSON_NUMBER,
    CF_JSON_TEXT,
    CF_JSON_ARRAY,
    CF_JSON_OBJECT
} cf_json_type;

cf_json_type cf_type_of(cf_json value);
/* The field `key` of an object, or none. When a key is repeated, the last one counts. */
cf_json cf_get(cf_json object, const char *key);
/* The element `index` of an array, or none. */
cf_json cf_at(cf_json array, size_t index);

/* Walks an array or an object:
 *     cf_items items = cf_each(value);
 *     while (cf_next(&items)) { use items.value, and items.key in an object }
 */
typedef struct cf_items {
    cf_str key; /* unescaped; empty in an array */
    cf_json value;
    const char *at, *end;
    bool object;
} cf_items;

cf_items cf_each(cf_json container);
bool cf_next(cf_items *items);

/* Each of these returns whether `value` has the type; if not, *out stays as it is. So set *out to
 * the default first, and a field that may be missing needs no `if`. Integers are exact: 1.0, 1e3
 * and numbers out of range are none. */
bool cf_read_text(cf_json value, cf_str *out);
bool cf_read_u32(cf_json value, uint32_t *out);
bool cf_read_u64(cf_json value, uint64_t *out);
bool cf_read_f64(cf_json value, double *out);
bool cf_read_bool(cf_json value, bool *out);

/* ---- Writing JSON ----------------------------------------------------------------------- */

/* These append to a buffer; commas are set where they belong.
 *     cf_buffer out = CF_SCRATCH;
 *     cf_begin_object(&out);
 *     cf_key(&out, "window"); cf_put_u64(&out, 3);
 *     cf_end_object(&out);
 *     return cf_emit(cf_json_of(&out));
 */
void cf_begin_object(cf_buffer *out);
void cf_end_object(cf_buffer *out);
void cf_begin_array(cf_buffer *out);
void cf_end_array(cf_buffer *out);
void cf_key(cf_buffer *out, const char *key);
void cf_put_text(cf_buffer *out, cf_str text);
void cf_put_u64(cf_buffer *out, uint64_t value);
void cf_put_i64(cf_buffer *out, int64_t value);
void cf_put_f64(cf_buffer *out, double value); /* 15 significant digits; null if not finite */
void cf_put_bool(cf_buffer *out, bool value);
void cf_put_null(cf_buffer *out);
void cf_put_json(cf_buffer *out, cf_json value); /* a value that is JSON already */
/* What was written, as a value. */
cf_json cf_json_of(const cf_buffer *buffer);
/* One string as a JSON value, in scratch memory. */
cf_json cf_json_text(cf_str text);

/* ---- Commands --------------------------------------------------------------------------- */

typedef struct cf_command {
    cf_buffer json;
} cf_command;

typedef struct cf_message {
    const char *role; /* "system", "user" or "assistant" */
    cf_str content;
} cf_message;

typedef struct cf_optional_f64 {
    bool given;
    double value;
} cf_optional_f64;

typedef struct cf_optional_u32 {
    bool given;
    uint32_t value;
} cf_optional_u32;

/* What to generate. All zero but `prompt` (or `messages`) and `max_tokens` is a valid request:
 *     cf_infer_request request = {0};
 *     request.prompt = CF("Say hello.");
 *     request.max_tokens = 20;
 *     return cf_infer(&request);
 */
typedef struct cf_infer_request {
    cf_str prompt; /* one user turn */
    bool raw;      /* send `prompt` as it is, without the chat template of the model */
    const cf_message *messages; /* a conversation instead of `prompt`; used if not NULL */
    size_t messages_count;
    uint32_t max_tokens;
    cf_optional_f64 temperature;
    cf_optional_f64 top_p;
    cf_optional_u32 top_k;
    cf_optional_f64 min_p;
    cf_optional_f64 repeat_penalty;
    cf_optional_u32 seed;
    const cf_str *stop; /* at most 16 strings of at most 256 bytes */
    size_t stop_count;
    cf_json json_schema; /* the output has to fit it */
    cf_str grammar;      /* or this grammar */
    const uint32_t *images; /* handles; a host may refuse them as `unsupported` */
    size_t images_count;
} cf_infer_request;

cf_command cf_infer(const cf_infer_request *request);                    /* infer_done */
/* Several generations side by side; their results come together, in the order of the requests. */
cf_command cf_infer_many(const cf_infer_request *requests, size_t count); /* infer_many_done */
/* How many tokens the prompt of a request would have; its `max_tokens` does not matter. */
cf_command cf_count_tokens(const cf_infer_request *request);             /* tokens_counted */
cf_command cf_open(cf_str path);                                         /* opened */
cf_command cf_slice(uint32_t handle, uint64_t offset, uint64_t len);     /* sliced */
/* A slice in which every invalid part becomes U+FFFD instead of an error. */
cf_command cf_slice_lossy(uint32_t handle, uint64_t offset, uint64_t len); /* sliced */
/* Any bytes, text or not. */
cf_command cf_slice_bytes(uint32_t handle, uint64_t offset, uint64_t len); /* sliced_bytes */
/* What a folder holds, behind the name `after`; CF("") begins. */
cf_command cf_list(cf_str path, cf_str after);                           /* listed */
cf_command cf_close(uint32_t handle);                                    /* closed */
cf_command cf_emit(cf_json progress);                                    /* emitted */
cf_command cf_done(cf_json result);                                      /* ends the job */
cf_command cf_fail(cf_str code, cf_str message);                         /* ends the job */
/* The same command, but if it cannot be carried out the block gets a CF_ERROR event instead of
 * the job ending. For every command but done and fail. */
cf_command cf_or_error(cf_command command);
/* A command that this header has no function for, as JSON. A host may refuse it as `unsupported`. */
cf_command cf_command_of(cf_json command);

/* ---- Events ----------------------------------------------------------------------------- */

typedef enum cf_event_kind {
    CF_UNKNOWN, /* not one of these, or without a field that it must have */
    CF_INFER_DONE,
    CF_INFER_MANY_DONE,
    CF_TOKENS_COUNTED,
    CF_OPENED,
    CF_SLICED,
    CF_SLICED_BYTES,
    CF_LISTED,
    CF_CLOSED,
    CF_EMITTED,
    CF_ERROR
} cf_event_kind;

typedef enum cf_finish {
    CF_FINISH_UNKNOWN, /* also from a host that does not say */
    CF_FINISH_EOS,     /* the model had finished */
    CF_FINISH_LENGTH,  /* max_tokens were generated */
    CF_FINISH_STOP,    /* a stop string was reached */
    CF_FINISH_GUEST    /* cf_on_token said stop */
} cf_finish;

typedef enum cf_file_kind {
    CF_FILE_UNKNOWN,
    CF_FILE_TEXT,
    CF_FILE_IMAGE,
    CF_FILE_DOCUMENT,
    CF_FILE_BINARY
} cf_file_kind;

typedef struct cf_infer_done {
    cf_str text;
    uint32_t tokens_out;
    cf_finish finish;
    uint32_t tokens_in;
    uint32_t tokens_cached; /* of tokens_in: not evaluated again */
    uint32_t seed;
} cf_infer_done;

/* What several generations came to. Walk the results with
 *     for (cf_items items = cf_each(event.infer_many_done.results); cf_next(&items);) {
 *         cf_infer_result result = cf_read_infer_result(items.value);
 */
typedef struct cf_infer_many_done {
    cf_json results;
} cf_infer_many_done;

typedef struct cf_tokens_counted {
    uint32_t tokens;
    uint32_t context; /* tokens that prompt and answer may have together */
} cf_tokens_counted;

typedef struct cf_opened {
    uint32_t handle;
    uint64_t len; /* bytes in the file */
    cf_file_kind kind;
    cf_str format;       /* of an image: png, jpeg, gif or webp */
    uint32_t pages;      /* of a document */
    bool has_text_layer; /* of a document */
} cf_opened;

typedef struct cf_sliced {
    cf_str text;
    uint64_t next_offset;
} cf_sliced;

typedef struct cf_sliced_bytes {
    cf_str bytes; /* decoded: any bytes, and no text */
    uint64_t next_offset;
} cf_sliced_bytes;

/* What `list` found. Walk the entries with
 *     for (cf_items items = cf_each(event.listed.entries); cf_next(&items);) {
 *         cf_entry entry = cf_read_entry(items.value);
 */
typedef struct cf_listed {
    cf_json entries;
    cf_str after; /* for the next cf_list, if `more` */
    bool more;
} cf_listed;

typedef struct cf_entry {
    cf_str name; /* empty if `value` is no entry */
    bool is_folder;
    uint64_t len; /* bytes in a file */
} cf_entry;

cf_entry cf_read_entry(cf_json value);

typedef struct cf_error {
    cf_str code;
    cf_str message;
} cf_error;

/* One of several generations: `done` if `ok`, else `error`. */
typedef struct cf_infer_result {
    bool ok;
    cf_infer_done done;
    cf_error error;
} cf_infer_result;

cf_infer_result cf_read_infer_result(cf_json value);

typedef struct cf_event {
    cf_event_kind kind;
    cf_json json; /* the whole event, for fields that this header does not know */
    union {       /* of these, the one that `kind` names; closed and emitted have no fields */
        cf_infer_done infer_done;
        cf_infer_many_done infer_many_done;
        cf_tokens_counted tokens_counted;
        cf_opened opened;
        cf_sliced sliced;
        cf_sliced_bytes sliced_bytes;
        cf_listed listed;
        cf_error error;
    };
} cf_event;

cf_event cf_read_event(cf_json json);

/* ---- Exports ---------------------------------------------------------------------------- */

typedef enum cf_verdict { CF_CONTINUE = 0, CF_STOP = 1 } cf_verdict;

typedef struct cf_descriptor {
    const void *ptr;
    size_t len;
} cf_descriptor;

const cf_descriptor *cf_answer(cf_command command);
void cf_forget_scratch(void);

/* Exports the block: CF_BLOCK(start, step). */
#define CF_BLOCK(start, step)                                                                  \
    CF_EXPORT("cf_init") const cf_descriptor *cf_init(const char *ptr, size_t len) {           \
        cf_forget_scratch();                                                                   \
        cf_json input = {ptr, len};                                                            \
        return cf_answer(start(input));                                                        \
    }                                                                                          \
    CF_EXPORT("cf_step") const cf_descriptor *cf_step(const char *ptr, size_t len) {           \
        cf_forget_scratch();                                                                   \
        cf_json event = {ptr, len};                                                            \
        return cf_answer(step(cf_read_event(event)));                                          \
    }

/* Exports a listener, `cf_verdict function(cf_str piece)`, that is given the text of a generation
 * piece by piece and may end it early by answering CF_STOP. */
#define CF_ON_TOKEN(function)                                                                  \
    CF_EXPORT("cf_on_token") int cf_on_token(const char *ptr, size_t len) {                    \
        cf_forget_scratch();                                                                   \
        return (int)function(cf_span(ptr, len));                                               \
    }

/* Declares the types of input and result: CF_SIGNATURE("{path: text}", "{summary: text}"). */
#define CF_SIGNATURE(input, output)                                                            \
    CF_EXPORT("cf_signature") const cf_descriptor *cf_signature(void) {                        \
        static const char text[] = "{\"input\":\"" input "\",\"output\":\"" output "\"}";      \
        static const cf_descriptor descriptor = {text, sizeof(text) - 1};                      \
        return &descriptor;                                                                    \
    }

/* ==== Implementation ===================================================================== */

#ifndef CF_DECLARATIONS_ONLY

/* The compiler may call these four whatever the program does; a libc, if there is one, wins. */
#define CF_LIBC(name) __attribute__((weak, no_builtin(name)))

CF_LIBC("memcpy") void *memcpy(void *to, const void *from, size_t len) {
    for (size_t i = 0; i < len; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

CF_LIBC("memmove") void *memmove(void *to, const void *from, size_t len) {
    if ((uintptr_t)to <= (uintptr_t)from)
        for (size_t i = 0; i < len; i++) ((char *)to)[i] = ((const char *)from)[i];
    else
        for (size_t i = len; i > 0; i--) ((char *)to)[i - 1] = ((const char *)from)[i - 1];
    return to;
}

CF_LIBC("memset") void *memset(void *to, int byte, size_t len) {
    for (size_t i = 0; i < len; i++) ((char *)to)[i] = (char)byte;
    return to;
}

CF_LIBC("memcmp") int memcmp(const void *a, const void *b, size_t len) {
    const unsigned char *left = (const unsigned char *)a, *right = (const unsigned char *)b;
    for (size_t i = 0; i < len; i++)
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* -- memory: blocks of 2^k bytes, each free one in the list of its size. A buffer that doubles
 *    leaves blocks which sum up to no more than its last, so a job's memory stays within a small
 *    multiple of what it uses at once. */

#define CF_PAGE_BYTES 65536u

typedef struct cf_block {
    struct cf_block *next; /* in a free list, or in the list of scratch blocks */
    size_t log2_size;
} cf_block;

extern unsigned char __heap_base; /* set by the linker: where static data and stack have ended */

static struct {
    cf_block *free[32];
    cf_block *scratch;
    uintptr_t top; /* first byte that no block was made of yet; 0 before the first block */
    void *inbox;   /* what cf_alloc gave the host last */
} cf_heap;

/* A host knows a lack of memory by there being none left, so all of it is taken before the trap. */
static void cf_out_of_memory(void) {
    while (__builtin_wasm_memory_grow(0, 1) != (size_t)-1) {}
    __builtin_trap();
}

static cf_block *cf_new_block(size_t log2_size) {
    if (cf_heap.top == 0) cf_heap.top = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uint64_t end = (uint64_t)cf_heap.top + ((uint64_t)1 << log2_size);
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * CF_PAGE_BYTES;
    if (end > have) {
        uint64_t pages = (end - have + CF_PAGE_BYTES - 1) / CF_PAGE_BYTES;
        if (pages > CF_PAGE_BYTES || __builtin_wasm_memory_grow(0, (size_t)pages) == (size_t)-1)
            cf_out_of_memory();
    }
    cf_block *block = (cf_block *)cf_heap.top;
    cf_heap.top = (uintptr_t)end;
    block->log2_size = log2_size;
    return block;
}

void *cf_malloc(size_t size) {
    size_t log2_size = 5;
    while (((uint64_t)1 << log2_size) < (uint64_t)size + sizeof(cf_block)) log2_size++;
    if (log2_size > 31) cf_out_of_memory();
    cf_block *block = cf_heap.free[log2_size];
    if (block)
        cf_heap.free[log2_size] = block->next;
    else
        block = cf_new_block(log2_size);
    return block + 1;
}

/* Bytes that memory from cf_malloc or cf_scratch really has. */
static size_t cf_capacity(const void *memory) {
    return ((size_t)1 << ((const cf_block *)memory - 1)->log2_size) - sizeof(cf_block);
}

void cf_free(void *memory) {
    if (!memory) return;
    cf_block *block = (cf_block *)memory - 1;
    block->next = cf_heap.free[block->log2_size];
    cf_heap.free[block->log2_size] = block;
}

void *cf_scratch(size_t size) {
    void *memory = cf_malloc(size);
    cf_block *block = (cf_block *)memory - 1;
    block->next = cf_heap.scratch;
    cf_heap.scratch = block;
    return memory;
}

void cf_forget_scratch(void) {
    while (cf_heap.scratch) {
        cf_block *block = cf_heap.scratch;
        cf_heap.scratch = block->next;
        cf_free(block + 1);
    }
}

static void cf_reserve(cf_buffer *buffer, size_t more) {
    size_t len = buffer->len + more;
    if (len < more) cf_out_of_memory();
    if (len <= buffer->capacity) return;
    char *larger = (char *)(buffer->scratch ? cf_scratch(len) : cf_malloc(len));
    for (size_t i = 0; i < buffer->len; i++) larger[i] = buffer->ptr[i];
    if (!buffer->scratch) cf_free(buffer->ptr);
    buffer->ptr = larger;
    buffer->capacity = cf_capacity(larger);
}

static void cf_append_byte(cf_buffer *buffer, char byte) {
    cf_reserve(buffer, 1);
    buffer->ptr[buffer->len++] = byte;
}

void cf_append(cf_buffer *buffer, cf_str text) {
    cf_reserve(buffer, text.len);
    memcpy(buffer->ptr + buffer->len, text.ptr, text.len);
    buffer->len += text.len;
}

void cf_append_u64(cf_buffer *buffer, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    cf_append(buffer, cf_span(digits + at, sizeof digits - at));
}

void cf_clear(cf_buffer *buffer) { buffer->len = 0; }

void cf_free_buffer(cf_buffer *buffer) {
    if (!buffer->scratch) cf_free(buffer->ptr);
    buffer->ptr = NULL;
    buffer->len = buffer->capacity = 0;
}

cf_str cf_text_of(const cf_buffer *buffer) { return cf_span(buffer->ptr, buffer->len); }

/* -- text */

cf_str cf_span(const char *ptr, size_t len) {
    cf_str text = {ptr, len};
    return text;
}

static cf_str cf_terminated(const char *text) {
    size_t len = 0;
    while (text[len]) len++;
    return cf_span(text, len);
}

bool cf_equal(cf_str a, cf_str b) { return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0; }

cf_str cf_cut(cf_str text, size_t len_max) {
    if (text.len <= len_max) return text;
    while (len_max > 0 && ((unsigned char)text.ptr[len_max] & 0xC0) == 0x80) len_max--;
    return cf_span(text.ptr, len_max);
}

/* -- reading JSON: values are found by scanning, no tree is built. The host sends valid JSON; on
 *    anything else the readers see missing values, and never bytes outside of the text. */

static const char *cf_skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* `at` is the opening quote; returns what follows the closing one. */
static const char *cf_skip_string(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : end;
}

static const char *cf_skip_value(const char *at, const char *end) {
    size_t depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = cf_skip_string(at, end);
            if (depth == 0) return at;
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']' || c <= ' ')) return at;
        at++;
        if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return end;
}

static cf_json cf_value(const char *at, const char *end) {
    at = cf_skip_space(at, end);
    cf_json value = {at, (size_t)(cf_skip_value(at, end) - at)};
    return value;
}

cf_json_type cf_type_of(cf_json value) {
    const char *end = value.ptr + value.len, *at = cf_skip_space(value.ptr, end);
    if (at == end) return CF_JSON_NONE;
    switch (*at) {
    case '{': return CF_JSON_OBJECT;
    case '[': return CF_JSON_ARRAY;
    case '"': return CF_JSON_TEXT;
    case 't':
    case 'f': return CF_JSON_BOOL;
    case 'n': return CF_JSON_NULL;
    default: return CF_JSON_NUMBER;
    }
}

cf_items cf_each(cf_json container) {
    cf_items items = {{NULL, 0}, {NULL, 0}, NULL, NULL, false};
    cf_json_type type = cf_type_of(container);
    if (type != CF_JSON_OBJECT && type != CF_JSON_ARRAY) return items;
    items.object = type == CF_JSON_OBJECT;
    items.end = container.ptr + container.len;
    items.at = cf_skip_space(container.ptr, items.end) + 1;
    return items;
}

bool cf_next(cf_items *items) {
    const char *end = items->end, *at = cf_skip_space(items->at, end);
    if (at < end && *at == ',') at = cf_skip_space(at + 1, end);
    if (at >= end || *at == '}' || *at == ']') return false;
    if (items->object) {
        cf_json key = cf_value(at, end);
        at = cf_skip_space(key.ptr + key.len, end);
        if (!cf_read_text(key, &items->key) || at >= end || *at != ':') return false;
        at++;
    }
    items->value = cf_value(at, end);
    items->at = items->value.ptr + items->value.len;
    return items->value.len > 0;
}

cf_json cf_get(cf_json object, const char *key) {
    cf_json found = {NULL, 0};
    cf_str wanted = cf_terminated(key);
    cf_items items = cf_each(object);
    while (items.object && cf_next(&items))
        if (cf_equal(items.key, wanted)) found = items.value;
    return found;
}

cf_json cf_at(cf_json array, size_t index) {
    cf_json none = {NULL, 0};
    cf_items items = cf_each(array);
    while (!items.object && cf_next(&items))
        if (index-- == 0) return items.value;
    return none;
}

static uint32_t cf_hex4(const char *at, const char *end) {
    uint32_t code = 0;
    if (end - at < 4) return 0xFFFD;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15) return 0xFFFD;
        code = code << 4 | digit;
    }
    return code;
}

static char *cf_put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xE0 | code >> 12);
        } else {
            *to++ = (char)(0xF0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 63));
        }
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

/* Reads \uXXXX, and the second half of a pair; a half alone becomes U+FFFD. `*at` is on the `u`. */
static uint32_t cf_unicode_escape(const char **at, const char *end) {
    uint32_t code = cf_hex4(*at + 1, end);
    *at += end - *at < 5 ? end - *at : 5;
    if (code < 0xD800 || code > 0xDFFF) return code;
    if (code > 0xDBFF || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') return 0xFFFD;
    uint32_t low = cf_hex4(*at + 2, end);
    if (low < 0xDC00 || low > 0xDFFF) return 0xFFFD;
    *at += 6;
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

bool cf_read_text(cf_json value, cf_str *out) {
    const char *end = value.ptr + value.len, *at = cf_skip_space(value.ptr, end);
    if (at == end || *at != '"') return false;
    const char *start = ++at;
    while (at < end && *at != '"' && *at != '\\') at++;
    if (at == end) return false;
    if (*at == '"') { /* nothing is escaped: the text stands there as it is */
        *out = cf_span(start, (size_t)(at - start));
        return true;
    }
    char *text = (char *)cf_scratch((size_t)(end - start)), *to = text;
    for (at = start; at < end && *at != '"';) {
        if (*at != '\\' || at + 1 == end) {
            *to++ = *at++;
            continue;
        }
        at++;
        switch (*at) {
        case 'u': to = cf_put_utf8(to, cf_unicode_escape(&at, end)); continue;
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case 'r': *to++ = '\r'; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        default: *to++ = *at; break;
        }
        at++;
    }
    *out = cf_span(text, (size_t)(to - text));
    return true;
}

bool cf_read_u64(cf_json value, uint64_t *out) {
    const char *end = value.ptr + value.len, *at = cf_skip_space(value.ptr, end);
    uint64_t number = 0;
    if (at == end) return false;
    for (; at < end && *at > ' '; at++) {
        uint64_t digit = (uint64_t)(unsigned char)(*at - '0');
        if (digit > 9 || number > (UINT64_MAX - digit) / 10) return false;
        number = number * 10 + digit;
    }
    *out = number;
    return true;
}

bool cf_read_u32(cf_json value, uint32_t *out) {
    uint64_t number;
    if (!cf_read_u64(value, &number) || number > UINT32_MAX) return false;
    *out = (uint32_t)number;
    return true;
}

bool cf_read_bool(cf_json value, bool *out) {
    if (cf_type_of(value) != CF_JSON_BOOL) return false;
    *out = *cf_skip_space(value.ptr, value.ptr + value.len) == 't';
    return true;
}

static double cf_power_of_ten(uint32_t exponent) {
    static const double squares[] = {1e1, 1e2, 1e4, 1e8, 1e16, 1e32, 1e64, 1e128, 1e256};
    double power = 1;
    for (size_t bit = 0; bit < 9; bit++)
        if (exponent >> bit & 1) power *= squares[bit];
    return power;
}

/* value * 10^exponent, in two steps where the power itself would be no finite number. */
static double cf_scaled(double value, int32_t exponent) {
    bool down = exponent < 0;
    uint32_t size = (uint32_t)(down ? -exponent : exponent);
    if (size > 300) {
        value = down ? value / 1e300 : value * 1e300;
        size = size > 600 ? 300 : size - 300;
    }
    return down ? value / cf_power_of_ten(size) : value * cf_power_of_ten(size);
}

bool cf_read_f64(cf_json value, double *out) {
    const char *end = value.ptr + value.len, *at = cf_skip_space(value.ptr, end);
    if (cf_type_of(value) != CF_JSON_NUMBER) return false;
    bool negative = *at == '-', fraction = false, negative_exponent = false;
    uint64_t digits = 0;
    int32_t exponent = 0, stated = 0;
    for (at += negative; at < end && (*at == '.' || (*at >= '0' && *at <= '9')); at++) {
        if (*at == '.') {
            fraction = true;
        } else if (digits < UINT64_MAX / 10 - 1) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            exponent -= fraction;
        } else {
            exponent += !fraction;
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        negative_exponent = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (stated < 100000) stated = stated * 10 + (*at - '0');
    }
    double number = cf_scaled((double)digits, exponent + (negative_exponent ? -stated : stated));
    *out = negative ? -number : number;
    return true;
}

/* -- writing JSON: whether a comma is due shows in the last byte that was written */

static void cf_separate(cf_buffer *out) {
    char last = out->len ? out->ptr[out->len - 1] : '[';
    if (last != '[' && last != '{' && last != ':') cf_append_byte(out, ',');
}

void cf_begin_object(cf_buffer *out) {
    cf_separate(out);
    cf_append_byte(out, '{');
}

void cf_end_object(cf_buffer *out) { cf_append_byte(out, '}'); }

void cf_begin_array(cf_buffer *out) {
    cf_separate(out);
    cf_append_byte(out, '[');
}

void cf_end_array(cf_buffer *out) { cf_append_byte(out, ']'); }

void cf_put_text(cf_buffer *out, cf_str text) {
    cf_separate(out);
    cf_append_byte(out, '"');
    size_t written = 0; /* runs without escapes are copied whole */
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c >= ' ' && c != '"' && c != '\\') continue;
        cf_append(out, cf_span(text.ptr + written, i - written));
        written = i + 1;
        cf_append_byte(out, '\\');
        if (c == '"' || c == '\\') {
            cf_append_byte(out, (char)c);
        } else if (c == '\n') {
            cf_append_byte(out, 'n');
        } else {
            cf_append(out, CF("u00"));
            cf_append_byte(out, (char)('0' + (c >> 4)));
            cf_append_byte(out, "0123456789abcdef"[c & 15]);
        }
    }
    cf_append(out, cf_span(text.ptr + written, text.len - written));
    cf_append_byte(out, '"');
}

void cf_key(cf_buffer *out, const char *key) {
    cf_put_text(out, cf_terminated(key));
    cf_append_byte(out, ':');
}

void cf_put_u64(cf_buffer *out, uint64_t value) {
    cf_separate(out);
    cf_append_u64(out, value);
}

void cf_put_i64(cf_buffer *out, int64_t value) {
    cf_separate(out);
    if (value < 0) cf_append_byte(out, '-');
    cf_append_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void cf_put_f64(cf_buffer *out, double value) {
    if (value != value || value - value != 0) {
        cf_put_null(out);
        return;
    }
    cf_separate(out);
    if (value < 0) {
        cf_append_byte(out, '-');
        value = -value;
    }
    if (value > 1.79769313486231e308) value = 1.79769313486231e308; /* never rounded to infinity */
    int32_t exponent = 0; /* value = digits * 10^exponent, with at most 15 digits */
    while (value != 0 && cf_scaled(value, -exponent) >= 1e15) exponent++;
    while (value != 0 && cf_scaled(value, -exponent) < 1e14 && exponent > -330) exponent--;
    uint64_t digits = (uint64_t)(cf_scaled(value, -exponent) + 0.5);
    while (digits && digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    cf_append_u64(out, digits);
    if (digits == 0 || exponent == 0) return;
    cf_append_byte(out, 'e');
    if (exponent < 0) cf_append_byte(out, '-');
    cf_append_u64(out, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

void cf_put_bool(cf_buffer *out, bool value) {
    cf_separate(out);
    cf_append(out, value ? CF("true") : CF("false"));
}

void cf_put_null(cf_buffer *out) {
    cf_separate(out);
    cf_append(out, CF("null"));
}

void cf_put_json(cf_buffer *out, cf_json value) {
    if (cf_type_of(value) == CF_JSON_NONE) {
        cf_put_null(out);
        return;
    }
    cf_separate(out);
    cf_append(out, cf_span(value.ptr, value.len));
}

cf_json cf_json_of(const cf_buffer *buffer) {
    cf_json value = {buffer->ptr, buffer->len};
    return value;
}

cf_json cf_json_text(cf_str text) {
    cf_buffer out = {NULL, 0, 0, true};
    cf_put_text(&out, text);
    return cf_json_of(&out);
}

/* -- commands */

static void cf_text_field(cf_buffer *out, const char *key, cf_str text) {
    cf_key(out, key);
    cf_put_text(out, text);
}

static void cf_u64_field(cf_buffer *out, const char *key, uint64_t value) {
    cf_key(out, key);
    cf_put_u64(out, value);
}

static void cf_json_field(cf_buffer *out, const char *key, cf_json value) {
    cf_key(out, key);
    cf_put_json(out, value);
}

static cf_command cf_begin_command(const char *name) {
    cf_command command = {{NULL, 0, 0, true}};
    cf_begin_object(&command.json);
    cf_text_field(&command.json, "cmd", cf_terminated(name));
    return command;
}

static cf_command cf_end_command(cf_command command) {
    cf_end_object(&command.json);
    return command;
}

static void cf_put_optional_f64(cf_buffer *out, const char *key, cf_optional_f64 number) {
    if (!number.given) return;
    cf_key(out, key);
    cf_put_f64(out, number.value);
}

static void cf_put_optional_u32(cf_buffer *out, const char *key, cf_optional_u32 number) {
    if (!number.given) return;
    cf_u64_field(out, key, number.value);
}

static void cf_put_messages(cf_buffer *out, const cf_message *messages, size_t count) {
    cf_begin_array(out);
    for (size_t i = 0; i < count; i++) {
        cf_begin_object(out);
        cf_text_field(out, "role", cf_terminated(messages[i].role));
        cf_text_field(out, "content", messages[i].content);
        cf_end_object(out);
    }
    cf_end_array(out);
}

static void cf_put_prompt(cf_buffer *out, const cf_infer_request *request, const char *key) {
    if (!request->messages) {
        cf_text_field(out, key, request->prompt);
        return;
    }
    cf_key(out, "messages");
    cf_put_messages(out, request->messages, request->messages_count);
}

static void cf_put_request(cf_buffer *out, const cf_infer_request *request) {
    cf_put_prompt(out, request, "prompt");
    cf_u64_field(out, "max_tokens", request->max_tokens);
    if (request->raw) {
        cf_key(out, "raw");
        cf_put_bool(out, true);
    }
    cf_put_optional_f64(out, "temperature", request->temperature);
    cf_put_optional_f64(out, "top_p", request->top_p);
    cf_put_optional_u32(out, "top_k", request->top_k);
    cf_put_optional_f64(out, "min_p", request->min_p);
    cf_put_optional_f64(out, "repeat_penalty", request->repeat_penalty);
    cf_put_optional_u32(out, "seed", request->seed);
    if (request->stop_count) {
        cf_key(out, "stop");
        cf_begin_array(out);
        for (size_t i = 0; i < request->stop_count; i++) cf_put_text(out, request->stop[i]);
        cf_end_array(out);
    }
    if (request->json_schema.len) cf_json_field(out, "json_schema", request->json_schema);
    if (request->grammar.len) cf_text_field(out, "grammar", request->grammar);
    if (request->images_count) {
        cf_key(out, "images");
        cf_begin_array(out);
        for (size_t i = 0; i < request->images_count; i++) cf_put_u64(out, request->images[i]);
        cf_end_array(out);
    }
}

cf_command cf_infer(const cf_infer_request *request) {
    cf_command command = cf_begin_command("infer");
    cf_put_request(&command.json, request);
    return cf_end_command(command);
}

cf_command cf_infer_many(const cf_infer_request *requests, size_t count) {
    cf_command command = cf_begin_command("infer_many");
    cf_key(&command.json, "requests");
    cf_begin_array(&command.json);
    for (size_t i = 0; i < count; i++) {
        cf_begin_object(&command.json);
        cf_put_request(&command.json, &requests[i]);
        cf_end_object(&command.json);
    }
    cf_end_array(&command.json);
    return cf_end_command(command);
}

cf_command cf_count_tokens(const cf_infer_request *request) {
    cf_command command = cf_begin_command("count_tokens");
    cf_put_prompt(&command.json, request, "text");
    return cf_end_command(command);
}

cf_command cf_open(cf_str path) {
    cf_command command = cf_begin_command("open");
    cf_text_field(&command.json, "path", path);
    return cf_end_command(command);
}

static cf_command cf_begin_slice(const char *name, uint32_t handle, uint64_t offset, uint64_t len) {
    cf_command command = cf_begin_command(name);
    cf_u64_field(&command.json, "handle", handle);
    cf_u64_field(&command.json, "offset", offset);
    cf_u64_field(&command.json, "len", len);
    return command;
}

cf_command cf_slice(uint32_t handle, uint64_t offset, uint64_t len) {
    return cf_end_command(cf_begin_slice("slice", handle, offset, len));
}

cf_command cf_slice_lossy(uint32_t handle, uint64_t offset, uint64_t len) {
    cf_command command = cf_begin_slice("slice", handle, offset, len);
    cf_text_field(&command.json, "invalid", CF("replace"));
    return cf_end_command(command);
}

cf_command cf_slice_bytes(uint32_t handle, uint64_t offset, uint64_t len) {
    return cf_end_command(cf_begin_slice("slice_bytes", handle, offset, len));
}

cf_command cf_list(cf_str path, cf_str after) {
    cf_command command = cf_begin_command("list");
    cf_text_field(&command.json, "path", path);
    if (after.len) cf_text_field(&command.json, "after", after);
    return cf_end_command(command);
}

cf_command cf_close(uint32_t handle) {
    cf_command command = cf_begin_command("close");
    cf_u64_field(&command.json, "handle", handle);
    return cf_end_command(command);
}

cf_command cf_emit(cf_json progress) {
    cf_command command = cf_begin_command("emit");
    cf_json_field(&command.json, "progress", progress);
    return cf_end_command(command);
}

cf_command cf_done(cf_json result) {
    cf_command command = cf_begin_command("done");
    cf_json_field(&command.json, "result", result);
    return cf_end_command(command);
}

cf_command cf_fail(cf_str code, cf_str message) {
    cf_command command = cf_begin_command("fail");
    cf_text_field(&command.json, "code", code);
    cf_text_field(&command.json, "message", message);
    return cf_end_command(command);
}

cf_command cf_or_error(cf_command command) {
    command.json.len--; /* the closing brace */
    cf_text_field(&command.json, "on_error", CF("event"));
    return cf_end_command(command);
}

cf_command cf_command_of(cf_json json) {
    cf_command command = {{NULL, 0, 0, true}};
    cf_put_json(&command.json, json);
    return command;
}

/* -- events */

/* Which of `words` a value is, from 1; 0 for any other. */
static uint32_t cf_read_word(cf_json value, const char *const *words, uint32_t count) {
    cf_str text = {NULL, 0};
    cf_read_text(value, &text);
    for (uint32_t i = 0; i < count; i++)
        if (cf_equal(text, cf_terminated(words[i]))) return i + 1;
    return 0;
}

static cf_finish cf_read_finish(cf_json value) {
    static const char *const in_order[] = {"eos", "length", "stop", "guest"};
    return (cf_finish)cf_read_word(value, in_order, 4);
}

static cf_file_kind cf_read_file_kind(cf_json value) {
    static const char *const in_order[] = {"text", "image", "document", "binary"};
    return (cf_file_kind)cf_read_word(value, in_order, 4);
}

static bool cf_read_infer_done(cf_json json, cf_infer_done *out) {
    out->finish = cf_read_finish(cf_get(json, "finish"));
    cf_read_u32(cf_get(json, "tokens_in"), &out->tokens_in);
    cf_read_u32(cf_get(json, "tokens_cached"), &out->tokens_cached);
    cf_read_u32(cf_get(json, "seed"), &out->seed);
    return cf_read_text(cf_get(json, "text"), &out->text) &&
           cf_read_u32(cf_get(json, "tokens_out"), &out->tokens_out);
}

static bool cf_read_opened(cf_json json, cf_opened *out) {
    cf_json kind = cf_get(json, "kind");
    out->kind = cf_read_file_kind(cf_get(kind, "kind"));
    cf_read_text(cf_get(kind, "format"), &out->format);
    cf_read_u32(cf_get(kind, "pages"), &out->pages);
    cf_read_bool(cf_get(kind, "has_text_layer"), &out->has_text_layer);
    return cf_read_u32(cf_get(json, "handle"), &out->handle) &&
           cf_read_u64(cf_get(json, "len"), &out->len);
}

static bool cf_read_sliced(cf_json json, cf_sliced *out) {
    return cf_read_text(cf_get(json, "text"), &out->text) &&
           cf_read_u64(cf_get(json, "next_offset"), &out->next_offset);
}

static int cf_base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool cf_decode_base64(cf_str *text) {
    char *out = (char *)cf_scratch(text->len);
    size_t len = 0;
    uint32_t bits = 0, count = 0;
    for (size_t i = 0; i < text->len && text->ptr[i] != '='; i++) {
        int digit = cf_base64_digit(text->ptr[i]);
        if (digit < 0) return false;
        bits = (bits << 6 | (uint32_t)digit) & 0xffffff;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out[len++] = (char)(bits >> count & 0xff);
    }
    *text = cf_span(out, len);
    return true;
}

static bool cf_read_sliced_bytes(cf_json json, cf_sliced_bytes *out) {
    return cf_read_text(cf_get(json, "bytes_base64"), &out->bytes) && cf_decode_base64(&out->bytes) &&
           cf_read_u64(cf_get(json, "next_offset"), &out->next_offset);
}

static bool cf_read_listed(cf_json json, cf_listed *out) {
    out->entries = cf_get(json, "entries");
    out->more = cf_read_text(cf_get(json, "after"), &out->after);
    return cf_type_of(out->entries) == CF_JSON_ARRAY;
}

cf_entry cf_read_entry(cf_json value) {
    cf_entry entry;
    cf_str kind = {NULL, 0};
    memset(&entry, 0, sizeof entry);
    cf_read_text(cf_get(value, "name"), &entry.name);
    cf_read_text(cf_get(value, "kind"), &kind);
    cf_read_u64(cf_get(value, "len"), &entry.len);
    entry.is_folder = cf_equal(kind, CF("dir"));
    return entry;
}

static bool cf_read_infer_many_done(cf_json json, cf_infer_many_done *out) {
    out->results = cf_get(json, "results");
    return cf_type_of(out->results) == CF_JSON_ARRAY;
}

static bool cf_read_tokens_counted(cf_json json, cf_tokens_counted *out) {
    return cf_read_u32(cf_get(json, "tokens"), &out->tokens) &&
           cf_read_u32(cf_get(json, "context"), &out->context);
}

static bool cf_read_error(cf_json json, cf_error *out) {
    return cf_read_text(cf_get(json, "code"), &out->code) &&
           cf_read_text(cf_get(json, "message"), &out->message);
}

cf_infer_result cf_read_infer_result(cf_json value) {
    cf_infer_result result;
    memset(&result, 0, sizeof result);
    result.ok = cf_read_infer_done(value, &result.done);
    if (!result.ok) cf_read_error(cf_get(value, "error"), &result.error);
    return result;
}

static cf_event_kind cf_read_fields(cf_json json, cf_event *event) {
    cf_str name = {NULL, 0};
    cf_read_text(cf_get(json, "event"), &name);
    if (cf_equal(name, CF("emitted"))) return CF_EMITTED;
    if (cf_equal(name, CF("closed"))) return CF_CLOSED;
    if (cf_equal(name, CF("sliced")) && cf_read_sliced(json, &event->sliced)) return CF_SLICED;
    if (cf_equal(name, CF("opened")) && cf_read_opened(json, &event->opened)) return CF_OPENED;
    if (cf_equal(name, CF("infer_done")) && cf_read_infer_done(json, &event->infer_done))
        return CF_INFER_DONE;
    if (cf_equal(name, CF("sliced_bytes")) && cf_read_sliced_bytes(json, &event->sliced_bytes))
        return CF_SLICED_BYTES;
    if (cf_equal(name, CF("listed")) && cf_read_listed(json, &event->listed)) return CF_LISTED;
    if (cf_equal(name, CF("infer_many_done")) &&
        cf_read_infer_many_done(json, &event->infer_many_done))
        return CF_INFER_MANY_DONE;
    if (cf_equal(name, CF("tokens_counted")) &&
        cf_read_tokens_counted(json, &event->tokens_counted))
        return CF_TOKENS_COUNTED;
    if (cf_equal(name, CF("error")) && cf_read_error(json, &event->error)) return CF_ERROR;
    return CF_UNKNOWN;
}

cf_event cf_read_event(cf_json json) {
    cf_event event;
    memset(&event, 0, sizeof event);
    event.json = json;
    event.kind = cf_read_fields(json, &event);
    return event;
}

/* -- exports */

const cf_descriptor *cf_answer(cf_command command) {
    static cf_descriptor descriptor;
    descriptor.ptr = command.json.ptr;
    descriptor.len = command.json.len;
    return &descriptor;
}

/* One buffer serves all calls. A larger one, of twice the size at least, replaces it, and the old one
 * is never given to anybody else: a host may go on using it for short payloads. */
CF_EXPORT("cf_alloc") void *cf_alloc(size_t len) {
    if (!cf_heap.inbox || len > cf_capacity(cf_heap.inbox)) cf_heap.inbox = cf_malloc(len);
    return cf_heap.inbox;
}

static cf_str cf_panic_message;

void cf_panic_with(cf_str message) {
    cf_panic_message = message;
    __builtin_trap();
}

/* The host calls this after a trap: all that was in memory is there still. */
CF_EXPORT("cf_panic") const cf_descriptor *cf_panic(void) {
    if (!cf_panic_message.len) return NULL;
    return cf_answer(cf_fail(CF("panic"), cf_panic_message));
}

/* The host calls this once, before anything else. Where nobody names the linker's function, it calls
 * all constructors in front of every export, and what they made is lost between two calls. */
void __wasm_call_ctors(void);
CF_EXPORT("_initialize") void cf_initialize(void) { __wasm_call_ctors(); }

CF_EXPORT("cf_abi_version") int cf_abi_version(void) { return CF_ABI_VERSION; }

#endif /* CF_DECLARATIONS_ONLY */

#ifdef __cplusplus
}
#endif

#endif /* CUTTLEBONE_H */
