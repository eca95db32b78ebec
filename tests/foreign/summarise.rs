//! Reads a whole file by one slice and has it summed up, as blocks for this SDK usually do.

use cuttlefish_sdk::{export_block, Block, Command, Event};
use serde_json::{json, Value};

#[derive(Default)]
struct Summarise {
    max_tokens: u32,
    bytes: u64,
}

impl Block for Summarise {
    fn start(&mut self, input: Value) -> Command {
        self.max_tokens = input["max_tokens"].as_u64().unwrap_or(1 << 20) as u32;
        match input["path"].as_str() {
            Some(path) => Command::Open { path: path.into() },
            None => Command::Fail {
                code: "schema_validation_failed".into(),
                message: "input needs a text `path`".into(),
            },
        }
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened { handle, len, .. } => {
                self.bytes = len;
                Command::Slice { handle, offset: 0, len }
            }
            Event::Sliced { text, .. } => Command::Infer {
                prompt: format!("Sum up this text in one sentence.\n\n{text}"),
                max_tokens: self.max_tokens,
                images: vec![],
            },
            Event::InferDone { text, tokens_out } => Command::Done {
                result: json!({ "summary": text, "tokens_out": tokens_out, "bytes": self.bytes }),
            },
            other => Command::Fail {
                code: "unexpected_event".into(),
                message: format!("{other:?}"),
            },
        }
    }
}

export_block!(Summarise);
