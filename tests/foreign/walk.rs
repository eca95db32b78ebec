//! Walks a file by windows, or takes it whole, tells how far it is, and looks at its first bytes.

use cuttlefish_sdk::{export_block, Block, Command, Event, Handle};
use serde_json::{json, Value};

#[derive(Default)]
struct Walk {
    window: Option<u64>,
    handle: Option<Handle>,
    len: u64,
    offset: u64,
    chars: usize,
    windows: u32,
}

impl Walk {
    fn next(&mut self) -> Command {
        let handle = self.handle.expect("a file is open");
        if self.offset < self.len {
            let len = self.window.unwrap_or(self.len);
            return Command::Slice { handle, offset: self.offset, len };
        }
        Command::SliceBytes { handle, offset: 0, len: 3 }
    }
}

impl Block for Walk {
    fn start(&mut self, input: Value) -> Command {
        self.window = input["window"].as_u64();
        Command::Open { path: input["path"].as_str().unwrap_or_default().into() }
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened { handle, len, .. } => {
                self.handle = Some(handle);
                self.len = len;
                self.next()
            }
            Event::Sliced { text, next_offset } => {
                self.chars += text.chars().count();
                self.offset = next_offset;
                self.windows += 1;
                Command::Emit { progress: json!({ "offset": self.offset }) }
            }
            Event::Emitted => self.next(),
            Event::SlicedBytes { bytes_base64, .. } => Command::Done {
                result: json!({ "chars": self.chars, "windows": self.windows, "head": bytes_base64 }),
            },
            other => Command::Fail {
                code: "unexpected_event".into(),
                message: format!("{other:?}"),
            },
        }
    }
}

export_block!(Walk);
