//! extract: named fields from a text document, or none at all.
//!
//! The model has to answer with a JSON object. It is held to that by json_schema, where the host offers it; the
//! block checks the answer in any case, asks once more with what is wrong, and then gives up.

use std::fmt;

use cuttlebone::serde_json::{self, Map};
use cuttlebone::{
    export, json, Block, Command, Event, Failure, FileKind, Infer, Message, Opened, RawValue, Value,
};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;

const DOCUMENT_BYTES: u64 = 6000;
const ANSWER_TOKENS_MAX: u32 = 400;

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Type {
    Text,
    Number,
    Bool,
}

impl Type {
    fn schema_name(self) -> &'static str {
        match self {
            Type::Text => "string",
            Type::Number => "number",
            Type::Bool => "boolean",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Type::Text => "a text or null",
            Type::Number => "a number or null",
            Type::Bool => "true, false or null",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Type::Text => value.is_string(),
            Type::Number => value.is_number(),
            Type::Bool => value.is_boolean(),
        }
    }
}

#[derive(Deserialize)]
struct Input {
    path: String,
    fields: Fields,
}

/// Name and type of each field, in the order in which they were asked for: models answer in that order.
#[derive(Default)]
struct Fields(Vec<(String, Type)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object of names and types")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[derive(Default)]
struct Extract {
    path: String,
    fields: Fields,
    len: u64,
    complete: bool,
    document: String,
    /// The wrong answer and what is wrong with it, once there is one.
    wrong: Option<(String, String)>,
    /// The host, or its model, does not offer one.
    without_schema: bool,
}

impl Extract {
    fn ask(&self) -> Command {
        let mut messages = vec![Message::system(self.instruction()), Message::user(&self.document)];
        if let Some((answer, faults)) = &self.wrong {
            messages.push(Message::assistant(answer));
            messages.push(Message::user(format!(
                "That is not right: {faults}. Answer again, with the JSON object alone."
            )));
        }
        let mut request = Infer::messages(messages, ANSWER_TOKENS_MAX);
        if !self.without_schema {
            request = request.with_json_schema(self.schema());
        }
        Command::infer(&request).or_error()
    }

    fn instruction(&self) -> String {
        let mut text = String::from(
            "Extract these fields from the text, and answer with one JSON object that has them and nothing else. \
             A field that the text does not have is null. The fields:",
        );
        for (name, kind) in &self.fields.0 {
            text += &format!("\n- {name}, {}", kind.words());
        }
        text
    }

    fn schema(&self) -> Box<RawValue> {
        let property = |(name, kind): &(String, Type)| {
            format!("{}:{}", json!(name), json!({"type": [kind.schema_name(), "null"]}))
        };
        let properties: Vec<String> = self.fields.0.iter().map(property).collect();
        let required: Vec<&String> = self.fields.0.iter().map(|(name, _)| name).collect();
        let text = format!(
            r#"{{"type":"object","properties":{{{}}},"required":{},"additionalProperties":false}}"#,
            properties.join(","),
            json!(required)
        );
        RawValue::from_string(text).expect("a schema made of JSON is JSON")
    }

    /// The fields of an answer, or what is wrong with it.
    fn checked(&self, answer: &str) -> Result<Map<String, Value>, String> {
        let start = answer.find('{').unwrap_or(0);
        let end = answer.rfind('}').map_or(0, |at| at + 1);
        let object: Map<String, Value> = answer
            .get(start..end)
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or("it is no JSON object")?;
        let (mut found, mut faults) = (Map::new(), Vec::new());
        for (name, kind) in &self.fields.0 {
            match object.get(name) {
                None => faults.push(format!("`{name}` is missing")),
                Some(value) if value.is_null() || kind.fits(value) => {
                    found.insert(name.clone(), value.clone());
                }
                Some(_) => faults.push(format!("`{name}` has to be {}", kind.words())),
            }
        }
        if faults.is_empty() { Ok(found) } else { Err(faults.join("; ")) }
    }

    fn take_answer(&mut self, answer: String) -> Command {
        match self.checked(&answer) {
            Ok(fields) => Command::done(json!({
                "fields": fields, "repaired": self.wrong.is_some(), "complete": self.complete,
            })),
            Err(faults) if self.wrong.is_some() => {
                Command::fail("not_extracted", format!("the answer of the model stays wrong: {faults}"))
            }
            Err(faults) => {
                self.wrong = Some((answer, faults));
                self.ask()
            }
        }
    }

    fn take_file(&mut self, file: &Opened) -> Command {
        if file.kind != FileKind::Text {
            return self.fail("not_text", "it is not a text file; give the path of one in UTF-8");
        }
        self.len = file.len;
        Command::slice(file.handle, 0, DOCUMENT_BYTES).or_error()
    }

    fn take_error(&mut self, error: &Failure) -> Command {
        let no_schema = matches!(error.code.as_str(), "unsupported" | "invalid_grammar");
        if !no_schema || self.without_schema {
            return self.fail(&error.code, &error.message);
        }
        self.without_schema = true;
        self.ask()
    }

    fn fail(&self, code: &str, reason: &str) -> Command {
        Command::fail(code, format!("cannot extract from {}: {reason}", self.path))
    }
}

impl Block for Extract {
    type Input = Input;

    fn start(&mut self, input: Input) -> Command {
        self.path = input.path;
        self.fields = input.fields;
        Command::open(&self.path).or_error()
    }

    fn step(&mut self, event: Event) -> Command {
        match event {
            Event::Opened(file) => self.take_file(&file),
            Event::Sliced(window) => {
                self.complete = window.next_offset == self.len;
                self.document = window.text;
                self.ask()
            }
            Event::InferDone(done) => self.take_answer(done.text),
            Event::Error(error) => self.take_error(&error),
            _ => Command::fail("unexpected_event", "the host sent an event that extract does not know"),
        }
    }
}

export!(
    Extract,
    input = "{path: text, fields: json}",
    output = "{fields: json, repaired: bool, complete: bool}"
);
