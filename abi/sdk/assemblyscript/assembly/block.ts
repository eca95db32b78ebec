// What a block is, and the one that this module runs.

import { Command } from "./command";
import { Event } from "./event";
import { Json } from "./json";

export abstract class Block {
  /** Take the input of the job; return the first command. */
  abstract start(input: Json): Command;

  /** Take the answer to the last command; return the next one. */
  abstract step(event: Event): Command;

  /** Take a piece of the text that is being generated; return whether to stop. Called if cf_on_token is exported. */
  onToken(_piece: string): bool {
    return false;
  }
}

let registered: Block | null = null;

/** Say which block this module is. */
export function register(block: Block): void {
  registered = block;
}

export function theBlock(): Block {
  return registered!;
}
