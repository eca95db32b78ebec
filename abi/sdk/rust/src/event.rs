//! What the host answers.

use serde::Deserialize;
use serde_json::Value;

/// The answer to a command.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    InferDone(InferDone),
    /// One result for each request, in their order.
    InferManyDone(Vec<Result<InferDone, Failure>>),
    Opened(Opened),
    Sliced(Sliced),
    SlicedBytes(SlicedBytes),
    Closed,
    Listed(Listed),
    TokensCounted(TokensCounted),
    PageTexted { text: String },
    PageTextAttempted { text: Option<String>, error: Option<String> },
    PageImaged { handle: u32, len: u64 },
    Embedded { vectors: Vec<Vec<f32>> },
    Emitted,
    /// A command with `or_error` could not be carried out.
    Error(Failure),
    /// Not one of these, or without a field that it must have.
    Unknown(Value),
}

/// A generated text. Fields that the first hosts do not send have their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InferDone {
    pub text: String,
    pub tokens_out: u32,
    #[serde(default)]
    pub finish: Finish,
    #[serde(default)]
    pub tokens_in: u32,
    /// Of `tokens_in`: not evaluated again.
    #[serde(default)]
    pub tokens_cached: u32,
    #[serde(default)]
    pub seed: u32,
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// The model had finished.
    Eos,
    /// `max_tokens` were generated.
    Length,
    /// A stop string was reached.
    Stop,
    /// `on_token` said stop.
    Guest,
    /// Also from a host that does not say.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Why a command could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

/// An open file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Opened {
    pub handle: u32,
    /// In bytes.
    pub len: u64,
    #[serde(default)]
    pub kind: FileKind,
}

/// What a file seems to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileKind {
    Text,
    /// `format` is png, jpeg, gif or webp.
    Image {
        #[serde(default)]
        format: String,
    },
    Document {
        #[serde(default)]
        pages: u32,
        #[serde(default)]
        has_text_layer: bool,
    },
    Binary,
    #[default]
    #[serde(other)]
    Unknown,
}

/// A window of text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Sliced {
    pub text: String,
    /// Where the text ends in the file.
    pub next_offset: u64,
}

/// A window of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SlicedBytes {
    pub bytes_base64: String,
    pub next_offset: u64,
}

impl SlicedBytes {
    /// The bytes; `None` if a host sent something else than base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.bytes_base64.len() / 4 * 3);
        let (mut bits, mut count) = (0_u32, 0);
        for symbol in self.bytes_base64.trim_end_matches('=').bytes() {
            let value = match symbol {
                b'A'..=b'Z' => symbol - b'A',
                b'a'..=b'z' => symbol - b'a' + 26,
                b'0'..=b'9' => symbol - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push((bits >> count) as u8);
            }
        }
        Some(bytes)
    }
}

/// A part of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Listed {
    pub entries: Vec<ListEntry>,
    /// Where to go on; `None` at the end.
    #[serde(default)]
    pub after: Option<String>,
}

/// A file or a folder in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ListEntry {
    pub name: String,
    /// `file` or `dir`.
    pub kind: String,
    /// In bytes.
    #[serde(default)]
    pub len: u64,
}

/// How long a text is for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TokensCounted {
    pub tokens: u32,
    /// Tokens that prompt and answer may have together.
    pub context: u32,
}

#[derive(Deserialize)]
struct Handled {
    handle: u32,
    len: u64,
}

#[derive(Deserialize)]
struct Texted {
    text: String,
}

#[derive(Deserialize)]
struct TextAttempted {
    text: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Vectors {
    vectors: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<OneOfMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOfMany {
    Failed { error: Failure },
    Done(InferDone),
}

impl Event {
    /// Read an event. First as a value, in which the last of repeated keys counts.
    pub fn read(json: &[u8]) -> Self {
        let value: Value = match serde_json::from_slice(json) {
            Ok(value) => value,
            Err(_) => return Event::Unknown(Value::Null),
        };
        let name = value.get("event").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self::named(&name, &value).unwrap_or(Event::Unknown(value))
    }

    fn named(name: &str, value: &Value) -> Option<Self> {
        Some(match name {
            "closed" => Event::Closed,
            "emitted" => Event::Emitted,
            "sliced" => Event::Sliced(fields(value)?),
            "opened" => Event::Opened(fields(value)?),
            "infer_done" => Event::InferDone(fields(value)?),
            "infer_many_done" => Event::InferManyDone(
                fields::<Results>(value)?
                    .results
                    .into_iter()
                    .map(|one| match one {
                        OneOfMany::Done(done) => Ok(done),
                        OneOfMany::Failed { error } => Err(error),
                    })
                    .collect(),
            ),
            "error" => Event::Error(fields(value)?),
            "listed" => Event::Listed(fields(value)?),
            "tokens_counted" => Event::TokensCounted(fields(value)?),
            "sliced_bytes" => Event::SlicedBytes(fields(value)?),
            "page_texted" => Event::PageTexted { text: fields::<Texted>(value)?.text },
            "page_text_attempted" => {
                let TextAttempted { text, error } = fields(value)?;
                Event::PageTextAttempted { text, error }
            }
            "page_imaged" => {
                let Handled { handle, len } = fields(value)?;
                Event::PageImaged { handle, len }
            }
            "embedded" => Event::Embedded { vectors: fields::<Vectors>(value)?.vectors },
            _ => return None,
        })
    }
}

fn fields<'a, T: Deserialize<'a>>(value: &'a Value) -> Option<T> {
    T::deserialize(value).ok()
}
