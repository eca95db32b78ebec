// mirror: shows what the AssemblyScript SDK understood. It builds each command it is given from the command's
// fields, copies values, asks for buffers as a host does, aborts, and tells every event field by field.

import {
  Block,
  Command,
  Embedded,
  Event,
  EventKind,
  Failure,
  Infer,
  InferDone,
  InferManyDone,
  Json,
  JsonType,
  Listed,
  Message,
  Opened,
  PageImaged,
  PageTextAttempted,
  PageTexted,
  Sliced,
  SlicedBytes,
  TokensCounted,
  register,
} from "cuttlebone/assembly";
import { cf_alloc as bufferFor } from "cuttlebone/assembly/exports";

export * from "cuttlebone/assembly/exports";
export * from "cuttlebone/assembly/listener";

function textsIn(json: Json): string[] {
  const texts: string[] = [];
  for (let i = 0; i < json.items.length; i++) texts.push(json.items[i].asText());
  return texts;
}

function messagesIn(json: Json): Message[] {
  const messages: Message[] = [];
  for (let i = 0; i < json.items.length; i++) {
    messages.push(new Message(json.items[i].get("role").asText(), json.items[i].get("content").asText()));
  }
  return messages;
}

function optional(json: Json): i64 {
  return json.type == JsonType.Number ? <i64>json.asU32() : -1;
}

function inferLike(json: Json): Infer {
  const request = new Infer();
  if (json.get("prompt").type == JsonType.Text) request.prompt = json.get("prompt").asText();
  if (json.get("messages").type == JsonType.Array) request.messages = messagesIn(json.get("messages"));
  request.raw = json.get("raw").asBool();
  request.maxTokens = json.get("max_tokens").asU32();
  request.temperature = json.get("temperature").asF64();
  request.topP = json.get("top_p").asF64();
  request.topK = optional(json.get("top_k"));
  request.minP = json.get("min_p").asF64();
  request.repeatPenalty = json.get("repeat_penalty").asF64();
  request.seed = optional(json.get("seed"));
  if (json.get("stop").type == JsonType.Array) request.stop = textsIn(json.get("stop"));
  if (!json.get("json_schema").isNull) request.jsonSchema = json.get("json_schema");
  if (json.get("grammar").type == JsonType.Text) request.grammar = json.get("grammar").asText();
  if (json.get("images").type == JsonType.Array) {
    const images: u32[] = [];
    const handles = json.get("images").items;
    for (let i = 0; i < handles.length; i++) images.push(handles[i].asU32());
    request.images = images;
  }
  return request;
}

function commandLike(json: Json): Command {
  const cmd = json.get("cmd").asText();
  const handle = json.get("handle").asU32();
  const offset = json.get("offset").asU64();
  const len = json.get("len").asU64();
  const page = json.get("page").asU32();
  if (cmd == "infer") return Command.infer(inferLike(json));
  if (cmd == "infer_many") {
    const requests: Infer[] = [];
    const bodies = json.get("requests").items;
    for (let i = 0; i < bodies.length; i++) requests.push(inferLike(bodies[i]));
    return Command.inferMany(requests);
  }
  if (cmd == "open") return Command.open(json.get("path").asText());
  if (cmd == "slice" && json.has("invalid")) return Command.sliceLossy(handle, offset, len);
  if (cmd == "slice") return Command.slice(handle, offset, len);
  if (cmd == "slice_bytes") return Command.sliceBytes(handle, offset, len);
  if (cmd == "close") return Command.close(handle);
  if (cmd == "list") {
    const after = json.get("after");
    return Command.list(json.get("path").asText(), after.isNull ? null : after.asText());
  }
  if (cmd == "count_tokens") {
    const messages = json.get("messages");
    if (!messages.isNull) return Command.countMessageTokens(messagesIn(messages));
    return Command.countTokens(json.get("text").asText());
  }
  if (cmd == "document_text") return Command.documentText(handle);
  if (cmd == "page_text") return Command.pageText(handle, page);
  if (cmd == "page_text_opt") return Command.pageTextOpt(handle, page);
  if (cmd == "page_image") return Command.pageImage(handle, page);
  if (cmd == "image_op") return imageOp(handle, json.get("op"));
  if (cmd == "embed") return Command.embed(textsIn(json.get("texts")));
  if (cmd == "fetch") return Command.fetch(json.get("url").asText());
  if (cmd == "emit") return Command.emit(json.get("progress"));
  if (cmd == "done") return Command.done(json.get("result"));
  if (cmd == "fail") return Command.fail(json.get("code").asText(), json.get("message").asText());
  return new Command(json);
}

function imageOp(handle: u32, op: Json): Command {
  if (op.get("op").asText() == "resize") {
    return Command.resizeImage(handle, op.get("max_width").asU32(), op.get("max_height").asU32());
  }
  return Command.cropImage(
    handle,
    op.get("x").asU32(),
    op.get("y").asU32(),
    op.get("width").asU32(),
    op.get("height").asU32(),
  );
}

function sameCommand(json: Json): Command {
  const command = commandLike(json);
  return json.get("on_error").isNull || command.json == json ? command : command.orError();
}

