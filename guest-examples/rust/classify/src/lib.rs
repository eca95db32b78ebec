//! classify: labels text files, one after the other, and goes on past those that it cannot read.
//!
//! input    {"paths": [text], "labels": [text]}
//! result   {"files": [{"path", "label"} or {"path", "error": {"code", "message"}}], "failed": number}
//! progress {"done": number, "of": number} and the fields of the file, for each file

use cuttlebone::{export, json, Block, Command, Event, FileKind, Infer, Message, Value};
use serde::Deserialize;

/// What the model reads of each file.
const EXCERPT_BYTES: u64 = 1500;
const ANSWER_TOKENS_MAX: u32 = 16;

#[derive(Deserialize, Default)]
struct Input {
    paths: Vec<String>,
    labels: Vec<String>,
}

#[derive(Default)]
struct Classify {
    input: Input,
    files: Vec<Value>,
    failed: usize,
    open: Option<u32>,
}

impl Classify {
    /// Open the next file, or end.
    fn next(&mut self) -> Command {
        match self.input.paths.get(self.files.len()) {
            Some(path) => Command::open(path).or_error(),
            None => Command::done(json!({"files": self.files, "failed": self.failed})),
        }
    }

    fn ask(&self, text: &str) -> Command {
        let instruction = format!(
            "Which label fits the text best? Answer with one of these, and nothing else: {}.",
            self.input.labels.join(", ")
        );
        let messages = vec![Message::system(instruction), Message::user(text)];
        Command::infer(&Infer::messages(messages, ANSWER_TOKENS_MAX)).or_error()
    }

    /// The label that stands first in an answer; the longest, where one begins like another.
    fn label_in(&self, answer: &str) -> Option<&String> {
        let answer = answer.to_lowercase();
        let places = self.input.labels.iter().filter_map(|label| {
            let at = answer.find(&label.to_lowercase())?;
            Some((at, std::cmp::Reverse(label.len()), label))
        });
        places.min().map(|(_, _, label)| label)
    }

    fn labelled(&mut self, answer: &str) -> Command {
        match self.label_in(answer) {
            Some(label) => {
                let label = label.clone();
                self.settle(json!({ "label": label }))
            }
            None => self.failed("no_label", &format!("the answer has no label: {}", answer.trim())),
        }
    }

    fn failed(&mut self, code: &str, message: &str) -> Command {
        self.failed += 1;
        self.settle(json!({"error": {"code": code, "message": message}}))
    }

    /// Write down how the file ended, and tell watchers.
    fn settle(&mut self, mut file: Value) -> Command {
        file["path"] = json!(self.input.paths[self.files.len()]);
        self.files.push(file.clone());
        file["done"] = json!(self.files.len());
        file["of"] = json!(self.input.paths.len());
        Command::emit(file)
    }
}

impl Block for Classify {
    type Input = Input;

    fn start(&mut self, input: Input) -> Command {
        if input.labels.len() < 2 || input.labels.iter().any(String::is_empty) {
            return Command::fail("invalid_input", "$.labels: give two labels or more");
        }
        self.input = input;
        self.next()
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened(file) => {
                self.open = Some(file.handle);
                if file.kind != FileKind::Text {
                    return self.failed("not_text", "it is not a text file");
                }
                Command::slice(file.handle, 0, EXCERPT_BYTES).or_error()
            }
            Event::Sliced(window) if window.text.trim().is_empty() => {
                self.failed("empty", "there is nothing in it")
            }
            Event::Sliced(window) => self.ask(&window.text),
            Event::InferDone(done) => self.labelled(&done.text),
            Event::Error(error) => self.failed(&error.code, &error.message),
            Event::Emitted => match self.open.take() {
                Some(handle) => Command::close(handle),
                None => self.next(),
            },
            Event::Closed => self.next(),
            _ => Command::fail("unexpected_event", "the host sent an event that classify does not know"),
        }
    }
}

export!(
    Classify,
    input = "{paths: [text], labels: [text]}",
    output = "{files: [{path: text}], failed: number}"
);
