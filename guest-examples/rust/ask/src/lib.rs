//! ask: answers a question from the text files of a folder.
//!
//! The beginning of each file goes into one prompt. Whether that fits is asked of the model, which alone knows
//! what a token is, and excerpts become shorter until it does. One paragraph is enough of an answer.

use cuttlebone::{
    export, json, Block, Command, Event, Failure, FileKind, Infer, Listed, Message, Opened, TokensCounted, Verdict,
};
use serde::Deserialize;

const FILES_MAX: usize = 64;
const EXCERPT_BYTES_MAX: u64 = 2000;
const EXCERPT_BYTES_MIN: u64 = 16;
const ANSWER_TOKENS_MAX: u32 = 128;

#[derive(Deserialize, Default)]
struct Input {
    folder: String,
    question: String,
}

/// A file; without text it is skipped.
struct File {
    name: String,
    text: Option<String>,
}

struct Ask {
    input: Input,
    files: Vec<File>,
    now: usize,
    open: Option<u32>,
    excerpt_bytes: u64,
    /// What the running generation has said so far.
    said: String,
}

impl Default for Ask {
    fn default() -> Self {
        Ask {
            input: Input::default(),
            files: Vec::new(),
            now: 0,
            open: None,
            excerpt_bytes: EXCERPT_BYTES_MAX,
            said: String::new(),
        }
    }
}

impl Ask {
    /// Open the next file, or go on to the question.
    fn next_file(&mut self) -> Command {
        match self.files.get(self.now) {
            Some(file) => Command::open(&format!("{}/{}", self.input.folder, file.name)).or_error(),
            None => self.count_tokens(),
        }
    }

    fn take_entries(&mut self, list: Listed) -> Command {
        for entry in list.entries {
            if entry.kind != "file" {
                continue;
            }
            if self.files.len() == FILES_MAX {
                return self.fail("too_many_files", "it has more than 64 files; ask about a smaller one");
            }
            self.files.push(File { name: entry.name, text: None });
        }
        match list.after {
            Some(after) => Command::list_after(&self.input.folder, &after).or_error(),
            None => self.next_file(),
        }
    }

    fn take_file(&mut self, file: &Opened) -> Command {
        self.open = Some(file.handle);
        if file.kind != FileKind::Text {
            return self.file_done();
        }
        Command::slice(file.handle, 0, EXCERPT_BYTES_MAX).or_error()
    }

    fn file_done(&mut self) -> Command {
        self.now += 1;
        match self.open.take() {
            Some(handle) => Command::close(handle),
            None => self.next_file(),
        }
    }

    fn request(&self) -> Infer {
        let instruction = "Answer the question from the files alone, in one short paragraph. \
                           If they do not say, answer that they do not.";
        let mut prompt = String::new();
        for file in &self.files {
            if let Some(text) = &file.text {
                prompt += &format!("File {}:\n{}\n\n", file.name, cut(text, self.excerpt_bytes as usize));
            }
        }
        prompt += &format!("Question: {}", self.input.question);
        Infer::messages(vec![Message::system(instruction), Message::user(prompt)], ANSWER_TOKENS_MAX)
    }

    fn count_tokens(&self) -> Command {
        if self.files.iter().all(|file| file.text.is_none()) {
            return self.fail("nothing_to_read", "there is no text file with text in it");
        }
        Command::count_message_tokens(&self.request().messages.unwrap_or_default()).or_error()
    }

    /// Ask if the prompt fits, else shorten the excerpts by what it is too long, and a tenth.
    fn take_count(&mut self, count: TokensCounted) -> Command {
        let room = count.context.saturating_sub(ANSWER_TOKENS_MAX);
        if count.tokens <= room {
            return Command::infer(&self.request());
        }
        self.excerpt_bytes = self.excerpt_bytes * u64::from(room) / u64::from(count.tokens) * 9 / 10;
        if self.excerpt_bytes < EXCERPT_BYTES_MIN {
            return self.fail("context_overflow", "the context of the model is too small for its files");
        }
        self.count_tokens()
    }

    fn take_error(&mut self, error: &Failure) -> Command {
        if self.files.is_empty() {
            return self.fail(&error.code, &error.message); // it could not be listed
        }
        if self.now < self.files.len() {
            return self.file_done();
        }
        Command::infer(&self.request()) // this host cannot count: the model will say whether it fits
    }

    fn finish(&self, answer: &str) -> Command {
        let names = |skipped: bool| -> Vec<&str> {
            self.files.iter().filter(|file| file.text.is_none() == skipped).map(|file| file.name.as_str()).collect()
        };
        Command::done(json!({
            "answer": first_paragraph(answer.trim()), "sources": names(false), "skipped": names(true),
            "excerpt_bytes": self.excerpt_bytes,
        }))
    }

    fn fail(&self, code: &str, reason: &str) -> Command {
        Command::fail(code, format!("cannot ask about {}: {reason}", self.input.folder))
    }
}

/// The first `len_max` bytes, less if that would cut a character in two.
fn cut(text: &str, len_max: usize) -> &str {
    let mut end = text.len().min(len_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn first_paragraph(text: &str) -> &str {
    text.split("\n\n").next().unwrap_or_default()
}

impl Block for Ask {
    type Input = Input;

    fn start(&mut self, input: Input) -> Command {
        self.input = input;
        Command::list(&self.input.folder).or_error()
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Listed(list) => self.take_entries(list),
            Event::Opened(file) => self.take_file(&file),
            Event::Sliced(window) => {
                let text = window.text.trim();
                self.files[self.now].text = if text.is_empty() { None } else { Some(text.to_owned()) };
                self.file_done()
            }
            Event::Closed => self.next_file(),
            Event::TokensCounted(count) => self.take_count(count),
            Event::InferDone(done) => self.finish(&done.text),
            Event::Error(error) => self.take_error(&error),
            _ => Command::fail("unexpected_event", "the host sent an event that ask does not know"),
        }
    }

    fn on_token(&mut self, piece: &str) -> Verdict {
        self.said += piece;
        if self.said.trim_start().contains("\n\n") {
            return Verdict::Stop;
        }
        Verdict::Continue
    }
}

export!(
    Ask,
    input = "{folder: text, question: text}",
    output = "{answer: text, sources: [text], skipped: [text], excerpt_bytes: number}",
    on_token
);
