//! mirror: shows what the Zig SDK understood. It builds each command it is given from the command's
//! fields, copies values, asks for buffers as a host does, panics, and tells every event field by field.

const std = @import("std");
const cf = @import("cuttlebone");

pub const panic = cf.panic;

const Input = struct {
    command: ?cf.Value = null,
    copy: ?cf.Value = null,
    sizes: ?[]const usize = null,
    panic: ?[]const u8 = null,
    waste: bool = false,
};

/// The fields of all commands.
const Fields = struct {
    cmd: []const u8,
    on_error: ?[]const u8 = null,
    path: []const u8 = "",
    after: ?[]const u8 = null,
    handle: u32 = 0,
    offset: u64 = 0,
    len: u64 = 0,
    invalid: ?[]const u8 = null,
    page: u32 = 0,
    op: ?Op = null,
    url: []const u8 = "",
    text: []const u8 = "",
    texts: []const []const u8 = &.{},
    messages: ?[]const cf.Message = null,
    requests: []const cf.Infer = &.{},
    progress: cf.Value = .null,
    result: cf.Value = .null,
    code: []const u8 = "",
    message: []const u8 = "",
};

const Op = struct {
    op: []const u8,
    max_width: u32 = 0,
    max_height: u32 = 0,
    x: u32 = 0,
    y: u32 = 0,
    width: u32 = 0,
    height: u32 = 0,

    fn op_of(self: Op) cf.ImageOp {
        if (is(self.op, "crop")) {
            return .{ .crop = .{ .x = self.x, .y = self.y, .width = self.width, .height = self.height } };
        }
        return .{ .resize = .{ .max_width = self.max_width, .max_height = self.max_height } };
    }
};

fn is(text: []const u8, other: []const u8) bool {
    return std.mem.eql(u8, text, other);
}

fn sameCommand(value: cf.Value) !cf.Command {
    const json = cf.stringify(value);
    const fields = try cf.parse(Fields, json);
    const command = try commandLike(fields, json) orelse return cf.commandOf(value);
    return if (fields.on_error == null) command else command.orError();
}

fn commandLike(fields: Fields, json: []const u8) !?cf.Command {
    const cmd = fields.cmd;
    if (is(cmd, "infer")) return cf.infer(try cf.parse(cf.Infer, json));
    if (is(cmd, "infer_many")) return cf.inferMany(fields.requests);
    if (is(cmd, "open")) return cf.open(fields.path);
    if (is(cmd, "slice") and fields.invalid != null) {
        return cf.sliceLossy(fields.handle, fields.offset, fields.len);
    }
    if (is(cmd, "slice")) return cf.slice(fields.handle, fields.offset, fields.len);
    if (is(cmd, "slice_bytes")) return cf.sliceBytes(fields.handle, fields.offset, fields.len);
    if (is(cmd, "close")) return cf.close(fields.handle);
    if (is(cmd, "list")) return cf.list(fields.path, fields.after);
    if (is(cmd, "count_tokens")) {
        if (fields.messages) |messages| return cf.countMessageTokens(messages);
        return cf.countTokens(fields.text);
    }
    if (is(cmd, "document_text")) return cf.documentText(fields.handle);
    if (is(cmd, "page_text")) return cf.pageText(fields.handle, fields.page);
    if (is(cmd, "page_text_opt")) return cf.pageTextOpt(fields.handle, fields.page);
    if (is(cmd, "page_image")) return cf.pageImage(fields.handle, fields.page);
    if (is(cmd, "image_op")) return cf.imageOp(fields.handle, fields.op.?.op_of());
    if (is(cmd, "embed")) return cf.embed(fields.texts);
    if (is(cmd, "fetch")) return cf.fetch(fields.url);
    if (is(cmd, "emit")) return cf.emit(fields.progress);
    if (is(cmd, "done")) return cf.done(fields.result);
    if (is(cmd, "fail")) return cf.fail(fields.code, fields.message);
    return null;
}

