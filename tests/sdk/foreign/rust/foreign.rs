//! foreign: a block as other SDKs build it. It has the exports that are required and no more, knows nothing but the
//! original commands and events, and never gives a byte back.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

#[derive(Serialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
enum Command {
    Infer { prompt: String, max_tokens: u32 },
    Open { path: String },
    Slice { handle: u32, offset: u64, len: u64 },
    Emit { progress: Value },
    Done { result: Value },
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    InferDone { text: String, tokens_out: u32 },
    Opened { handle: u32, len: u64, kind: Kind },
    Sliced { text: String, next_offset: u64 },
    Emitted,
}

#[derive(Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kind {
    Text,
    Image { format: String },
    Document { pages: u32, has_text_layer: bool },
    Binary,
}

#[derive(Default)]
struct Job {
    handle: u32,
    len: u64,
    windows: u32,
    first: String,
}

thread_local! {
    static JOB: RefCell<Job> = RefCell::default();
}

fn answer(command: &Command) -> *const [u32; 2] {
    let payload = Box::leak(serde_json::to_vec(command).unwrap().into_boxed_slice());
    Box::leak(Box::new([payload.as_ptr() as u32, payload.len() as u32]))
}

fn payload<'a>(ptr: *mut u8, len: usize) -> &'a [u8] {
    unsafe { std::slice::from_raw_parts(ptr, len) }
}

#[no_mangle]
pub extern "C" fn cf_alloc(len: usize) -> *mut u8 {
    Box::leak(vec![0; len].into_boxed_slice()).as_mut_ptr()
}

#[no_mangle]
pub extern "C" fn cf_init(ptr: *mut u8, len: usize) -> *const [u32; 2] {
    let input: Value = serde_json::from_slice(payload(ptr, len)).unwrap();
    answer(&Command::Open { path: input["path"].as_str().unwrap().to_owned() })
}

#[no_mangle]
pub extern "C" fn cf_step(ptr: *mut u8, len: usize) -> *const [u32; 2] {
    let event: Event = serde_json::from_slice(payload(ptr, len)).unwrap();
    JOB.with(|job| answer(&step(&mut job.borrow_mut(), event)))
}

fn step(job: &mut Job, event: Event) -> Command {
    match event {
        Event::Opened { handle, len, kind } => {
            assert!(kind == Kind::Text);
            (job.handle, job.len) = (handle, len);
            Command::Slice { handle, offset: 0, len: 4096 }
        }
        Event::Sliced { text, next_offset } => {
            job.windows += 1;
            if job.windows == 1 {
                job.first = text.chars().take(400).collect();
            }
            if next_offset < job.len {
                return Command::Slice { handle: job.handle, offset: next_offset, len: 4096 };
            }
            Command::Emit { progress: json!({ "windows": job.windows }) }
        }
        Event::Emitted => Command::Infer { prompt: job.first.clone(), max_tokens: 16 },
        Event::InferDone { text, tokens_out } => Command::Done {
            result: json!({
                "len": job.len, "windows": job.windows, "answer": text, "tokens_out": tokens_out,
            }),
        },
    }
}
