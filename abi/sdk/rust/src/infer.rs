//! What to generate.

use serde::{Deserialize, Serialize};
use serde_json::value::{to_raw_value, RawValue};

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: String,
}

impl Message {
    pub fn system(content: impl Into<String>) -> Self {
        Message { role: Role::System, content: content.into() }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Message { role: Role::User, content: content.into() }
    }

    pub fn assistant(content: impl Into<String>) -> Self {
        Message { role: Role::Assistant, content: content.into() }
    }
}

/// A request to the model. `prompt` or `messages`, and `max_tokens`; all else is optional:
///
/// ```
/// use cuttlebone::Infer;
/// let request = Infer { temperature: Some(0.7), ..Infer::prompt("Say hello.", 20) };
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Infer {
    /// One turn of a user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A conversation, instead of `prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
    /// Send `prompt` as it is, without the chat template of the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    pub max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// At most 16 texts of at most 256 bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The output has to fit it. Raw, because models write fields in the order of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Box<RawValue>>,
    /// The output has to fit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
    /// Handles. A host may refuse them as `unsupported`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<u32>,
}

impl Infer {
    /// Ask with one turn of a user.
    pub fn prompt(prompt: impl Into<String>, max_tokens: u32) -> Self {
        Infer { prompt: Some(prompt.into()), max_tokens, ..Infer::default() }
    }

    /// Ask with a conversation.
    pub fn messages(messages: Vec<Message>, max_tokens: u32) -> Self {
        Infer { messages: Some(messages), max_tokens, ..Infer::default() }
    }

    /// Set the JSON Schema: a `RawValue` keeps the order of its keys, a `Value` sorts them.
    ///
    /// # Panics
    ///
    /// If `schema` cannot be written as JSON.
    pub fn with_json_schema(mut self, schema: impl Serialize) -> Self {
        self.json_schema = Some(to_raw_value(&schema).expect("a JSON Schema is JSON"));
        self
    }
}
