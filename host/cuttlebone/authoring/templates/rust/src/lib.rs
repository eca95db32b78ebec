//! Reads the beginning of a text file and asks the model for a title.

use cuttlebone::{export, json, Block, Command, Event, Infer};
use serde::Deserialize;

const WINDOW_BYTES: u64 = 2000;

#[derive(Deserialize)]
struct Input {
    path: String,
}

/// What has to be remembered between two steps stands in its fields.
#[derive(Default)]
struct Title;

impl Block for Title {
    type Input = Input;

    /// The input of the job; the first command is to open the file.
    fn start(&mut self, input: Input) -> Command {
        Command::open(&input.path)
    }

    /// The answer to the last command; returns the next one.
    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened(file) => Command::slice(file.handle, 0, WINDOW_BYTES),
            Event::Sliced(window) => ask_for_title(&window.text),
            Event::InferDone(answer) => Command::done(json!({ "title": answer.text })),
            _ => Command::fail("unexpected_event", "this block asked for nothing of the kind"),
        }
    }
}

fn ask_for_title(text: &str) -> Command {
    let prompt = format!("Write a title of at most five words for this text:\n\n{}", text);
    Command::infer(&Infer::prompt(prompt, 20))
}

export!(Title, input = "{path: text}", output = "{title: text}");
