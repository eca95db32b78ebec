// grep: the lines of a file of any size that have a text in them, with lines around. No model.
//
// The file is read window by window. What is kept of it is the lines around matches and the line that a window
// has cut; a line of more than LINE_UNITS_MAX is taken for several.

import { Block, Command, Event, EventKind, Failure, Json, Opened, Sliced, register } from "cuttlebone/assembly";
import { signature } from "cuttlebone/assembly/exports";

export { cf_abi_version, cf_alloc, cf_init, cf_panic, cf_step } from "cuttlebone/assembly/exports";

export function cf_signature(): usize {
  return signature(
    "{path: text, pattern: text}",
    "{matches: [{line: number, text: text, before: [text], after: [text]}], lines: number, complete: bool}",
  );
}

const CONTEXT_MAX: u32 = 5;
const MATCHES_MAX: u32 = 100;
const LINE_UNITS_MAX = 65536;
/** Bytes of a line that the result shows. */
const SHOWN_BYTES_MAX = 240;
const PROGRESS_EVENTS: u64 = 10;

class Match {
  after: string[] = [];

  constructor(
    public line: u64,
    public text: string,
    public before: string[],
  ) {}

  toJson(): Json {
    return Json.object()
      .set("line", Json.u64(this.line))
      .set("text", Json.text(this.text))
      .set("before", Json.texts(this.before))
      .set("after", Json.texts(this.after));
  }
}

class Grep extends Block {
  private path: string = "";
  private pattern: string = "";
  private context: i32 = 0;
  private ignoreCase: bool = false;
  private wanted: i32 = 0;
  private window: u64 = 0;
  private handle: u32 = 0;
  private len: u64 = 0;
  private offset: u64 = 0;
  private told: u64 = 0;
  /** The beginning of a line whose end has not been read yet. */
  private unfinished: string = "";
  private lines: u64 = 0;
  private before: string[] = [];
  private matches: Match[] = [];

  start(input: Json): Command {
    this.path = input.get("path").asText();
    this.ignoreCase = input.get("ignore_case").asBool();
    const pattern = input.get("pattern").asText();
    if (pattern == "") return Command.fail("invalid_input", "$.pattern: give the text to look for");
    this.pattern = this.ignoreCase ? lower(pattern) : pattern;
    this.context = <i32>min(input.get("context").asU32(), CONTEXT_MAX);
    this.wanted = <i32>max(1, min(input.get("matches_max").asU32(MATCHES_MAX), MATCHES_MAX));
    this.window = max<u64>(4, min<u64>(input.get("window").asU64(65536), 1 << 20));
    return Command.open(this.path).orError();
  }

  step(event: Event): Command {
    switch (event.kind) {
      case EventKind.Opened: {
        const file = event as Opened;
        this.handle = file.handle;
        this.len = file.len;
        return this.next();
      }
      case EventKind.Sliced: {
        const window = event as Sliced;
        this.takeWindow(window.text);
        this.offset = window.nextOffset;
        return this.isTold() ? this.tell() : this.next();
      }
      case EventKind.Emitted:
        return this.next();
      case EventKind.Closed:
        return this.finish();
      case EventKind.Failure: {
        const failure = event as Failure;
        return Command.fail(failure.code, `cannot search ${this.path}: ${failure.message}`);
      }
      default:
        return Command.fail("unexpected_event", "the host sent an event that grep does not know");
    }
  }

  private next(): Command {
    if (this.offset < this.len && !this.full()) {
      return Command.sliceLossy(this.handle, this.offset, this.window).orError();
    }
    if (this.unfinished != "" && !this.full()) this.takeLine(this.unfinished);
    return Command.close(this.handle);
  }

  /** Whether all matches that are wanted have been found, and the lines after the last of them. */
  private full(): bool {
    if (this.matches.length < this.wanted) return false;
    return this.matches[this.matches.length - 1].after.length == this.context;
  }

  private takeWindow(text: string): void {
    let start = 0;
    while (start < text.length) {
      const at = text.indexOf("\n", start);
      const end = at < 0 ? text.length : at;
      this.unfinished += text.substring(start, end);
      start = end + 1;
      if (at >= 0 || this.unfinished.length > LINE_UNITS_MAX) {
        const line = this.unfinished;
        this.unfinished = "";
        this.takeLine(line.endsWith("\r") ? line.substring(0, line.length - 1) : line);
      }
    }
  }

  private takeLine(line: string): void {
    if (this.full()) return;
    this.lines++;
    const shown = cut(line);
    for (let i = max(0, this.matches.length - this.context); i < this.matches.length; i++) {
      const found = this.matches[i];
      if (found.after.length < this.context && found.line + this.context >= this.lines) found.after.push(shown);
    }
    if (this.matches.length < this.wanted && this.isMatch(line)) {
      this.matches.push(new Match(this.lines, shown, this.before.slice(0)));
    }
    this.before.push(shown);
    if (this.before.length > this.context) this.before.shift();
  }

  private isMatch(line: string): bool {
    return (this.ignoreCase ? lower(line) : line).includes(this.pattern);
  }

  /** Whether watchers are to be told; only so often: a huge file has more windows than a job may emit. */
  private isTold(): bool {
    return this.offset >= this.told + this.len / PROGRESS_EVENTS && this.offset != this.len;
  }

  private tell(): Command {
    this.told = this.offset;
    return Command.emit(
      Json.object()
        .set("offset", Json.u64(this.offset))
        .set("len", Json.u64(this.len))
        .set("matches", Json.i64(this.matches.length)),
    );
  }

  private finish(): Command {
    const matches = Json.array();
    for (let i = 0; i < this.matches.length; i++) matches.push(this.matches[i].toJson());
    const complete = this.offset == this.len && this.matches.length < this.wanted;
    return Command.done(
      Json.object()
        .set("matches", matches)
        .set("lines", Json.u64(this.lines))
        .set("complete", Json.bool(complete)),
    );
  }
}

/** A to Z as a to z, and nothing else, so that it takes no tables of Unicode. */
function lower(text: string): string {
  let capitals = false;
  for (let i = 0; i < text.length && !capitals; i++) capitals = isCapital(text.charCodeAt(i));
  if (!capitals) return text;
  const units = new StaticArray<u16>(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    units[i] = <u16>(isCapital(unit) ? unit + 32 : unit);
  }
  return String.UTF16.decodeUnsafe(changetype<usize>(units), units.length << 1);
}

function isCapital(unit: i32): bool {
  return unit >= 65 && unit <= 90;
}

/** As much of a line as the result shows. */
function cut(line: string): string {
  if (line.length * 3 <= SHOWN_BYTES_MAX) return line;
  let bytes = 0;
  for (let i = 0; i < line.length; i++) {
    const unit = line.charCodeAt(i);
    const first = (unit & 0xfc00) == 0xd800;
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : first ? 4 : 3;
    if (bytes > SHOWN_BYTES_MAX) return line.substring(0, i);
    if (first) i++;
  }
  return line;
}

register(new Grep());
