//! mirror: shows what the Rust SDK understood. It builds each command it is given from the command's
//! fields, copies values, asks for buffers as a host does, panics, and tells every event field by field.

use cuttlebone::serde::Deserialize;
use cuttlebone::serde_json::{self, json};
use cuttlebone::{
    export, Block, Command, Event, FileKind, Finish, ImageOp, Infer, InferDone, Message, RawValue,
    Value, Verdict,
};

#[derive(Deserialize)]
#[serde(crate = "cuttlebone::serde")]
struct Input {
    command: Option<Box<RawValue>>,
    copy: Option<Value>,
    sizes: Option<Vec<usize>>,
    panic: Option<String>,
    #[serde(default)]
    waste: bool,
}

/// The fields of all commands.
#[derive(Deserialize, Default)]
#[serde(crate = "cuttlebone::serde", default)]
struct Fields {
    cmd: String,
    on_error: Option<String>,
    path: String,
    after: Option<String>,
    handle: u32,
    offset: u64,
    len: u64,
    invalid: Option<String>,
    page: u32,
    op: Value,
    url: String,
    text: String,
    texts: Vec<String>,
    messages: Option<Vec<Message>>,
    requests: Vec<Infer>,
    progress: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    code: String,
    message: String,
}

fn same_command(json: &RawValue) -> Command {
    let fields: Fields = match serde_json::from_str(json.get()) {
        Ok(fields) => fields,
        Err(error) => return Command::fail("not_read", error.to_string()),
    };
    let command = match fields.cmd.as_str() {
        "infer" => match serde_json::from_str(json.get()) {
            Ok(request) => Command::infer(&request),
            Err(error) => return Command::fail("not_read", error.to_string()),
        },
        "infer_many" => Command::infer_many(&fields.requests),
        "open" => Command::open(&fields.path),
        "slice" if fields.invalid.is_some() => {
            Command::slice_lossy(fields.handle, fields.offset, fields.len)
        }
        "slice" => Command::slice(fields.handle, fields.offset, fields.len),
        "slice_bytes" => Command::slice_bytes(fields.handle, fields.offset, fields.len),
        "close" => Command::close(fields.handle),
        "list" => match &fields.after {
            Some(after) => Command::list_after(&fields.path, after),
            None => Command::list(&fields.path),
        },
        "count_tokens" => match &fields.messages {
            Some(messages) => Command::count_message_tokens(messages),
            None => Command::count_tokens(&fields.text),
        },
        "document_text" => Command::document_text(fields.handle),
        "page_text" => Command::page_text(fields.handle, fields.page),
        "page_text_opt" => Command::page_text_opt(fields.handle, fields.page),
        "page_image" => Command::page_image(fields.handle, fields.page),
        "image_op" => Command::image_op(fields.handle, image_op(&fields.op)),
        "embed" => {
            let texts: Vec<&str> = fields.texts.iter().map(String::as_str).collect();
            Command::embed(&texts)
        }
        "fetch" => Command::fetch(&fields.url),
        "emit" => Command::emit(&fields.progress),
        "done" => Command::done(&fields.result),
        "fail" => Command::fail(&fields.code, &fields.message),
        _ => return Command::raw(json),
    };
    match fields.on_error {
        Some(_) => command.or_error(),
        None => command,
    }
}

fn image_op(op: &Value) -> ImageOp {
    let number = |key: &str| op[key].as_u64().unwrap_or_default() as u32;
    match op["op"].as_str() {
        Some("crop") => ImageOp::Crop {
            x: number("x"),
            y: number("y"),
            width: number("width"),
            height: number("height"),
        },
        _ => ImageOp::Resize { max_width: number("max_width"), max_height: number("max_height") },
    }
}

fn told_infer(done: &InferDone) -> Value {
    let finish = match done.finish {
        Finish::Eos => "eos",
        Finish::Length => "length",
        Finish::Stop => "stop",
        Finish::Guest => "guest",
        _ => "",
    };
    json!({
        "text": done.text, "tokens_out": done.tokens_out, "finish": finish,
        "tokens_in": done.tokens_in, "tokens_cached": done.tokens_cached, "seed": done.seed,
    })
}

fn told_kind(kind: &FileKind) -> Value {
    match kind {
        FileKind::Text => json!({"kind": "text"}),
        FileKind::Binary => json!({"kind": "binary"}),
        FileKind::Image { format } => json!({"kind": "image", "format": format}),
        FileKind::Document { pages, has_text_layer } => {
            json!({"kind": "document", "pages": pages, "has_text_layer": has_text_layer})
        }
        _ => json!({}),
    }
}

fn told(event: Event) -> Value {
    match event {
        Event::InferDone(done) => {
            let mut value = told_infer(&done);
            value["event"] = json!("infer_done");
            value
        }
        Event::InferManyDone(results) => {
            let results: Vec<Value> = results
                .iter()
                .map(|result| match result {
                    Ok(done) => told_infer(done),
                    Err(error) => json!({"error": {"code": error.code, "message": error.message}}),
                })
                .collect();
            json!({"event": "infer_many_done", "results": results})
        }
        Event::Opened(file) => json!({
            "event": "opened", "handle": file.handle, "len": file.len, "kind": told_kind(&file.kind),
        }),
        Event::Sliced(window) => {
            json!({"event": "sliced", "text": window.text, "next_offset": window.next_offset})
        }
        Event::SlicedBytes(window) => json!({
            "event": "sliced_bytes", "bytes_base64": window.bytes_base64,
            "next_offset": window.next_offset,
        }),
        Event::Closed => json!({"event": "closed"}),
        Event::Emitted => json!({"event": "emitted"}),
        Event::Listed(list) => {
            let entries: Vec<Value> = list
                .entries
                .iter()
                .map(|entry| json!({"name": entry.name, "kind": entry.kind, "len": entry.len}))
                .collect();
            json!({"event": "listed", "entries": entries, "after": list.after})
        }
        Event::TokensCounted(count) => json!({
            "event": "tokens_counted", "tokens": count.tokens, "context": count.context,
        }),
        Event::PageTexted { text } => json!({"event": "page_texted", "text": text}),
        Event::PageTextAttempted { text, error } => {
            json!({"event": "page_text_attempted", "text": text, "error": error})
        }
        Event::PageImaged { handle, len } => {
            json!({"event": "page_imaged", "handle": handle, "len": len})
        }
        Event::Embedded { vectors } => json!({"event": "embedded", "vectors": vectors}),
        Event::Error(error) => {
            json!({"event": "error", "code": error.code, "message": error.message})
        }
        _ => json!({}),
    }
}

#[derive(Default)]
struct Mirror {
    wasted: Vec<Vec<u8>>,
}

impl Block for Mirror {
    type Input = Input;

    fn start(&mut self, input: Input) -> Command {
        if let Some(command) = input.command {
            return same_command(&command);
        }
        if let Some(sizes) = input.sizes {
            let addresses: Vec<usize> = sizes.iter().map(|&size| cf_alloc(size) as usize).collect();
            return Command::emit(addresses);
        }
        if let Some(message) = input.panic {
            panic!("{message}");
        }
        while input.waste {
            self.wasted.push(vec![1; 1 << 20]);
        }
        Command::emit(input.copy)
    }

    fn step(&mut self, event: Event) -> Command {
        Command::emit(told(event))
    }

    fn on_token(&mut self, piece: &str) -> Verdict {
        match piece {
            "panic" => panic!("in on_token"),
            "stop" => Verdict::Stop,
            _ => Verdict::Continue,
        }
    }
}

export!(Mirror, on_token);
