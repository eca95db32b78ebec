//! All that a block written in Zig needs: commands, events, and the exports of the contract.
//!
//! A block is a file with two functions and this at its end:
//!
//!     pub fn start(input: Input) !Command    the job's input; returns the first command
//!     pub fn step(event: Event) !Command     the answer to the last command; returns the next one
//!     comptime { cuttlebone.exportBlock(@This()); }
//!
//! `Input` is any type that std.json can read, `Value` among them. An error that either returns fails the
//! job. Optional are `pub fn onToken(piece: []const u8) Verdict` and `pub const signature: Signature`.
//! Between two calls a block keeps what it must in global variables: each job has an instance of its
//! own, and one thread.
//!
//! HOW LONG THINGS LIVE. The input, an event, and all that comes from `scratch` live until your function
//! returns. What is needed longer comes from `allocator`.

const std = @import("std");
const builtin = @import("builtin");
const json = std.json;

pub const abi_version = 1;

// ---- Memory ---------------------------------------------------------------------------------

/// Memory that lives until it is freed. Never fails: without memory the job ends, so `catch unreachable`
/// is right behind it.
pub const allocator: std.mem.Allocator = .{ .ptr = undefined, .vtable = &Exhausting.vtable };

/// Memory that lives until the running function of the block returns.
pub fn scratch() std.mem.Allocator {
    return scratch_arena.allocator();
}

var scratch_arena: std.heap.ArenaAllocator = .init(allocator);

/// The allocator of the standard library, but a lack of memory shows as one: a host knows it by there
/// being none left, so all of it is taken before the trap.
const Exhausting = struct {
    const inner = std.heap.wasm_allocator;
    const vtable: std.mem.Allocator.VTable = .{
        .alloc = alloc,
        .resize = inner.vtable.resize,
        .remap = inner.vtable.remap,
        .free = inner.vtable.free,
    };

    fn alloc(context: *anyopaque, len: usize, alignment: std.mem.Alignment, address: usize) ?[*]u8 {
        return inner.vtable.alloc(context, len, alignment, address) orelse {
            while (@wasmMemoryGrow(0, 1) != -1) {}
            @trap();
        };
    }
};

// ---- Values ---------------------------------------------------------------------------------

/// Any JSON. Numbers are `number_string`: none loses a digit, whatever its size.
pub const Value = json.Value;

const parse_options: json.ParseOptions = .{
    .duplicate_field_behavior = .use_last,
    .ignore_unknown_fields = true,
    .parse_numbers = false,
    .allocate = .alloc_always,
};

/// Read JSON from an answer of a model, say, into any type that std.json can read; in scratch memory.
pub fn parse(comptime T: type, text: []const u8) !T {
    const value = try json.parseFromSliceLeaky(Value, scratch(), text, parse_options);
    return json.parseFromValueLeaky(T, scratch(), value, parse_options);
}

/// Write anything that std.json can write; in scratch memory.
pub fn stringify(value: anytype) []const u8 {
    return json.Stringify.valueAlloc(scratch(), value, .{}) catch unreachable;
}

/// A text made by a format; in scratch memory.
pub fn print(comptime format: []const u8, arguments: anytype) []const u8 {
    return std.fmt.allocPrint(scratch(), format, arguments) catch unreachable;
}

/// The first `len_max` bytes of a text, less if that would cut a character in two.
pub fn cut(text: []const u8, len_max: usize) []const u8 {
    var len = @min(text.len, len_max);
    while (len > 0 and len < text.len and text[len] & 0xC0 == 0x80) len -= 1;
    return text[0..len];
}

// ---- Commands -------------------------------------------------------------------------------

/// One command, written already.
pub const Command = struct {
    json: []const u8,

    /// The same command, but if it cannot be carried out the block gets an `error` event instead of
    /// the job ending. For every command but done and fail.
    pub fn orError(self: Command) Command {
        const open_object = self.json[0 .. self.json.len - 1];
        return .{ .json = print("{s},\"on_error\":\"event\"}}", .{open_object}) };
    }
};

pub const Role = enum { system, user, assistant };

pub const Message = struct { role: Role, content: []const u8 };

/// A request to the model: `prompt` or `messages`, and `max_tokens`. All else is optional.
pub const Infer = struct {
    /// One turn of a user.
    prompt: ?[]const u8 = null,
    /// A conversation, instead of `prompt`.
    messages: ?[]const Message = null,
    /// Send `prompt` as it is, without the chat template of the model.
    raw: ?bool = null,
    max_tokens: u32,
    temperature: ?f64 = null,
    top_p: ?f64 = null,
    top_k: ?u32 = null,
    min_p: ?f64 = null,
    repeat_penalty: ?f64 = null,
    seed: ?u32 = null,
    /// At most 16 texts of at most 256 bytes.
    stop: ?[]const []const u8 = null,
    /// The output has to fit it.
    json_schema: ?Value = null,
    /// The output has to fit it.
    grammar: ?[]const u8 = null,
    /// Handles. A host may refuse them as `unsupported`.
    images: ?[]const u32 = null,
};

