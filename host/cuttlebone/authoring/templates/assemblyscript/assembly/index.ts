// Reads the beginning of a text file and asks the model for a title.

import { Block, Command, Event, EventKind, Infer, InferDone, Json, Opened, Sliced, register } from "cuttlebone/assembly";
import { signature } from "cuttlebone/assembly/exports";

export { cf_abi_version, cf_alloc, cf_init, cf_panic, cf_step } from "cuttlebone/assembly/exports";

export function cf_signature(): usize {
  return signature("{path: text}", "{title: text}");
}

const WINDOW_BYTES = 2000;

/** What has to be remembered between two steps stands in its fields. */
class Title extends Block {
  /** The input of the job; the first command is to open the file. */
  start(input: Json): Command {
    return Command.open(input.get("path").asText());
  }

  /** The answer to the last command; returns the next one. */
  step(event: Event): Command {
    switch (event.kind) {
      case EventKind.Opened:
        return Command.slice((event as Opened).handle, 0, WINDOW_BYTES);
      case EventKind.Sliced:
        return askForTitle((event as Sliced).text);
      case EventKind.InferDone:
        return Command.done(Json.object().set("title", Json.text((event as InferDone).text)));
      default:
        return Command.fail("unexpected_event", "this block asked for nothing of the kind");
    }
  }
}

function askForTitle(text: string): Command {
  const prompt = `Write a title of at most five words for this text:\n\n${text}`;
  return Command.infer(Infer.prompt(prompt, 20));
}

register(new Title());
