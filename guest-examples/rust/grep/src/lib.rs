//! grep: the lines of a file of any size that have a text in them, with lines around. No model.
//!
//! input  {"path": text, "pattern": text, "context"?: number, "ignore_case"?: bool, "matches_max"?: number,
//!         "window"?: number}
//! result {"matches": [{"line", "text", "before", "after"}], "lines": number, "complete": bool}
//!
//! The file is read window by window. What is kept of it is the lines around matches and the line that
//! a window has cut; a line of more than LINE_BYTES_MAX is taken for several.

use std::collections::VecDeque;

use cuttlebone::{export, Block, Command, Event, json};
use serde::{Deserialize, Serialize};

const CONTEXT_MAX: usize = 5;
const MATCHES_MAX: usize = 100;
const LINE_BYTES_MAX: usize = 65_536;
/// Bytes of a line that the result shows.
const SHOWN_BYTES_MAX: usize = 240;
const PROGRESS_EVENTS: u64 = 10;

#[derive(Deserialize)]
struct Input {
    path: String,
    pattern: String,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default = "matches_max")]
    matches_max: usize,
    #[serde(default = "window")]
    window: u64,
}

fn matches_max() -> usize {
    MATCHES_MAX
}

fn window() -> u64 {
    65_536
}

#[derive(Serialize)]
struct Match {
    line: u64,
    text: String,
    before: Vec<String>,
    after: Vec<String>,
}

#[derive(Default)]
struct Grep {
    pattern: String,
    context: usize,
    ignore_case: bool,
    matches_max: usize,
    window: u64,
    path: String,
    handle: u32,
    len: u64,
    offset: u64,
    told: u64,
    /// The beginning of a line whose end has not been read yet.
    cut: String,
    lines: u64,
    before: VecDeque<String>,
    matches: Vec<Match>,
}

impl Grep {
    fn next(&mut self) -> Command {
        if self.offset < self.len && !self.full() {
            return Command::slice_lossy(self.handle, self.offset, self.window).or_error();
        }
        if !self.cut.is_empty() && !self.full() {
            let line = std::mem::take(&mut self.cut);
            self.take_line(&line);
        }
        Command::close(self.handle)
    }

    /// Whether all matches that are wanted have been found, and the lines after the last of them.
    fn full(&self) -> bool {
        self.matches.len() == self.matches_max
            && self.matches.last().map_or(true, |last| last.after.len() == self.context)
    }

    fn take_window(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            self.cut.push_str(piece);
            if piece.ends_with('\n') || self.cut.len() > LINE_BYTES_MAX {
                let line = std::mem::take(&mut self.cut);
                self.take_line(line.trim_end_matches(|end| end == '\n' || end == '\r'));
            }
        }
    }

    fn take_line(&mut self, line: &str) {
        if self.full() {
            return;
        }
        self.lines += 1;
        let (shown, context) = (shown(line), self.context);
        for found in self.matches.iter_mut().rev().take(context) {
            if found.after.len() < context && found.line + context as u64 >= self.lines {
                found.after.push(shown.clone());
            }
        }
        if self.matches.len() < self.matches_max && self.is_match(line) {
            self.matches.push(Match {
                line: self.lines,
                text: shown.clone(),
                before: self.before.iter().cloned().collect(),
                after: Vec::new(),
            });
        }
        self.before.push_back(shown);
        while self.before.len() > context {
            self.before.pop_front();
        }
    }

    fn is_match(&self, line: &str) -> bool {
        if self.ignore_case {
            return line.to_ascii_lowercase().contains(&self.pattern);
        }
        line.contains(&self.pattern)
    }

    /// Tell watchers, but only so often: a huge file has more windows than a job may emit.
    fn told(&mut self) -> Option<Command> {
        let step = self.len / PROGRESS_EVENTS;
        if self.offset < self.told + step || self.offset == self.len {
            return None;
        }
        self.told = self.offset;
        Some(Command::emit(json!({
            "offset": self.offset, "len": self.len, "matches": self.matches.len(),
        })))
    }

    fn finish(&mut self) -> Command {
        let complete = self.offset == self.len && self.matches.len() < self.matches_max;
        Command::done(json!({
            "matches": self.matches, "lines": self.lines, "complete": complete,
        }))
    }
}

fn shown(line: &str) -> String {
    let mut end = line.len().min(SHOWN_BYTES_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line[..end].to_owned()
}

impl Block for Grep {
    type Input = Input;

    fn start(&mut self, input: Input) -> Command {
        if input.pattern.is_empty() {
            return Command::fail("invalid_input", "$.pattern: give the text to look for");
        }
        self.ignore_case = input.ignore_case;
        self.pattern = input.pattern;
        if self.ignore_case {
            self.pattern.make_ascii_lowercase();
        }
        self.context = input.context.min(CONTEXT_MAX);
        self.matches_max = input.matches_max.clamp(1, MATCHES_MAX);
        self.window = input.window.clamp(4, 1 << 20);
        self.path = input.path;
        Command::open(&self.path).or_error()
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened(file) => {
                self.handle = file.handle;
                self.len = file.len;
                self.next()
            }
            Event::Sliced(window) => {
                self.take_window(&window.text);
                self.offset = window.next_offset;
                self.told().unwrap_or_else(|| self.next())
            }
            Event::Emitted => self.next(),
            Event::Closed => self.finish(),
            Event::Error(error) => {
                let message = format!("cannot search {}: {}", self.path, error.message);
                Command::fail(&error.code, message)
            }
            _ => Command::fail("unexpected_event", "the host sent an event that grep does not know"),
        }
    }
}

export!(
    Grep,
    input = "{path: text, pattern: text}",
    output = "{matches: [{line: number, text: text, before: [text], after: [text]}], lines: number, complete: bool}"
);
