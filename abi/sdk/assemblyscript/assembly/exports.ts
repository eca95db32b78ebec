// The exports that every block has: `export * from "cuttlebone/assembly/exports"`.

import { theBlock } from "./block";
import { Bytes } from "./bytes";
import { Command } from "./command";
import { readEvent } from "./event";
import { Json } from "./json";
import { lastMessage } from "./panics";

/** What the host reads now; replaced with the next command. */
let outbox: Bytes = new Bytes();
const descriptor: StaticArray<u32> = [0, 0];

let inbox: usize = 0;
let inboxLen: usize = 0;

export function cf_abi_version(): u32 {
  return 1;
}

/**
 * One buffer serves all calls. A larger one, of twice the size at least, replaces it, and the old one is given to
 * nobody else: a host may go on using it for short payloads.
 */
export function cf_alloc(len: usize): usize {
  if (inbox == 0 || len > inboxLen) {
    inboxLen = max(max(len, 2 * inboxLen), 1024);
    inbox = heap.alloc(inboxLen);
  }
  return inbox;
}

export function cf_init(ptr: usize, len: usize): usize {
  return answer(theBlock().start(Json.read(ptr, len)));
}

export function cf_step(ptr: usize, len: usize): usize {
  // Nothing is on the stack here, so what no global leads to is garbage.
  __collect();
  return answer(theBlock().step(readEvent(Json.read(ptr, len))));
}

/** The command `fail` for the abort that ended the last call, or 0 if there was none. */
export function cf_panic(): usize {
  const message = lastMessage();
  return message === null ? 0 : answer(Command.fail("panic", message));
}

function answer(command: Command): usize {
  outbox = new Bytes();
  command.json.write(outbox);
  return describe(outbox);
}

function describe(bytes: Bytes): usize {
  descriptor[0] = <u32>bytes.ptr;
  descriptor[1] = <u32>bytes.len;
  return changetype<usize>(descriptor);
}

/** The answer of `cf_signature`, which a block exports itself if it declares its types. */
export function signature(input: string, output: string): usize {
  outbox = new Bytes();
  Json.object().set("input", Json.text(input)).set("output", Json.text(output)).write(outbox);
  return describe(outbox);
}
