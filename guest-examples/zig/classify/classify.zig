//! classify: labels text files, one after the other, and goes on past those that it cannot read.

const std = @import("std");
const cf = @import("cuttlebone");

pub const panic = cf.panic;
pub const signature: cf.Signature = .{
    .input = "{paths: [text], labels: [text]}",
    .output = "{files: [{path: text}], failed: number}",
};

/// What the model reads of each file.
const excerpt_bytes = 1500;
const answer_tokens_max = 16;

const Input = struct { paths: []const []const u8, labels: []const []const u8 };
const Failure = struct { code: []const u8, message: []const u8 };

/// A file that has been dealt with: it has a label or an error.
const File = struct {
    path: []const u8,
    label: ?[]const u8 = null,
    @"error": ?Failure = null,

    pub fn jsonStringify(self: File, writer: *std.json.Stringify) !void {
        try writer.beginObject();
        try self.writeFields(writer);
        try writer.endObject();
    }

    fn writeFields(self: File, writer: *std.json.Stringify) !void {
        try writer.objectField("path");
        try writer.write(self.path);
        if (self.label) |label| {
            try writer.objectField("label");
            try writer.write(label);
        }
        if (self.@"error") |failure| {
            try writer.objectField("error");
            try writer.write(failure);
        }
    }
};

/// What watchers are told of a file.
const Progress = struct {
    file: File,
    done: usize,
    of: usize,

    pub fn jsonStringify(self: Progress, writer: *std.json.Stringify) !void {
        try writer.beginObject();
        try self.file.writeFields(writer);
        try writer.objectField("done");
        try writer.write(self.done);
        try writer.objectField("of");
        try writer.write(self.of);
        try writer.endObject();
    }
};

var wanted: Input = undefined;
var files: std.ArrayList(File) = .empty;
var failures: usize = 0;
var open_handle: ?u32 = null;

pub fn start(input: Input) !cf.Command {
    if (input.labels.len < 2) return cf.fail("invalid_input", "$.labels: give two labels or more");
    for (input.labels) |label| {
        if (label.len == 0) return cf.fail("invalid_input", "$.labels: a label has at least one character");
    }
    wanted = .{ .paths = try keepAll(input.paths), .labels = try keepAll(input.labels) };
    return next();
}

pub fn step(event: cf.Event) !cf.Command {
    switch (event) {
        .opened => |file| {
            open_handle = file.handle;
            if (file.kind != .text) return failed("not_text", "it is not a text file");
            return cf.slice(file.handle, 0, excerpt_bytes).orError();
        },
        .sliced => |window| {
            const blank = std.mem.trim(u8, window.text, &std.ascii.whitespace).len == 0;
            return if (blank) failed("empty", "there is nothing in it") else ask(window.text);
        },
        .infer_done => |answer| return labelled(answer.text),
        .@"error" => |failure| return failed(failure.code, failure.message),
        .emitted => {
            const handle = open_handle orelse return next();
            open_handle = null;
            return cf.close(handle);
        },
        .closed => return next(),
        else => return cf.fail("unexpected_event", "the host sent an event that classify does not know"),
    }
}

/// Open the next file, or end.
fn next() cf.Command {
    if (files.items.len < wanted.paths.len) return cf.open(wanted.paths[files.items.len]).orError();
    return cf.done(.{ .files = files.items, .failed = failures });
}

fn ask(text: []const u8) !cf.Command {
    const labels = try std.mem.join(cf.scratch(), ", ", wanted.labels);
    const instruction = cf.print(
        "Which label fits the text best? Answer with one of these, and nothing else: {s}.",
        .{labels},
    );
    return cf.infer(.{
        .messages = &.{ .{ .role = .system, .content = instruction }, .{ .role = .user, .content = text } },
        .max_tokens = answer_tokens_max,
    }).orError();
}

fn labelled(answer: []const u8) !cf.Command {
    if (labelIn(answer)) |label| return settle(.{ .path = wanted.paths[files.items.len], .label = label });
    const said = std.mem.trim(u8, answer, &std.ascii.whitespace);
    return failed("no_label", cf.print("the answer has no label: {s}", .{said}));
}

/// The label that stands first in an answer; the longest, where one begins like another.
fn labelIn(answer: []const u8) ?[]const u8 {
    var best: ?[]const u8 = null;
    var best_at: usize = answer.len;
    for (wanted.labels) |label| {
        const at = std.ascii.findIgnoreCase(answer, label) orelse continue;
        if (at < best_at or at == best_at and label.len > best.?.len) {
            best = label;
            best_at = at;
        }
    }
    return best;
}

fn failed(code: []const u8, message: []const u8) !cf.Command {
    failures += 1;
    const failure: Failure = .{ .code = try keep(code), .message = try keep(message) };
    return settle(.{ .path = wanted.paths[files.items.len], .@"error" = failure });
}

/// Write down how the file ended, and tell watchers.
fn settle(file: File) !cf.Command {
    try files.append(cf.allocator, file);
    return cf.emit(Progress{ .file = file, .done = files.items.len, .of = wanted.paths.len });
}

/// A copy that outlives the running function.
fn keep(text: []const u8) ![]const u8 {
    return cf.allocator.dupe(u8, text);
}

fn keepAll(texts: []const []const u8) ![]const []const u8 {
    const kept = try cf.allocator.alloc([]const u8, texts.len);
    for (kept, texts) |*to, from| to.* = try keep(from);
    return kept;
}

comptime {
    cf.exportBlock(@This());
}