const Nothing = struct {};

fn told(event: cf.Event) cf.Command {
    switch (event) {
        .unknown => return cf.emit(Nothing{}),
        .opened => |file| return tellOpened(file),
        .infer_done => |one| return cf.emit(Named("infer_done", ToldInfer).of(.of(one))),
        .infer_many_done => |all| {
            const results = cf.scratch().alloc(ToldResult, all.results.len) catch unreachable;
            for (results, all.results) |*to, from| to.* = .{ .result = from };
            return cf.emit(.{ .event = "infer_many_done", .results = results });
        },
        inline else => |fields, tag| return cf.emit(Named(@tagName(tag), @TypeOf(fields)).of(fields)),
    }
}

/// Fields under the name of their event.
fn Named(comptime name: []const u8, comptime T: type) type {
    return struct {
        fields: T,

        fn of(fields: T) @This() {
            return .{ .fields = fields };
        }

        pub fn jsonStringify(self: @This(), writer: *std.json.Stringify) !void {
            try writer.beginObject();
            try writer.objectField("event");
            try writer.write(name);
            inline for (comptime std.meta.fieldNames(T)) |field| {
                try writer.objectField(field);
                try writer.write(@field(self.fields, field));
            }
            try writer.endObject();
        }
    };
}

const ToldInfer = struct {
    text: []const u8,
    tokens_out: u32,
    finish: []const u8,
    tokens_in: u32,
    tokens_cached: u32,
    seed: u32,

    fn of(one: cf.InferDone) ToldInfer {
        return .{
            .text = one.text,
            .tokens_out = one.tokens_out,
            .finish = if (one.finish == .unknown) "" else @tagName(one.finish),
            .tokens_in = one.tokens_in,
            .tokens_cached = one.tokens_cached,
            .seed = one.seed,
        };
    }
};

const ToldResult = struct {
    result: cf.InferResult,

    pub fn jsonStringify(self: ToldResult, writer: *std.json.Stringify) !void {
        switch (self.result) {
            .done => |one| try writer.write(ToldInfer.of(one)),
            .failed => |failure| try writer.write(.{ .@"error" = failure }),
        }
    }
};

fn tellOpened(file: cf.Opened) cf.Command {
    const handle, const len = .{ file.handle, file.len };
    switch (file.kind) {
        .unknown => return cf.emit(.{ .event = "opened", .handle = handle, .len = len, .kind = Nothing{} }),
        .text, .binary => {
            const kind = .{ .kind = @tagName(file.kind) };
            return cf.emit(.{ .event = "opened", .handle = handle, .len = len, .kind = kind });
        },
        .image => |image| {
            const kind = .{ .kind = "image", .format = image.format };
            return cf.emit(.{ .event = "opened", .handle = handle, .len = len, .kind = kind });
        },
        .document => |document| {
            const kind = .{ .kind = "document", .pages = document.pages, .has_text_layer = document.has_text_layer };
            return cf.emit(.{ .event = "opened", .handle = handle, .len = len, .kind = kind });
        },
    }
}

pub fn start(input: Input) !cf.Command {
    if (input.command) |command| return sameCommand(command);
    if (input.sizes) |sizes| {
        const addresses = try cf.scratch().alloc(usize, sizes.len);
        for (addresses, sizes) |*address, size| address.* = @intFromPtr(cf.bufferFor(size));
        return cf.emit(addresses);
    }
    if (input.panic) |message| @panic(message);
    while (input.waste) @memset(try cf.allocator.alloc(u8, 1 << 20), 1);
    return cf.emit(input.copy);
}

pub fn step(event: cf.Event) cf.Command {
    return told(event);
}

pub fn onToken(piece: []const u8) cf.Verdict {
    if (is(piece, "panic")) @panic("in onToken");
    return if (is(piece, "stop")) .stop else .go_on;
}

comptime {
    cf.exportBlock(@This());
}
