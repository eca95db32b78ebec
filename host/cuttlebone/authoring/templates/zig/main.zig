//! Reads the beginning of a text file and asks the model for a title.

const cf = @import("cuttlebone");

pub const panic = cf.panic;
pub const signature: cf.Signature = .{ .input = "{path: text}", .output = "{title: text}" };

const window_bytes = 2000;

const Input = struct { path: []const u8 };

/// The input of the job; the first command is to open the file.
pub fn start(input: Input) cf.Command {
    return cf.open(input.path);
}

/// The answer to the last command; returns the next one.
pub fn step(event: cf.Event) cf.Command {
    return switch (event) {
        .opened => |file| cf.slice(file.handle, 0, window_bytes),
        .sliced => |window| askForTitle(window.text),
        .infer_done => |answer| cf.done(.{ .title = answer.text }),
        else => cf.fail("unexpected_event", "this block asked for nothing of the kind"),
    };
}

fn askForTitle(text: []const u8) cf.Command {
    const prompt = cf.print("Write a title of at most five words for this text:\n\n{s}", .{text});
    return cf.infer(.{ .prompt = prompt, .max_tokens = 20 });
}

comptime {
    cf.exportBlock(@This());
}
