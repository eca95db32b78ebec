// Reads JSON from UTF-8 bytes. Anything that is no JSON reads as null, whatever it is.

import { Json } from "./json";

/** The contract allows 128 levels. */
const DEPTH_MAX = 160;

export class Reader {
  private at: usize;
  private end: usize;
  private failed: bool = false;

  constructor(ptr: usize, len: usize) {
    this.at = ptr;
    this.end = ptr + len;
  }

  /** The one value that the bytes are, or null. */
  value(): Json | null {
    const value = this.any(0);
    this.skipSpace();
    return this.failed || this.at != this.end ? null : value;
  }

  private any(depth: i32): Json {
    this.skipSpace();
    const byte = this.peek();
    if (byte == 0x7b && depth < DEPTH_MAX) return this.object(depth + 1);
    if (byte == 0x5b && depth < DEPTH_MAX) return this.array(depth + 1);
    if (byte == 0x22) return Json.text(this.text());
    if (byte == 0x2d || (byte >= 48 && byte <= 57)) return this.number();
    if (this.word("true")) return Json.bool(true);
    if (this.word("false")) return Json.bool(false);
    if (!this.word("null")) this.failed = true;
    return Json.null();
  }

  private object(depth: i32): Json {
    const object = Json.object();
    this.at++;
    if (this.token(0x7d)) return object;
    while (!this.failed) {
      this.skipSpace();
      if (this.peek() != 0x22) return this.fail();
      const key = this.text();
      if (!this.token(0x3a)) return this.fail();
      object.set(key, this.any(depth));
      if (this.token(0x7d)) return object;
      if (!this.token(0x2c)) return this.fail();
    }
    return object;
  }

  private array(depth: i32): Json {
    const array = Json.array();
    this.at++;
    if (this.token(0x5d)) return array;
    while (!this.failed) {
      array.push(this.any(depth));
      if (this.token(0x5d)) return array;
      if (!this.token(0x2c)) return this.fail();
    }
    return array;
  }

  private number(): Json {
    const start = this.at;
    while (this.at < this.end) {
      const byte = load<u8>(this.at);
      const part = (byte >= 48 && byte <= 57) || byte == 0x2b || byte == 0x2d || byte == 0x2e;
      if (!part && (byte | 32) != 0x65) break;
      this.at++;
    }
    return Json.number(String.UTF8.decodeUnsafe(start, this.at - start));
  }

  /** At the opening quote. Each byte of JSON makes at most one unit of UTF-16. */
  private text(): string {
    const close = this.closingQuote();
    if (this.failed) return "";
    const units = new StaticArray<u16>(<i32>(close - this.at));
    const start = changetype<usize>(units);
    let to = start;
    for (this.at++; this.at < close; ) {
      const code = this.codePoint();
      if (code >= 0x10000) {
        store<u16>(to, <u16>(0xd7c0 + (code >> 10)));
        store<u16>(to + 2, <u16>(0xdc00 | (code & 0x3ff)));
        to += 4;
      } else {
        store<u16>(to, <u16>code);
        to += 2;
      }
    }
    this.at = close + 1;
    return String.UTF16.decodeUnsafe(start, to - start);
  }

  private closingQuote(): usize {
    for (let at = this.at + 1; at < this.end; at++) {
      const byte = load<u8>(at);
      if (byte == 0x22) return at;
      if (byte == 0x5c) at++;
    }
    this.failed = true;
    return this.end;
  }

  /** One character, or one escape. Halves of surrogate pairs meet in the text that they stand in. */
  private codePoint(): u32 {
    const byte: u32 = load<u8>(this.at++);
    if (byte == 0x5c) return this.escape();
    if (byte < 0xc0) return byte;
    const more = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    let code: u32 = byte & (63 >> more);
    for (let i = 0; i < more; i++) {
      if (this.at >= this.end || (load<u8>(this.at) & 0xc0) != 0x80) return 0xfffd;
      code = (code << 6) | (load<u8>(this.at++) & 63);
    }
    return code < 0x110000 ? code : 0xfffd;
  }

  private escape(): u32 {
    const byte: u32 = load<u8>(this.at++);
    switch (byte) {
      case 0x6e:
        return 0x0a;
      case 0x74:
        return 0x09;
      case 0x72:
        return 0x0d;
      case 0x62:
        return 0x08;
      case 0x66:
        return 0x0c;
      case 0x75:
        return this.hex4();
      default:
        return byte;
    }
  }

  private hex4(): u32 {
    let code: u32 = 0;
    for (let i = 0; i < 4; i++) {
      const byte: u32 = this.peek();
      const digit: u32 = byte <= 57 ? byte - 48 : (byte | 32) - 87;
      if (digit > 15) {
        this.failed = true;
        return 0xfffd;
      }
      code = (code << 4) | digit;
      this.at++;
    }
    return code;
  }

  private word(word: string): bool {
    if (this.end - this.at < <usize>word.length) return false;
    for (let i = 0; i < word.length; i++) {
      if (load<u8>(this.at + i) != word.charCodeAt(i)) return false;
    }
    this.at += word.length;
    return true;
  }

  /** Skip white space and this byte; tell whether it was there. */
  private token(byte: u32): bool {
    this.skipSpace();
    if (this.peek() != byte) return false;
    this.at++;
    return true;
  }

  private skipSpace(): void {
    while (this.at < this.end) {
      const byte = load<u8>(this.at);
      if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return;
      this.at++;
    }
  }

  private peek(): u32 {
    return this.at < this.end ? load<u8>(this.at) : 0;
  }

  private fail(): Json {
    this.failed = true;
    return Json.null();
  }
}