pub const ImageOp = union(enum) {
    resize: struct { max_width: u32, max_height: u32 },
    crop: struct { x: u32, y: u32, width: u32, height: u32 },

    pub fn jsonStringify(self: ImageOp, writer: *json.Stringify) !void {
        try writer.beginObject();
        try writer.objectField("op");
        try writer.write(@tagName(self));
        switch (self) {
            inline else => |fields| try writeFields(writer, fields),
        }
        try writer.endObject();
    }
};

/// Generate text. Answered by infer_done.
pub fn infer(request: Infer) Command {
    return command("infer", request);
}

/// Generate several texts side by side. Answered by infer_many_done.
pub fn inferMany(requests: []const Infer) Command {
    return command("infer_many", .{ .requests = requests });
}

/// Open a file. Answered by opened.
pub fn open(path: []const u8) Command {
    return command("open", .{ .path = path });
}

/// Read at most `len` bytes of text from byte `offset` on. Answered by sliced.
pub fn slice(handle: u32, offset: u64, len: u64) Command {
    return command("slice", .{ .handle = handle, .offset = offset, .len = len });
}

/// The same, with U+FFFD for every invalid part instead of an error. Answered by sliced.
pub fn sliceLossy(handle: u32, offset: u64, len: u64) Command {
    return command("slice", .{ .handle = handle, .offset = offset, .len = len, .invalid = "replace" });
}

/// Read at most `len` bytes of any kind. Answered by sliced_bytes.
pub fn sliceBytes(handle: u32, offset: u64, len: u64) Command {
    return command("slice_bytes", .{ .handle = handle, .offset = offset, .len = len });
}

/// Give a handle back. Answered by closed.
pub fn close(handle: u32) Command {
    return command("close", .{ .handle = handle });
}

/// List a folder, from its first entry on or from the one after `after`. Answered by listed.
pub fn list(path: []const u8, after: ?[]const u8) Command {
    return command("list", .{ .path = path, .after = after });
}

/// Count the tokens of a text. Answered by tokens_counted.
pub fn countTokens(text: []const u8) Command {
    return command("count_tokens", .{ .text = text });
}

/// Count the tokens of a conversation, template included. Answered by tokens_counted.
pub fn countMessageTokens(messages: []const Message) Command {
    return command("count_tokens", .{ .messages = messages });
}

/// Read the text of a document. Answered by page_texted. A host may refuse it as `unsupported`.
pub fn documentText(handle: u32) Command {
    return command("document_text", .{ .handle = handle });
}

/// Read the text of a page, counted from 0. Answered by page_texted. A host may refuse it as `unsupported`.
pub fn pageText(handle: u32, page: u32) Command {
    return command("page_text", .{ .handle = handle, .page = page });
}

/// The same, where a page without text is no error. Answered by page_text_attempted. A host may refuse it as `unsupported`.
pub fn pageTextOpt(handle: u32, page: u32) Command {
    return command("page_text_opt", .{ .handle = handle, .page = page });
}

/// Draw a page, counted from 0. Answered by page_imaged. A host may refuse it as `unsupported`.
pub fn pageImage(handle: u32, page: u32) Command {
    return command("page_image", .{ .handle = handle, .page = page });
}

/// Change an image into another. Answered by page_imaged. A host may refuse it as `unsupported`.
pub fn imageOp(handle: u32, op: ImageOp) Command {
    return command("image_op", .{ .handle = handle, .op = op });
}

/// Make a vector of each text. Answered by embedded. A host may refuse it as `unsupported`.
pub fn embed(texts: []const []const u8) Command {
    return command("embed", .{ .texts = texts });
}

/// Fetch a URL. Answered by opened. A host may refuse it as `unsupported`.
pub fn fetch(url: []const u8) Command {
    return command("fetch", .{ .url = url });
}

/// Tell whoever watches the job. Answered by emitted.
pub fn emit(progress: anytype) Command {
    return .{ .json = print("{{\"cmd\":\"emit\",\"progress\":{s}}}", .{stringify(progress)}) };
}

/// End the job with a result.
pub fn done(result: anytype) Command {
    return .{ .json = print("{{\"cmd\":\"done\",\"result\":{s}}}", .{stringify(result)}) };
}

/// End the job as failed.
pub fn fail(code: []const u8, message: []const u8) Command {
    return command("fail", .{ .code = code, .message = message });
}

/// Any command as a value, for one that this module has no function for.
pub fn commandOf(value: Value) Command {
    return .{ .json = stringify(value) };
}

