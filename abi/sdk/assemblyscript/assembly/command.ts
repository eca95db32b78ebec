// What a block may ask the host for.

import { Infer, Message } from "./infer";
import { Json } from "./json";

/** One command: an object with `cmd`. */
export class Command {
  constructor(public json: Json) {}

  /** Generate text. Answered by InferDone. */
  static infer(request: Infer): Command {
    return new Command(request.into(named("infer")));
  }

  /** Generate several texts side by side. Answered by InferManyDone. */
  static inferMany(requests: Infer[]): Command {
    const bodies = Json.array();
    for (let i = 0; i < requests.length; i++) bodies.push(requests[i].into(Json.object()));
    return new Command(named("infer_many").set("requests", bodies));
  }

  /** Open a file. Answered by Opened. */
  static open(path: string): Command {
    return new Command(named("open").set("path", Json.text(path)));
  }

  /** Read at most `len` bytes of text from byte `offset` on. Answered by Sliced. */
  static slice(handle: u32, offset: u64, len: u64): Command {
    return new Command(window("slice", handle, offset, len));
  }

  /** The same, with U+FFFD for every invalid part instead of an error. Answered by Sliced. */
  static sliceLossy(handle: u32, offset: u64, len: u64): Command {
    return new Command(window("slice", handle, offset, len).set("invalid", Json.text("replace")));
  }

  /** Read at most `len` bytes of any kind. Answered by SlicedBytes. */
  static sliceBytes(handle: u32, offset: u64, len: u64): Command {
    return new Command(window("slice_bytes", handle, offset, len));
  }

  /** Give a handle back. Answered by Closed. */
  static close(handle: u32): Command {
    return new Command(handled("close", handle));
  }

  /** List a folder, from its first entry on or from the one after `after`. Answered by Listed. */
  static list(path: string, after: string | null = null): Command {
    const json = named("list").set("path", Json.text(path));
    if (after !== null) json.set("after", Json.text(after));
    return new Command(json);
  }

  /** Count the tokens of a text. Answered by TokensCounted. */
  static countTokens(text: string): Command {
    return new Command(named("count_tokens").set("text", Json.text(text)));
  }

  /** Count the tokens of a conversation, template included. Answered by TokensCounted. */
  static countMessageTokens(messages: Message[]): Command {
    return new Command(named("count_tokens").set("messages", Message.all(messages)));
  }

  /** Read the text of a document. Answered by PageTexted. A host may refuse it as `unsupported`. */
  static documentText(handle: u32): Command {
    return new Command(handled("document_text", handle));
  }

  /** Read the text of a page, counted from 0. Answered by PageTexted. A host may refuse it as `unsupported`. */
  static pageText(handle: u32, page: u32): Command {
    return new Command(handled("page_text", handle).set("page", Json.u64(page)));
  }

  /** The same, where a page without text is no error. Answered by PageTextAttempted. A host may refuse it as `unsupported`. */
  static pageTextOpt(handle: u32, page: u32): Command {
    return new Command(handled("page_text_opt", handle).set("page", Json.u64(page)));
  }

  /** Draw a page, counted from 0. Answered by PageImaged. A host may refuse it as `unsupported`. */
  static pageImage(handle: u32, page: u32): Command {
    return new Command(handled("page_image", handle).set("page", Json.u64(page)));
  }

  /** Make an image no larger than this. Answered by PageImaged. A host may refuse it as `unsupported`. */
  static resizeImage(handle: u32, maxWidth: u32, maxHeight: u32): Command {
    const op = Json.object()
      .set("op", Json.text("resize"))
      .set("max_width", Json.u64(maxWidth))
      .set("max_height", Json.u64(maxHeight));
    return new Command(handled("image_op", handle).set("op", op));
  }

  /** Cut a part out of an image. Answered by PageImaged. A host may refuse it as `unsupported`. */
  static cropImage(handle: u32, x: u32, y: u32, width: u32, height: u32): Command {
    const op = Json.object()
      .set("op", Json.text("crop"))
      .set("x", Json.u64(x))
      .set("y", Json.u64(y))
      .set("width", Json.u64(width))
      .set("height", Json.u64(height));
    return new Command(handled("image_op", handle).set("op", op));
  }

  /** Make a vector of each text. Answered by Embedded. A host may refuse it as `unsupported`. */
  static embed(texts: string[]): Command {
    return new Command(named("embed").set("texts", Json.texts(texts)));
  }

  /** Fetch a URL. Answered by Opened. A host may refuse it as `unsupported`. */
  static fetch(url: string): Command {
    return new Command(named("fetch").set("url", Json.text(url)));
  }

  /** Tell whoever watches the job. Answered by Emitted. */
  static emit(progress: Json): Command {
    return new Command(named("emit").set("progress", progress));
  }

  /** End the job with a result. */
  static done(result: Json): Command {
    return new Command(named("done").set("result", result));
  }

  /** End the job as failed. */
  static fail(code: string, message: string): Command {
    return new Command(named("fail").set("code", Json.text(code)).set("message", Json.text(message)));
  }

  /**
   * The same command, but if it cannot be carried out the block gets a Failure event instead of the job ending. For every
   * command but done and fail.
   */
  orError(): Command {
    this.json.set("on_error", Json.text("event"));
    return this;
  }
}

function named(cmd: string): Json {
  return Json.object().set("cmd", Json.text(cmd));
}

function handled(cmd: string, handle: u32): Json {
  return named(cmd).set("handle", Json.u64(handle));
}

function window(cmd: string, handle: u32, offset: u64, len: u64): Json {
  return handled(cmd, handle).set("offset", Json.u64(offset)).set("len", Json.u64(len));
}
