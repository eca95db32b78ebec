//! summarize: a summary of a text file of any size.
//!
//! Map: the file is read window by window, and the model says the key point of each in a sentence, several windows
//! at a time. Reduce: as many sentences as fit into one window are merged into one, level after level, until all
//! that are left fit together; these become the summary.

use std::collections::VecDeque;

use cuttlebone::{export, json, Block, Command, Event, Failure, FileKind, Infer, Message, Opened};
use serde::Deserialize;

const WINDOW_BYTES_MIN: u64 = 256;
const WINDOW_BYTES_MAX: u64 = 65_536;
const SENTENCE_BYTES_MIN: usize = 20;
/// Windows that the model is asked about side by side.
const BATCH: usize = 8;

struct Question {
    instruction: &'static str,
    tokens_max: u32,
    sentences: usize,
}

const NOTE: Question = Question {
    instruction: "Extract the key point of the text in one very short sentence.",
    tokens_max: 60,
    sentences: 1,
};
const SUMMARY: Question = Question {
    instruction: "Write a concise, objective summary of the text in up to three sentences.",
    tokens_max: 120,
    sentences: 3,
};

#[derive(Deserialize)]
struct Input {
    path: String,
    #[serde(default = "window_bytes")]
    window: u64,
}

fn window_bytes() -> u64 {
    1400
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Phase {
    #[default]
    Reading,
    Merging,
    Concluding,
}

#[derive(Default)]
struct Summarize {
    path: String,
    window_bytes: u64,
    handle: u32,
    len: u64,
    offset: u64,
    windows: u64,
    phase: Phase,
    level: u32,
    /// What is to be asked about next: windows, or sentences to merge.
    texts: VecDeque<String>,
    /// The sentences of this level, and those of the next.
    notes: Vec<String>,
    merged: Vec<String>,
    /// What the model was asked and has not answered, and what it has.
    requests: VecDeque<Infer>,
    answers: Vec<String>,
    /// The host does not offer infer_many.
    one_by_one: bool,
}

// Text.

fn abbreviates(text: &[u8], at: usize) -> bool {
    let start = text[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
    at > start && at - start <= 3 && text[start].is_ascii_uppercase()
}

fn ends_sentence(text: &[u8], at: usize) -> bool {
    match text[at] {
        b'\n' => true,
        b'.' if abbreviates(text, at) => false,
        b'.' | b'!' | b'?' => text.get(at + 1).map_or(true, u8::is_ascii_whitespace),
        _ => false,
    }
}

/// The whole sentences of an answer, at most `count`; all of it if it has not even one.
fn whole_sentences(answer: &str, count: usize) -> &str {
    let text = answer.trim();
    let (mut start, mut end, mut found) = (0, 0, 0);
    for at in 0..text.len() {
        if found < count && at - start >= SENTENCE_BYTES_MIN && ends_sentence(text.as_bytes(), at) {
            (start, end, found) = (at + 1, at + 1, found + 1);
        }
    }
    if found == 0 { text } else { text[..end].trim() }
}

/// Where to end a window so that no word is cut: after the last line or sentence of its last quarter, else after
/// its last word, else where it ends anyway.
fn good_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let last_quarter = bytes.len() - bytes.len() / 4..bytes.len();
    let whole = |&at: &usize| bytes[at] == b'\n' || (at + 1 < bytes.len() && ends_sentence(bytes, at));
    let word = |&at: &usize| bytes[at].is_ascii_whitespace();
    let found = last_quarter.clone().rev().find(whole).or_else(|| last_quarter.rev().find(word));
    found.map_or(bytes.len(), |at| at + 1)
}

/// As many sentences as fit into a window, but at least two, so that levels shrink.
fn grouped(notes: &[String], window_bytes: u64) -> VecDeque<String> {
    let mut groups: VecDeque<(usize, String)> = VecDeque::new();
    for note in notes {
        match groups.back_mut() {
            Some((lines, group)) if *lines < 2 || (group.len() + 1 + note.len()) as u64 <= window_bytes => {
                *lines += 1;
                group.push('\n');
                group.push_str(note);
            }
            _ => groups.push_back((1, note.clone())),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Summarize {
    // Map.

    fn read_next(&mut self) -> Command {
        let rest = self.len - self.offset;
        if rest > 0 && self.texts.len() < BATCH {
            // Windows of equal size: a last one of a few words would make the model talk nonsense.
            let count = (rest + self.window_bytes - 1) / self.window_bytes;
            return Command::slice(self.handle, self.offset, (rest + count - 1) / count).or_error();
        }
        if self.texts.is_empty() {
            return Command::close(self.handle);
        }
        Command::emit(json!({"windows": self.windows, "offset": self.offset, "file_len": self.len}))
    }

    fn take_window(&mut self, text: &str, next_offset: u64) -> Command {
        let end = if next_offset < self.len { good_end(text) } else { text.len() };
        if end == 0 {
            return Command::fail("no_progress", "the host returned an empty window");
        }
        self.windows += 1;
        self.offset += end as u64;
        let window = text[..end].trim();
        if !window.is_empty() {
            self.texts.push_back(window.to_owned());
        }
        self.read_next()
    }

    // The model.

    fn question(&self) -> &'static Question {
        if self.phase == Phase::Concluding { &SUMMARY } else { &NOTE }
    }

    /// Ask about the next texts, side by side where the host can.
    fn ask(&mut self) -> Command {
        let Question { instruction, tokens_max, .. } = *self.question();
        let count = self.texts.len().min(BATCH);
        let request = |text| Infer::messages(vec![Message::system(instruction), Message::user(text)], tokens_max);
        self.requests = self.texts.drain(..count).map(request).collect();
        self.answers.clear();
        self.send()
    }

    fn send(&mut self) -> Command {
        if self.one_by_one {
            return Command::infer(&self.requests[0]).or_error();
        }
        Command::infer_many(self.requests.make_contiguous()).or_error()
    }

    fn take_answer(&mut self, answer: String) -> Option<Command> {
        self.answers.push(answer);
        self.requests.pop_front();
        if self.requests.is_empty() { None } else { Some(self.send()) }
    }

    fn take_answers(&mut self) -> Command {
        let count = self.question().sentences;
        let notes = self.answers.iter().map(|answer| whole_sentences(answer, count));
        let mut notes: Vec<String> = notes.filter(|note| !note.is_empty()).map(str::to_owned).collect();
        match self.phase {
            Phase::Concluding => self.finish(notes.pop().unwrap_or_default()),
            Phase::Reading => {
                self.notes.extend(notes.iter().map(|note| note.replace('\n', " ")));
                self.read_next()
            }
            Phase::Merging => {
                self.merged.extend(notes.iter().map(|note| note.replace('\n', " ")));
                self.merge_next()
            }
        }
    }

    // Reduce.

    fn begin_level(&mut self) -> Command {
        if self.notes.len() <= 1 {
            let summary = self.notes.pop().unwrap_or_default();
            return self.finish(summary);
        }
        self.phase = Phase::Merging;
        self.level += 1;
        self.merged.clear();
        self.texts = grouped(&self.notes, self.window_bytes);
        Command::emit(json!({"merge": self.level, "sentences": self.notes.len()}))
    }

    fn merge(&mut self) -> Command {
        if self.texts.len() > 1 {
            return self.merge_next();
        }
        self.phase = Phase::Concluding;
        self.ask()
    }

    fn merge_next(&mut self) -> Command {
        match self.texts.len() {
            0 => self.end_level(),
            // The last sentence of its level, with nothing to merge it with.
            1 if !self.texts[0].contains('\n') => {
                self.merged.extend(self.texts.pop_front());
                self.end_level()
            }
            _ => self.ask(),
        }
    }

    fn end_level(&mut self) -> Command {
        self.notes = std::mem::take(&mut self.merged);
        self.begin_level()
    }

    fn finish(&self, summary: String) -> Command {
        Command::done(json!({"summary": summary, "windows": self.windows, "bytes": self.len}))
    }

    // The block.

    fn take_file(&mut self, file: &Opened) -> Command {
        if file.kind != FileKind::Text {
            return self.fail("not_text", "it is not a text file; give the path of one in UTF-8");
        }
        self.handle = file.handle;
        self.len = file.len;
        self.read_next()
    }

    fn take_error(&mut self, error: &Failure) -> Command {
        if error.code == "unsupported" && !self.one_by_one && !self.requests.is_empty() {
            self.one_by_one = true;
            return self.send();
        }
        self.fail(&error.code, &error.message)
    }

    fn fail(&self, code: &str, reason: &str) -> Command {
        Command::fail(code, format!("cannot summarize {}: {reason}", self.path))
    }
}

impl Block for Summarize {
    type Input = Input;

    fn start(&mut self, input: Input) -> Command {
        if !(WINDOW_BYTES_MIN..=WINDOW_BYTES_MAX).contains(&input.window) {
            return Command::fail("invalid_input", "$.window: give a whole number from 256 to 65536");
        }
        self.path = input.path;
        self.window_bytes = input.window;
        Command::open(&self.path).or_error()
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened(file) => self.take_file(&file),
            Event::Sliced(window) => self.take_window(&window.text, window.next_offset),
            Event::Emitted if self.phase == Phase::Reading => self.ask(),
            Event::Emitted => self.merge(),
            Event::Closed => self.begin_level(),
            Event::InferDone(done) => self.take_answer(done.text).unwrap_or_else(|| self.take_answers()),
            Event::InferManyDone(results) => {
                for result in results {
                    match result {
                        Ok(done) => self.answers.push(done.text),
                        Err(error) => return self.fail(&error.code, &error.message),
                    }
                }
                self.requests.clear();
                self.take_answers()
            }
            Event::Error(error) => self.take_error(&error),
            _ => Command::fail("unexpected_event", "the host sent an event that summarize does not know"),
        }
    }
}

export!(Summarize, input = "{path: text}", output = "{summary: text, windows: number, bytes: number}");