fn command(name: []const u8, fields: anytype) Command {
    var out: std.Io.Writer.Allocating = .init(scratch());
    // Optional fields that are null are left out: the contract reads both alike.
    var writer: json.Stringify = .{ .writer = &out.writer, .options = .{ .emit_null_optional_fields = false } };
    writeCommand(&writer, name, fields) catch unreachable;
    return .{ .json = out.written() };
}

fn writeCommand(writer: *json.Stringify, name: []const u8, fields: anytype) !void {
    try writer.beginObject();
    try writer.objectField("cmd");
    try writer.write(name);
    try writeFields(writer, fields);
    try writer.endObject();
}

fn writeFields(writer: *json.Stringify, fields: anytype) !void {
    inline for (comptime std.meta.fieldNames(@TypeOf(fields))) |name| {
        const value = @field(fields, name);
        if (@typeInfo(@TypeOf(value)) != .optional or !isNull(value)) {
            try writer.objectField(name);
            try writer.write(value);
        }
    }
}

fn isNull(value: anytype) bool {
    return if (@typeInfo(@TypeOf(value)) == .optional) value == null else false;
}

// ---- Events ---------------------------------------------------------------------------------

/// The answer to a command.
pub const Event = union(enum) {
    infer_done: InferDone,
    /// One result for each request, in their order.
    infer_many_done: struct { results: []const InferResult },
    opened: Opened,
    sliced: struct { text: []const u8, next_offset: u64 },
    sliced_bytes: struct { bytes_base64: []const u8, next_offset: u64 },
    closed: struct {},
    /// Go on after `after`; null at the end.
    listed: struct { entries: []const Entry, after: ?[]const u8 = null },
    /// `context` tokens are what prompt and answer may have together.
    tokens_counted: struct { tokens: u32, context: u32 },
    page_texted: struct { text: []const u8 },
    page_text_attempted: struct { text: ?[]const u8 = null, @"error": ?[]const u8 = null },
    page_imaged: struct { handle: u32, len: u64 },
    embedded: struct { vectors: []const []const f32 },
    emitted: struct {},
    /// A command with orError could not be carried out.
    @"error": Failure,
    /// Not one of these, or without a field that it must have.
    unknown: Value,
};

/// A generated text. Fields that the first hosts do not send have their defaults.
pub const InferDone = struct {
    text: []const u8,
    tokens_out: u32,
    finish: Finish = .unknown,
    tokens_in: u32 = 0,
    /// Of `tokens_in`: not evaluated again.
    tokens_cached: u32 = 0,
    seed: u32 = 0,
};

/// Why a generation ended.
pub const Finish = enum {
    /// Also from a host that does not say.
    unknown,
    /// The model had finished.
    eos,
    /// `max_tokens` were generated.
    length,
    /// A stop string was reached.
    stop,
    /// `onToken` said stop.
    guest,

    pub fn jsonParseFromValue(_: std.mem.Allocator, source: Value, _: json.ParseOptions) !Finish {
        return if (source == .string) std.meta.stringToEnum(Finish, source.string) orelse .unknown else .unknown;
    }
};

/// What became of one request of infer_many.
pub const InferResult = union(enum) {
    done: InferDone,
    failed: Failure,

    pub fn jsonParseFromValue(gpa: std.mem.Allocator, source: Value, options: json.ParseOptions) !InferResult {
        if (source != .object) return error.UnexpectedToken;
        if (source.object.get("error")) |failure| {
            return .{ .failed = try json.innerParseFromValue(Failure, gpa, failure, options) };
        }
        return .{ .done = try json.innerParseFromValue(InferDone, gpa, source, options) };
    }
};

/// Why a command could not be carried out.
pub const Failure = struct { code: []const u8, message: []const u8 };

/// An open file, of `len` bytes.
pub const Opened = struct { handle: u32, len: u64, kind: FileKind = .unknown };

/// What a file seems to hold.
pub const FileKind = union(enum) {
    unknown,
    text,
    binary,
    /// `format` is png, jpeg, gif or webp.
    image: struct { format: []const u8 = "" },
    document: struct { pages: u32 = 0, has_text_layer: bool = false },

    pub fn jsonParseFromValue(gpa: std.mem.Allocator, source: Value, options: json.ParseOptions) !FileKind {
        const name = textIn(source, "kind");
        inline for (@typeInfo(FileKind).@"union".field_names, @typeInfo(FileKind).@"union".field_types) |field, T| {
            if (std.mem.eql(u8, name, field)) {
                if (T == void) return @unionInit(FileKind, field, {});
                return @unionInit(FileKind, field, try json.innerParseFromValue(T, gpa, source, options));
            }
        }
        return .unknown;
    }
};

