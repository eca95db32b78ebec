// All that a block written in AssemblyScript needs: commands, events, JSON. The exports are in "cuttlebone/assembly/exports".

export { Block, register } from "./block";
export { Command } from "./command";
export {
  Embedded,
  Entry,
  Event,
  EventKind,
  Failure,
  InferDone,
  InferManyDone,
  Listed,
  Opened,
  PageImaged,
  PageTextAttempted,
  PageTexted,
  Sliced,
  SlicedBytes,
  TokensCounted,
} from "./event";
export { Infer, Message } from "./infer";
export { Json, JsonType } from "./json";
export { keepMessage } from "./panics";
