// What to generate.

import { Json } from "./json";

/** One turn of a conversation; `role` is system, user or assistant. */
export class Message {
  constructor(
    public role: string,
    public content: string,
  ) {}

  toJson(): Json {
    return Json.object().set("role", Json.text(this.role)).set("content", Json.text(this.content));
  }

  static all(messages: Message[]): Json {
    const array = Json.array();
    for (let i = 0; i < messages.length; i++) array.push(messages[i].toJson());
    return array;
  }
}

/**
 * A request to the model. `prompt` or `messages`, and `maxTokens`; all else is optional: left out as long as it is
 * null, NaN or -1.
 */
export class Infer {
  /** One turn of a user. */
  prompt: string | null = null;
  /** A conversation, instead of `prompt`. */
  messages: Message[] | null = null;
  /** Send `prompt` as it is, without the chat template of the model. */
  raw: bool = false;
  maxTokens: u32 = 0;
  temperature: f64 = NaN;
  topP: f64 = NaN;
  topK: i64 = -1;
  minP: f64 = NaN;
  repeatPenalty: f64 = NaN;
  seed: i64 = -1;
  /** At most 16 texts of at most 256 bytes. */
  stop: string[] | null = null;
  /** The output has to fit it. */
  jsonSchema: Json | null = null;
  /** The output has to fit it. */
  grammar: string | null = null;
  /** Handles. A host may refuse them as `unsupported`. */
  images: u32[] | null = null;

  /** Ask with one turn of a user. */
  static prompt(prompt: string, maxTokens: u32): Infer {
    const request = new Infer();
    request.prompt = prompt;
    request.maxTokens = maxTokens;
    return request;
  }

  /** Ask with a conversation. */
  static messages(messages: Message[], maxTokens: u32): Infer {
    const request = new Infer();
    request.messages = messages;
    request.maxTokens = maxTokens;
    return request;
  }

  /** Add the fields to an object; returns the object. */
  into(json: Json): Json {
    const prompt = this.prompt;
    if (prompt) json.set("prompt", Json.text(prompt));
    else if (prompt !== null) json.set("prompt", Json.text(""));
    const messages = this.messages;
    if (messages) json.set("messages", Message.all(messages));
    if (this.raw) json.set("raw", Json.bool(true));
    json.set("max_tokens", Json.u64(this.maxTokens));
    setF64(json, "temperature", this.temperature);
    setF64(json, "top_p", this.topP);
    if (this.topK >= 0) json.set("top_k", Json.i64(this.topK));
    setF64(json, "min_p", this.minP);
    setF64(json, "repeat_penalty", this.repeatPenalty);
    if (this.seed >= 0) json.set("seed", Json.i64(this.seed));
    const stop = this.stop;
    if (stop) json.set("stop", Json.texts(stop));
    const schema = this.jsonSchema;
    if (schema) json.set("json_schema", schema);
    const grammar = this.grammar;
    if (grammar) json.set("grammar", Json.text(grammar));
    const images = this.images;
    if (images) {
      const handles = Json.array();
      for (let i = 0; i < images.length; i++) handles.push(Json.u64(images[i]));
      json.set("images", handles);
    }
    return json;
  }
}

function setF64(json: Json, key: string, value: f64): void {
  if (!isNaN(value)) json.set(key, Json.f64(value));
}