/// A file, or a folder, in a folder. `kind` is file or dir; `len` is in bytes.
pub const Entry = struct { name: []const u8, kind: []const u8, len: u64 = 0 };

/// Read an event; in scratch memory.
pub fn readEvent(text: []const u8) Event {
    const value = json.parseFromSliceLeaky(Value, scratch(), text, parse_options) catch return .{ .unknown = .null };
    const name = textIn(value, "event");
    inline for (@typeInfo(Event).@"union".field_names, @typeInfo(Event).@"union".field_types) |field, T| {
        if (T != Value and std.mem.eql(u8, name, field)) {
            const fields = json.parseFromValueLeaky(T, scratch(), value, parse_options) catch return .{ .unknown = value };
            return @unionInit(Event, field, fields);
        }
    }
    return .{ .unknown = value };
}

/// The text in a field of an object; empty if there is none.
pub fn textIn(value: Value, key: []const u8) []const u8 {
    if (value != .object) return "";
    const found = value.object.get(key) orelse return "";
    return if (found == .string) found.string else "";
}

// ---- Exports --------------------------------------------------------------------------------

pub const Verdict = enum(u32) { go_on = 0, stop = 1 };

/// The types of input and result, as in `.{ .input = "{path: text}", .output = "text" }`.
pub const Signature = struct { input: []const u8, output: []const u8 };

const Descriptor = extern struct { ptr: [*]const u8, len: usize };

var descriptor: Descriptor = undefined;
var inbox: []u8 = &.{};
/// The words of a panic, kept for the host: it ends in a trap, which has none.
var panic_message: ?[]const u8 = null;

/// Exports the block that a file is.
pub fn exportBlock(comptime B: type) void {
    const Block = struct {
        const Input = @typeInfo(@TypeOf(B.start)).@"fn".param_types[0].?;

        fn init(ptr: [*]const u8, len: usize) callconv(.c) *const Descriptor {
            forgetScratch();
            const input = parse(Input, ptr[0..len]) catch |failure| {
                return answer(fail("invalid_input", print("the input of the job: {s}", .{@errorName(failure)})));
            };
            return answer(B.start(input));
        }

        fn step(ptr: [*]const u8, len: usize) callconv(.c) *const Descriptor {
            forgetScratch();
            return answer(B.step(readEvent(ptr[0..len])));
        }

        fn onToken(ptr: [*]const u8, len: usize) callconv(.c) u32 {
            forgetScratch();
            return @backingInt(@as(Verdict, B.onToken(ptr[0..len])));
        }

        fn signature() callconv(.c) *const Descriptor {
            const types: Signature = B.signature;
            const text = "{\"input\":\"" ++ types.input ++ "\",\"output\":\"" ++ types.output ++ "\"}";
            const described: *const Descriptor = comptime &.{ .ptr = text, .len = text.len };
            return described;
        }
    };
    @export(&Block.init, .{ .name = "cf_init" });
    @export(&Block.step, .{ .name = "cf_step" });
    @export(&bufferFor, .{ .name = "cf_alloc" });
    @export(&abiVersion, .{ .name = "cf_abi_version" });
    @export(&lastPanic, .{ .name = "cf_panic" });
    if (@hasDecl(B, "onToken")) @export(&Block.onToken, .{ .name = "cf_on_token" });
    if (@hasDecl(B, "signature")) @export(&Block.signature, .{ .name = "cf_signature" });
}

/// One buffer serves all calls. A larger one, of twice the size at least, replaces it, and the old one is
/// given to nobody else: a host may go on using it for short payloads.
pub fn bufferFor(len: usize) callconv(.c) [*]u8 {
    if (inbox.len == 0 or len > inbox.len) {
        inbox = allocator.alloc(u8, @max(len, 1024, 2 * inbox.len)) catch unreachable;
    }
    return inbox.ptr;
}

fn abiVersion() callconv(.c) u32 {
    return abi_version;
}

fn lastPanic() callconv(.c) ?*const Descriptor {
    const message = panic_message orelse return null;
    return answer(fail("panic", message));
}

/// `returned` is a command, or an error or a command.
fn answer(returned: anytype) *const Descriptor {
    const chosen: Command = if (@typeInfo(@TypeOf(returned)) == .error_union)
        returned catch |failure| fail("error", @errorName(failure))
    else
        returned;
    descriptor = .{ .ptr = chosen.json.ptr, .len = chosen.json.len };
    return &descriptor;
}

fn forgetScratch() void {
    _ = scratch_arena.reset(.retain_capacity);
}

/// Put `pub const panic = cuttlebone.panic;` into the root file, and a panic ends the job with its message.
pub const panic = std.debug.FullPanic(keepMessage);

fn keepMessage(message: []const u8, _: ?usize) noreturn {
    panic_message = message;
    @trap();
}
