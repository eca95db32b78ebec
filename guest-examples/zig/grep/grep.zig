//! grep: the lines of a file of any size that have a text in them, with lines around. No model.
//!
//! The file is read window by window. What is kept of it is the lines around matches and the line that
//! a window has cut; a line of more than line_bytes_max is taken for several.

const std = @import("std");
const cf = @import("cuttlebone");

pub const panic = cf.panic;
pub const signature: cf.Signature = .{
    .input = "{path: text, pattern: text}",
    .output = "{matches: [{line: number, text: text, before: [text], after: [text]}], lines: number, complete: bool}",
};

const context_max = 5;
const matches_max = 100;
const line_bytes_max = 65536;
/// Bytes of a line that the result shows.
const shown_bytes_max = 240;
const progress_events = 10;

const Input = struct {
    path: []const u8,
    pattern: []const u8,
    context: usize = 0,
    ignore_case: bool = false,
    matches_max: usize = matches_max,
    window: u64 = 65536,
};

const Lines = std.ArrayList([]const u8);
const Match = struct { line: u64, text: []const u8, before: Lines = .empty, after: Lines = .empty };

var wanted: struct { path: []const u8, pattern: []const u8, context: usize, ignore_case: bool, matches: usize, window: u64 } = undefined;
var file: struct { handle: u32 = 0, len: u64 = 0, offset: u64 = 0, told: u64 = 0 } = .{};
/// The beginning of a line whose end has not been read yet.
var unfinished: std.ArrayList(u8) = .empty;
var lines: u64 = 0;
/// The last lines; they own their texts. Those of a match are its own.
var before: Lines = .empty;
var matches: std.ArrayList(Match) = .empty;

pub fn start(input: Input) !cf.Command {
    if (input.pattern.len == 0) return cf.fail("invalid_input", "$.pattern: give the text to look for");
    wanted = .{
        .path = keep(input.path),
        .pattern = keep(input.pattern),
        .context = @min(input.context, context_max),
        .ignore_case = input.ignore_case,
        .matches = std.math.clamp(input.matches_max, 1, matches_max),
        .window = std.math.clamp(input.window, 4, 1 << 20),
    };
    return cf.open(wanted.path).orError();
}

pub fn step(event: cf.Event) !cf.Command {
    switch (event) {
        .opened => |opened| {
            file.handle = opened.handle;
            file.len = opened.len;
            return next();
        },
        .sliced => |window| {
            try takeWindow(window.text);
            file.offset = window.next_offset;
            return tell() orelse next();
        },
        .emitted => return next(),
        .closed => return finish(),
        .@"error" => |failure| {
            return cf.fail(failure.code, cf.print("cannot search {s}: {s}", .{ wanted.path, failure.message }));
        },
        else => return cf.fail("unexpected_event", "the host sent an event that grep does not know"),
    }
}

fn next() !cf.Command {
    if (file.offset < file.len and !full()) {
        return cf.sliceLossy(file.handle, file.offset, wanted.window).orError();
    }
    if (unfinished.items.len > 0 and !full()) try takeLine(unfinished.items);
    return cf.close(file.handle);
}

/// Whether all matches that are wanted have been found, and the lines after the last of them.
fn full() bool {
    if (matches.items.len < wanted.matches) return false;
    return matches.items[matches.items.len - 1].after.items.len == wanted.context;
}

fn takeWindow(text: []const u8) !void {
    var rest = text;
    while (rest.len > 0) {
        const end = if (std.mem.indexOfScalar(u8, rest, '\n')) |at| at + 1 else rest.len;
        try unfinished.appendSlice(cf.allocator, rest[0..end]);
        rest = rest[end..];
        const whole = unfinished.items[unfinished.items.len - 1] == '\n';
        if (whole or unfinished.items.len > line_bytes_max) {
            try takeLine(std.mem.trimEnd(u8, unfinished.items, "\r\n"));
            unfinished.clearRetainingCapacity();
        }
    }
}

fn takeLine(line: []const u8) !void {
    if (full()) return;
    lines += 1;
    const shown = cf.cut(line, shown_bytes_max);
    const first = matches.items.len -| wanted.context;
    for (matches.items[first..]) |*found| {
        if (found.after.items.len < wanted.context and found.line + wanted.context >= lines) {
            try found.after.append(cf.allocator, keep(shown));
        }
    }
    if (matches.items.len < wanted.matches and isMatch(line)) {
        var found: Match = .{ .line = lines, .text = keep(shown) };
        for (before.items) |one| try found.before.append(cf.allocator, keep(one));
        try matches.append(cf.allocator, found);
    }
    try before.append(cf.allocator, keep(shown));
    if (before.items.len > wanted.context) cf.allocator.free(before.orderedRemove(0));
}

fn isMatch(line: []const u8) bool {
    if (wanted.ignore_case) return std.ascii.findIgnoreCase(line, wanted.pattern) != null;
    return std.mem.indexOf(u8, line, wanted.pattern) != null;
}

/// Tell watchers, but only so often: a huge file has more windows than a job may emit.
fn tell() ?cf.Command {
    if (file.offset < file.told + file.len / progress_events or file.offset == file.len) return null;
    file.told = file.offset;
    return cf.emit(.{ .offset = file.offset, .len = file.len, .matches = matches.items.len });
}

fn finish() !cf.Command {
    const Shown = struct { line: u64, text: []const u8, before: []const []const u8, after: []const []const u8 };
    const shown = try cf.scratch().alloc(Shown, matches.items.len);
    for (shown, matches.items) |*to, from| {
        to.* = .{ .line = from.line, .text = from.text, .before = from.before.items, .after = from.after.items };
    }
    const complete = file.offset == file.len and matches.items.len < wanted.matches;
    return cf.done(.{ .matches = shown, .lines = lines, .complete = complete });
}

/// A copy that outlives the running function.
fn keep(text: []const u8) []const u8 {
    return cf.allocator.dupe(u8, text) catch unreachable;
}

comptime {
    cf.exportBlock(@This());
}
