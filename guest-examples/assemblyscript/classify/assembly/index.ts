// classify: labels text files, one after the other, and goes on past those that it cannot read.

import {
  Block,
  Command,
  Event,
  EventKind,
  Failure,
  Infer,
  InferDone,
  Json,
  Message,
  Opened,
  Sliced,
  register,
} from "cuttlebone/assembly";
import { signature } from "cuttlebone/assembly/exports";

export { cf_abi_version, cf_alloc, cf_init, cf_panic, cf_step } from "cuttlebone/assembly/exports";

export function cf_signature(): usize {
  return signature("{paths: [text], labels: [text]}", "{files: [{path: text}], failed: number}");
}

/** What the model reads of each file. */
const EXCERPT_BYTES = 1500;
const ANSWER_TOKENS_MAX = 16;

class Classify extends Block {
  private paths: string[] = [];
  private labels: string[] = [];
  private files: Json = Json.array();
  private failures: u32 = 0;
  /** 0 if no file is open. */
  private handle: u32 = 0;

  start(input: Json): Command {
    this.paths = textsIn(input.get("paths"));
    this.labels = textsIn(input.get("labels"));
    if (this.labels.length < 2 || this.labels.includes("")) {
      return Command.fail("invalid_input", "$.labels: give two labels or more");
    }
    return this.next();
  }

  step(event: Event): Command {
    switch (event.kind) {
      case EventKind.Opened: {
        const file = event as Opened;
        this.handle = file.handle;
        if (file.fileKind != "text") return this.failed("not_text", "it is not a text file");
        return Command.slice(file.handle, 0, EXCERPT_BYTES).orError();
      }
      case EventKind.Sliced: {
        const text = (event as Sliced).text;
        return text.trim() == "" ? this.failed("empty", "there is nothing in it") : this.ask(text);
      }
      case EventKind.InferDone:
        return this.labelled((event as InferDone).text);
      case EventKind.Failure: {
        const failure = event as Failure;
        return this.failed(failure.code, failure.message);
      }
      case EventKind.Emitted: {
        const handle = this.handle;
        this.handle = 0;
        return handle == 0 ? this.next() : Command.close(handle);
      }
      case EventKind.Closed:
        return this.next();
      default:
        return Command.fail("unexpected_event", "the host sent an event that classify does not know");
    }
  }

  /** Open the next file, or end. */
  private next(): Command {
    const done = this.files.items.length;
    if (done < this.paths.length) return Command.open(this.paths[done]).orError();
    return Command.done(Json.object().set("files", this.files).set("failed", Json.u64(this.failures)));
  }

  private ask(text: string): Command {
    const labels = this.labels.join(", ");
    const instruction = `Which label fits the text best? Answer with one of these, and nothing else: ${labels}.`;
    const messages = [new Message("system", instruction), new Message("user", text)];
    return Command.infer(Infer.messages(messages, ANSWER_TOKENS_MAX)).orError();
  }

  private labelled(answer: string): Command {
    const label = this.labelIn(answer);
    if (label == "") return this.failed("no_label", `the answer has no label: ${answer.trim()}`);
    return this.settle(this.file().set("label", Json.text(label)));
  }

  /** The label that stands first in an answer; the longest, where one begins like another. */
  private labelIn(answer: string): string {
    const lower = answer.toLowerCase();
    let best = "";
    let bestAt = i32.MAX_VALUE;
    for (let i = 0; i < this.labels.length; i++) {
      const at = lower.indexOf(this.labels[i].toLowerCase());
      if (at < 0 || at > bestAt || (at == bestAt && this.labels[i].length <= best.length)) continue;
      best = this.labels[i];
      bestAt = at;
    }
    return best;
  }

  private failed(code: string, message: string): Command {
    this.failures++;
    const error = Json.object().set("code", Json.text(code)).set("message", Json.text(message));
    return this.settle(this.file().set("error", error));
  }

  private file(): Json {
    return Json.object().set("path", Json.text(this.paths[this.files.items.length]));
  }

  /** Write down how the file ended, and tell watchers. */
  private settle(file: Json): Command {
    this.files.push(file);
    const progress = Json.object();
    for (let i = 0; i < file.keys.length; i++) progress.set(file.keys[i], file.items[i]);
    progress.set("done", Json.i64(this.files.items.length)).set("of", Json.i64(this.paths.length));
    return Command.emit(progress);
  }
}

function textsIn(json: Json): string[] {
  const texts: string[] = [];
  for (let i = 0; i < json.items.length; i++) texts.push(json.items[i].asText());
  return texts;
}

register(new Classify());
