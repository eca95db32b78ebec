//! What a block may ask the host for.

use serde::Serialize;
use serde_json::{json, value::RawValue};

use crate::infer::{Infer, Message};

/// One command, written already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    json: Vec<u8>,
}

/// A change to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ImageOp {
    Resize { max_width: u32, max_height: u32 },
    Crop { x: u32, y: u32, width: u32, height: u32 },
}

/// Writes `{"cmd": name, …}` from fields given as in a struct expression.
macro_rules! command {
    ($name:literal $(, $key:ident: $kind:ty = $value:expr)*) => {{
        #[derive(Serialize)]
        struct Fields<'a> {
            cmd: &'static str,
            $($key: $kind,)*
            #[serde(skip)]
            _lifetime: core::marker::PhantomData<&'a ()>,
        }
        Command::written(&Fields { cmd: $name, $($key: $value,)* _lifetime: core::marker::PhantomData })
    }};
}

impl Command {
    /// Generate text. Answered by `InferDone`.
    pub fn infer(request: &Infer) -> Self {
        #[derive(Serialize)]
        struct Fields<'a> {
            cmd: &'static str,
            #[serde(flatten)]
            request: &'a Infer,
        }
        Self::written(&Fields { cmd: "infer", request })
    }

    /// Generate several texts side by side. Answered by `InferManyDone`.
    pub fn infer_many(requests: &[Infer]) -> Self {
        command!("infer_many", requests: &'a [Infer] = requests)
    }

    /// Open a file. Answered by `Opened`.
    pub fn open(path: &str) -> Self {
        command!("open", path: &'a str = path)
    }

    /// Read at most `len` bytes of text from byte `offset` on. Answered by `Sliced`.
    pub fn slice(handle: u32, offset: u64, len: u64) -> Self {
        command!("slice", handle: u32 = handle, offset: u64 = offset, len: u64 = len)
    }

    /// The same, with U+FFFD for every invalid part instead of an error. Answered by `Sliced`.
    pub fn slice_lossy(handle: u32, offset: u64, len: u64) -> Self {
        command!("slice", handle: u32 = handle, offset: u64 = offset, len: u64 = len,
                 invalid: &'a str = "replace")
    }

    /// Read at most `len` bytes of any kind. Answered by `SlicedBytes`.
    pub fn slice_bytes(handle: u32, offset: u64, len: u64) -> Self {
        command!("slice_bytes", handle: u32 = handle, offset: u64 = offset, len: u64 = len)
    }

    /// Give a handle back. Answered by `Closed`.
    pub fn close(handle: u32) -> Self {
        command!("close", handle: u32 = handle)
    }

    /// List a folder, from its first entry on. Answered by `Listed`.
    pub fn list(path: &str) -> Self {
        command!("list", path: &'a str = path)
    }

    /// List a folder, from the entry after `after` on. Answered by `Listed`.
    pub fn list_after(path: &str, after: &str) -> Self {
        command!("list", path: &'a str = path, after: &'a str = after)
    }

    /// Count the tokens of a text. Answered by `TokensCounted`.
    pub fn count_tokens(text: &str) -> Self {
        command!("count_tokens", text: &'a str = text)
    }

    /// Count the tokens of a conversation, template included. Answered by `TokensCounted`.
    pub fn count_message_tokens(messages: &[Message]) -> Self {
        command!("count_tokens", messages: &'a [Message] = messages)
    }

    /// Read the text of a document. Answered by `PageTexted`. A host may refuse it as `unsupported`.
    pub fn document_text(handle: u32) -> Self {
        command!("document_text", handle: u32 = handle)
    }

    /// Read the text of a page, counted from 0. Answered by `PageTexted`. A host may refuse it as `unsupported`.
    pub fn page_text(handle: u32, page: u32) -> Self {
        command!("page_text", handle: u32 = handle, page: u32 = page)
    }

    /// The same, where a page without text is no error. Answered by `PageTextAttempted`. A host may refuse it as `unsupported`.
    pub fn page_text_opt(handle: u32, page: u32) -> Self {
        command!("page_text_opt", handle: u32 = handle, page: u32 = page)
    }

    /// Draw a page, counted from 0. Answered by `PageImaged`. A host may refuse it as `unsupported`.
    pub fn page_image(handle: u32, page: u32) -> Self {
        command!("page_image", handle: u32 = handle, page: u32 = page)
    }

    /// Change an image into another. Answered by `PageImaged`. A host may refuse it as `unsupported`.
    pub fn image_op(handle: u32, op: ImageOp) -> Self {
        command!("image_op", handle: u32 = handle, op: ImageOp = op)
    }

    /// Make a vector of each text. Answered by `Embedded`. A host may refuse it as `unsupported`.
    pub fn embed(texts: &[&str]) -> Self {
        command!("embed", texts: &'a [&'a str] = texts)
    }

    /// Fetch a URL. Answered by `Opened`. A host may refuse it as `unsupported`.
    pub fn fetch(url: &str) -> Self {
        command!("fetch", url: &'a str = url)
    }

    /// Tell whoever watches the job. Answered by `Emitted`.
    pub fn emit(progress: impl Serialize) -> Self {
        Self::with_value("emit", "progress", &progress)
    }

    /// End the job with a result.
    pub fn done(result: impl Serialize) -> Self {
        Self::with_value("done", "result", &result)
    }

    /// End the job as failed.
    pub fn fail(code: &str, message: impl AsRef<str>) -> Self {
        command!("fail", code: &'a str = code, message: &'a str = message.as_ref())
    }

    /// Any command as JSON, for one that this crate has no function for.
    pub fn raw(json: &RawValue) -> Self {
        Command { json: json.get().as_bytes().to_vec() }
    }

    /// The same command, but if it cannot be carried out the block gets `Event::Error` instead of
    /// the job ending. For every command but `done` and `fail`.
    pub fn or_error(mut self) -> Self {
        self.json.pop(); // the closing brace
        self.json.extend_from_slice(br#","on_error":"event"}"#);
        self
    }

    /// The command as the host reads it.
    pub fn as_json(&self) -> &[u8] {
        &self.json
    }

    pub(crate) fn into_json(self) -> Vec<u8> {
        self.json
    }

    fn with_value(cmd: &str, key: &str, value: &dyn erased::Serialize) -> Self {
        // By hand: a flattened field would go through serde's own values, and lose big integers.
        let mut json = format!(r#"{{"cmd":"{cmd}","{key}":"#).into_bytes();
        match value.write(&mut json) {
            Ok(()) => json.push(b'}'),
            Err(error) => return Self::fail("invalid_json", error.to_string()),
        }
        Command { json }
    }

    fn written(fields: &impl Serialize) -> Self {
        match serde_json::to_vec(fields) {
            Ok(json) => Command { json },
            Err(error) => Command {
                json: json!({"cmd": "fail", "code": "invalid_json", "message": error.to_string()})
                    .to_string()
                    .into_bytes(),
            },
        }
    }
}

/// One copy of the code for all types of values: a block is small.
mod erased {
    pub trait Serialize {
        fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()>;
    }

    impl<T: serde::Serialize> Serialize for T {
        fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
            serde_json::to_writer(out, self)
        }
    }
}
