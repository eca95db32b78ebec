// What the host answers. `event.kind` says which class an event is:
//
//     case EventKind.Sliced: {
//       const window = event as Sliced;

import { Json, JsonType } from "./json";

export enum EventKind {
  /** Not one of these, or without a field that it must have. */
  Unknown,
  InferDone,
  InferManyDone,
  Opened,
  Sliced,
  SlicedBytes,
  Closed,
  Listed,
  TokensCounted,
  PageTexted,
  PageTextAttempted,
  PageImaged,
  Embedded,
  Emitted,
  /** A command with orError could not be carried out. */
  Failure,
}

export class Event {
  constructor(
    readonly kind: EventKind,
    /** The whole event. */
    readonly json: Json,
  ) {}
}

/** A generated text. Fields that the first hosts do not send are empty or 0. */
export class InferDone extends Event {
  text: string;
  tokensOut: u32;
  /** eos, length, stop, guest, or empty. */
  finish: string;
  tokensIn: u32;
  /** Of `tokensIn`: not evaluated again. */
  tokensCached: u32;
  seed: u32;

  constructor(json: Json) {
    super(EventKind.InferDone, json);
    this.text = json.get("text").asText();
    this.tokensOut = json.get("tokens_out").asU32();
    this.finish = json.get("finish").asText();
    this.tokensIn = json.get("tokens_in").asU32();
    this.tokensCached = json.get("tokens_cached").asU32();
    this.seed = json.get("seed").asU32();
  }
}

/** One result for each request, in their order: an InferDone, or a Failure. */
export class InferManyDone extends Event {
  results: Event[] = [];

  constructor(json: Json) {
    super(EventKind.InferManyDone, json);
    const results = json.get("results").items;
    for (let i = 0; i < results.length; i++) {
      const failure = results[i].get("error");
      if (failure.isNull) this.results.push(new InferDone(results[i]));
      else this.results.push(new Failure(failure));
    }
  }
}

/** An open file. */
export class Opened extends Event {
  handle: u32;
  /** In bytes. */
  len: u64;
  /** What the file seems to hold: text, image, document, binary, or empty. */
  fileKind: string;
  /** Of an image: png, jpeg, gif or webp. */
  format: string;
  /** Of a document. */
  pages: u32;
  /** Of a document. */
  hasTextLayer: bool;

  constructor(json: Json) {
    super(EventKind.Opened, json);
    const kind = json.get("kind");
    this.handle = json.get("handle").asU32();
    this.len = json.get("len").asU64();
    this.fileKind = kind.get("kind").asText();
    this.format = kind.get("format").asText();
    this.pages = kind.get("pages").asU32();
    this.hasTextLayer = kind.get("has_text_layer").asBool();
  }
}

/** A window of text, which ends at `nextOffset` in the file. */
export class Sliced extends Event {
  text: string;
  nextOffset: u64;

  constructor(json: Json) {
    super(EventKind.Sliced, json);
    this.text = json.get("text").asText();
    this.nextOffset = json.get("next_offset").asU64();
  }
}

/** A window of bytes, which ends at `nextOffset` in the file. */
export class SlicedBytes extends Event {
  bytesBase64: string;
  nextOffset: u64;

  constructor(json: Json) {
    super(EventKind.SlicedBytes, json);
    this.bytesBase64 = json.get("bytes_base64").asText();
    this.nextOffset = json.get("next_offset").asU64();
  }
}

/** A file or a folder in a folder. */
export class Entry {
  name: string;
  /** file or dir. */
  kind: string;
  /** In bytes. */
  len: u64;

  constructor(json: Json) {
    this.name = json.get("name").asText();
    this.kind = json.get("kind").asText();
    this.len = json.get("len").asU64();
  }
}

/** A part of a folder. Go on after `after`; null at the end. */
export class Listed extends Event {
  entries: Entry[] = [];
  after: string | null = null;

