// The export of blocks that listen to generations: `export * from "cuttlebone/assembly/listener"`.

import { theBlock } from "./block";

export function cf_on_token(ptr: usize, len: usize): u32 {
  return theBlock().onToken(String.UTF8.decodeUnsafe(ptr, len)) ? 1 : 0;
}
