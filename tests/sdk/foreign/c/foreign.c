/* foreign: a block as other SDKs build it. It has the exports that are required and no more, knows nothing but
 * the original commands and events, and never gives a byte back. */
typedef unsigned int u32;
typedef unsigned long long u64;
#define EXPORT(name) __attribute__((export_name(name), used))

extern unsigned char __heap_base;
static u32 top;
static u32 handle, windows;
static u64 len, offset;
static char first[512];

EXPORT("cf_alloc") void *cf_alloc(u32 size) {
    if (!top) top = (u32)&__heap_base;
    u32 start = (top + 7) & ~7u;
    top = start + size;
    u32 have = (u32)__builtin_wasm_memory_size(0) << 16;
    if (top > have && __builtin_wasm_memory_grow(0, (top - have + 65535) >> 16) == (u32)-1) __builtin_trap();
    return (void *)start;
}

/* ---- Text that is written: a buffer a command ---------------------------------------------- */

static char *out;
static u32 out_len;

static void begin(void) {
    out = cf_alloc(2048);
    out_len = 0;
}

static void put(const char *text) {
    while (*text) out[out_len++] = *text++;
}

static void put_number(u64 number) {
    char digits[21] = {0};
    int at = 20;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put(digits + at);
}

static const void *end(void) {
    u32 *descriptor = cf_alloc(8);
    descriptor[0] = (u32)out;
    descriptor[1] = out_len;
    return descriptor;
}

/* ---- Text that is read: a key is looked for wherever it stands ------------------------------ */

static const char *after_key(const char *text, u32 size, const char *key) {
    for (u32 at = 0; at < size; at++) {
        u32 same = 0;
        while (key[same] && at + same < size && text[at + same] == key[same]) same++;
        if (!key[same]) return text + at + same;
    }
    return 0;
}

static u64 number_at(const char *text) {
    u64 number = 0;
    while (*text >= '0' && *text <= '9') number = number * 10 + (u64)(*text++ - '0');
    return number;
}

/* Copies a JSON string as it is escaped, up to 500 bytes and no escape in two. */
static void copy_string(char *to, const char *from) {
    u32 at = 0;
    while (from[at] != '"' && at < 500) {
        if (from[at] == '\\') to[at] = from[at], at++;
        to[at] = from[at];
        at++;
    }
    to[at] = 0;
}

static int is_event(const char *text, u32 size, const char *name) {
    const char *found = after_key(text, size, "\"event\":\"");
    if (!found) return 0;
    while (*name && *found == *name) found++, name++;
    return !*name && *found == '"';
}

/* ---- The block ---------------------------------------------------------------------------- */

static const void *slice(void) {
    begin();
    put("{\"cmd\":\"slice\",\"handle\":");
    put_number(handle);
    put(",\"offset\":");
    put_number(offset);
    put(",\"len\":4096}");
    return end();
}

EXPORT("cf_init") const void *cf_init(const char *text, u32 size) {
    static char path[512];
    copy_string(path, after_key(text, size, "\"path\":\""));
    begin();
    put("{\"cmd\":\"open\",\"path\":\"");
    put(path);
    put("\"}");
    return end();
}

static const void *finish(const char *text, u32 size) {
    static char answer[512];
    copy_string(answer, after_key(text, size, "\"text\":\""));
    begin();
    put("{\"cmd\":\"done\",\"result\":{\"len\":");
    put_number(len);
    put(",\"windows\":");
    put_number(windows);
    put(",\"answer\":\"");
    put(answer);
    put("\",\"tokens_out\":");
    put_number(number_at(after_key(text, size, "\"tokens_out\":")));
    put("}}");
    return end();
}

EXPORT("cf_step") const void *cf_step(const char *text, u32 size) {
    if (is_event(text, size, "opened")) {
        handle = (u32)number_at(after_key(text, size, "\"handle\":"));
        len = number_at(after_key(text, size, "\"len\":"));
        return slice();
    }
    if (is_event(text, size, "sliced")) {
        if (!windows++) copy_string(first, after_key(text, size, "\"text\":\""));
        offset = number_at(after_key(text, size, "\"next_offset\":"));
        if (offset < len) return slice();
        begin();
        put("{\"cmd\":\"emit\",\"progress\":{\"windows\":");
        put_number(windows);
        put("}}");
        return end();
    }
    if (is_event(text, size, "emitted")) {
        begin();
        put("{\"cmd\":\"infer\",\"prompt\":\"");
        put(first);
        put("\",\"max_tokens\":16}");
        return end();
    }
    if (is_event(text, size, "infer_done")) return finish(text, size);
    begin();
    put("{\"cmd\":\"fail\",\"code\":\"unexpected\",\"message\":\"an event that did not exist\"}");
    return end();
}