function textOrNull(text: string | null): Json {
  return text === null ? Json.null() : Json.text(text);
}

function toldInfer(json: Json, done: InferDone): Json {
  return json
    .set("text", Json.text(done.text))
    .set("tokens_out", Json.u64(done.tokensOut))
    .set("finish", Json.text(done.finish))
    .set("tokens_in", Json.u64(done.tokensIn))
    .set("tokens_cached", Json.u64(done.tokensCached))
    .set("seed", Json.u64(done.seed));
}

function toldFailure(json: Json, failure: Failure): Json {
  return json.set("code", Json.text(failure.code)).set("message", Json.text(failure.message));
}

function toldOpened(json: Json, file: Opened): Json {
  const kind = Json.object();
  if (file.fileKind != "") kind.set("kind", Json.text(file.fileKind));
  if (file.fileKind == "image") kind.set("format", Json.text(file.format));
  if (file.fileKind == "document") {
    kind.set("pages", Json.u64(file.pages)).set("has_text_layer", Json.bool(file.hasTextLayer));
  }
  return json.set("handle", Json.u64(file.handle)).set("len", Json.u64(file.len)).set("kind", kind);
}

function toldResults(many: InferManyDone): Json {
  const results = Json.array();
  for (let i = 0; i < many.results.length; i++) {
    const result = many.results[i];
    if (result.kind == EventKind.Failure) {
      results.push(Json.object().set("error", toldFailure(Json.object(), result as Failure)));
    } else {
      results.push(toldInfer(Json.object(), result as InferDone));
    }
  }
  return results;
}

function toldEntries(list: Listed): Json {
  const entries = Json.array();
  for (let i = 0; i < list.entries.length; i++) {
    const entry = list.entries[i];
    entries.push(
      Json.object()
        .set("name", Json.text(entry.name))
        .set("kind", Json.text(entry.kind))
        .set("len", Json.u64(entry.len)),
    );
  }
  return entries;
}

function toldVectors(embedded: Embedded): Json {
  const vectors = Json.array();
  for (let i = 0; i < embedded.vectors.length; i++) {
    const vector = Json.array();
    for (let j = 0; j < embedded.vectors[i].length; j++) vector.push(Json.f64(embedded.vectors[i][j]));
    vectors.push(vector);
  }
  return vectors;
}

function named(name: string): Json {
  return Json.object().set("event", Json.text(name));
}

function told(event: Event): Json {
  switch (event.kind) {
    case EventKind.Closed:
      return named("closed");
    case EventKind.Emitted:
      return named("emitted");
    case EventKind.InferDone:
      return toldInfer(named("infer_done"), event as InferDone);
    case EventKind.InferManyDone:
      return named("infer_many_done").set("results", toldResults(event as InferManyDone));
    case EventKind.Opened:
      return toldOpened(named("opened"), event as Opened);
    case EventKind.Sliced: {
      const window = event as Sliced;
      return named("sliced").set("text", Json.text(window.text)).set("next_offset", Json.u64(window.nextOffset));
    }
    case EventKind.SlicedBytes: {
      const window = event as SlicedBytes;
      return named("sliced_bytes")
        .set("bytes_base64", Json.text(window.bytesBase64))
        .set("next_offset", Json.u64(window.nextOffset));
    }
    case EventKind.Listed: {
      const list = event as Listed;
      return named("listed").set("entries", toldEntries(list)).set("after", textOrNull(list.after));
    }
    case EventKind.TokensCounted: {
      const count = event as TokensCounted;
      return named("tokens_counted").set("tokens", Json.u64(count.tokens)).set("context", Json.u64(count.context));
    }
    case EventKind.PageTexted:
      return named("page_texted").set("text", Json.text((event as PageTexted).text));
    case EventKind.PageTextAttempted: {
      const attempt = event as PageTextAttempted;
      return named("page_text_attempted").set("text", textOrNull(attempt.text)).set("error", textOrNull(attempt.error));
    }
    case EventKind.PageImaged: {
      const image = event as PageImaged;
      return named("page_imaged").set("handle", Json.u64(image.handle)).set("len", Json.u64(image.len));
    }
    case EventKind.Embedded:
      return named("embedded").set("vectors", toldVectors(event as Embedded));
    case EventKind.Failure:
      return toldFailure(named("error"), event as Failure);
    default:
      return Json.object();
  }
}

class Mirror extends Block {
  private wasted: StaticArray<u8>[] = [];

  start(input: Json): Command {
    if (input.has("command")) return sameCommand(input.get("command"));
    if (input.has("sizes")) {
      const addresses = Json.array();
      const sizes = input.get("sizes").items;
      for (let i = 0; i < sizes.length; i++) addresses.push(Json.u64(bufferFor(sizes[i].asU32())));
      return Command.emit(addresses);
    }
    if (input.has("panic")) throw new Error(input.get("panic").asText());
    while (input.get("waste").asBool()) this.wasted.push(new StaticArray<u8>(1 << 16));
    return Command.emit(input.get("copy"));
  }

  step(event: Event): Command {
    return Command.emit(told(event));
  }

  onToken(piece: string): bool {
    if (piece == "panic") throw new Error("in onToken");
    return piece == "stop";
  }
}

register(new Mirror());