  constructor(json: Json) {
    super(EventKind.Listed, json);
    const entries = json.get("entries").items;
    for (let i = 0; i < entries.length; i++) this.entries.push(new Entry(entries[i]));
    const after = json.get("after");
    if (after.type == JsonType.Text) this.after = after.asText();
  }
}

/** How long a text is for the model, and how many tokens prompt and answer may have together. */
export class TokensCounted extends Event {
  tokens: u32;
  context: u32;

  constructor(json: Json) {
    super(EventKind.TokensCounted, json);
    this.tokens = json.get("tokens").asU32();
    this.context = json.get("context").asU32();
  }
}

export class PageTexted extends Event {
  text: string;

  constructor(json: Json) {
    super(EventKind.PageTexted, json);
    this.text = json.get("text").asText();
  }
}

export class PageTextAttempted extends Event {
  text: string | null = null;
  error: string | null = null;

  constructor(json: Json) {
    super(EventKind.PageTextAttempted, json);
    const text = json.get("text");
    if (text.type == JsonType.Text) this.text = text.asText();
    const error = json.get("error");
    if (error.type == JsonType.Text) this.error = error.asText();
  }
}

export class PageImaged extends Event {
  handle: u32;
  len: u64;

  constructor(json: Json) {
    super(EventKind.PageImaged, json);
    this.handle = json.get("handle").asU32();
    this.len = json.get("len").asU64();
  }
}

export class Embedded extends Event {
  vectors: Array<Array<f32>> = [];

  constructor(json: Json) {
    super(EventKind.Embedded, json);
    const vectors = json.get("vectors").items;
    for (let i = 0; i < vectors.length; i++) {
      const vector: Array<f32> = [];
      for (let j = 0; j < vectors[i].items.length; j++) {
        vector.push(<f32>vectors[i].items[j].asF64(0));
      }
      this.vectors.push(vector);
    }
  }
}

/** Why a command could not be carried out. */
export class Failure extends Event {
  code: string;
  message: string;

  constructor(json: Json) {
    super(EventKind.Failure, json);
    this.code = json.get("code").asText();
    this.message = json.get("message").asText();
  }
}

function isText(json: Json, key: string): bool {
  return json.get(key).type == JsonType.Text;
}

function isArray(json: Json, key: string): bool {
  return json.get(key).type == JsonType.Array;
}

function isU32(json: Json, key: string): bool {
  return json.get(key).isWhole(u32.MAX_VALUE);
}

function isU64(json: Json, key: string): bool {
  return json.get(key).isWhole(u64.MAX_VALUE);
}

export function readEvent(json: Json): Event {
  const name = json.get("event").asText();
  if (name == "closed") return new Event(EventKind.Closed, json);
  if (name == "emitted") return new Event(EventKind.Emitted, json);
  if (name == "sliced" && isText(json, "text") && isU64(json, "next_offset")) return new Sliced(json);
  if (name == "opened" && isU32(json, "handle") && isU64(json, "len")) return new Opened(json);
  if (name == "infer_done" && isText(json, "text") && isU32(json, "tokens_out")) return new InferDone(json);
  if (name == "infer_many_done" && isArray(json, "results")) return new InferManyDone(json);
  if (name == "error" && isText(json, "code") && isText(json, "message")) return new Failure(json);
  if (name == "listed" && isArray(json, "entries")) return new Listed(json);
  if (name == "tokens_counted" && isU32(json, "tokens") && isU32(json, "context")) return new TokensCounted(json);
  if (name == "sliced_bytes" && isText(json, "bytes_base64") && isU64(json, "next_offset")) return new SlicedBytes(json);
  if (name == "page_texted" && isText(json, "text")) return new PageTexted(json);
  if (name == "page_text_attempted") return new PageTextAttempted(json);
  if (name == "page_imaged" && isU32(json, "handle") && isU64(json, "len")) return new PageImaged(json);
  if (name == "embedded" && isArray(json, "vectors")) return new Embedded(json);
  return new Event(EventKind.Unknown, json);
}
