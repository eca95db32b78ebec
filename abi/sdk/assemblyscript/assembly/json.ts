// JSON values: made, read from UTF-8 and written to it. Numbers are kept as they are written, so that none
// loses a digit.

import { Bytes } from "./bytes";
import { Reader } from "./reader";

export enum JsonType {
  Null,
  Bool,
  Number,
  Text,
  Array,
  Object,
}

export class Json {
  private constructor(
    readonly type: JsonType,
    private content: string = "",
    readonly items: Json[] = [],
    readonly keys: string[] = [],
  ) {}

  // Making values.

  static null(): Json {
    return new Json(JsonType.Null);
  }

  static bool(value: bool): Json {
    return new Json(JsonType.Bool, value ? "true" : "false");
  }

  static text(value: string): Json {
    return new Json(JsonType.Text, value);
  }

  /** null if it is not finite: JSON has no such number. */
  static f64(value: f64): Json {
    return isFinite(value) ? new Json(JsonType.Number, value.toString()) : Json.null();
  }

  static i64(value: i64): Json {
    return new Json(JsonType.Number, value.toString());
  }

  static u64(value: u64): Json {
    return new Json(JsonType.Number, value.toString());
  }

  /** A number as it stands in JSON. */
  static number(digits: string): Json {
    return new Json(JsonType.Number, digits);
  }

  static array(): Json {
    return new Json(JsonType.Array);
  }

  static texts(values: string[]): Json {
    const array = Json.array();
    for (let i = 0; i < values.length; i++) array.push(Json.text(values[i]));
    return array;
  }

  static object(): Json {
    return new Json(JsonType.Object);
  }

  /** Append to an array; returns the array. */
  push(value: Json): Json {
    this.items.push(value);
    return this;
  }

  /** Add a field to an object; returns the object. */
  set(key: string, value: Json): Json {
    this.keys.push(key);
    this.items.push(value);
    return this;
  }

  // Reading values. What is missing or of another type reads as the default.

  /** The field of an object, or null. When a key is repeated, the last one counts. */
  get(key: string): Json {
    for (let i = this.keys.length - 1; i >= 0; i--) {
      if (this.keys[i] == key) return this.items[i];
    }
    return Json.null();
  }

  has(key: string): bool {
    return this.keys.includes(key);
  }

  get isNull(): bool {
    return this.type == JsonType.Null;
  }

  asText(missing: string = ""): string {
    return this.type == JsonType.Text ? this.content : missing;
  }

  asBool(missing: bool = false): bool {
    return this.type == JsonType.Bool ? this.content == "true" : missing;
  }

  asF64(missing: f64 = NaN): f64 {
    return this.type == JsonType.Number ? F64.parseFloat(this.content) : missing;
  }

  asU64(missing: u64 = 0): u64 {
    return this.isWhole(u64.MAX_VALUE) ? whole(this.content) : missing;
  }

  asU32(missing: u32 = 0): u32 {
    return this.isWhole(u32.MAX_VALUE) ? <u32>whole(this.content) : missing;
  }

  /** Whether it is a whole number from 0 to `most`, written without fraction and exponent. */
  isWhole(most: u64): bool {
    if (this.type != JsonType.Number) return false;
    let value: u64 = 0;
    for (let i = 0; i < this.content.length; i++) {
      const digit = <u64>(this.content.charCodeAt(i) - 48);
      if (digit > 9 || value > (most - digit) / 10) return false;
      value = value * 10 + digit;
    }
    return true;
  }

  // Text.

  /** The value that UTF-8 bytes are, or undefined content as null: `Json.isJson` tells the two apart. */
  static read(ptr: usize, len: usize): Json {
    return new Reader(ptr, len).value() || Json.null();
  }

  /** The value that a text is, or null if it is no JSON. */
  static parse(text: string): Json | null {
    const bytes = String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE);
    return new Reader(changetype<usize>(bytes), bytes.byteLength).value();
  }

  write(out: Bytes): void {
    switch (this.type) {
      case JsonType.Null:
        out.pushAscii("null");
        break;
      case JsonType.Bool:
      case JsonType.Number:
        out.pushAscii(this.content);
        break;
      case JsonType.Text:
        writeText(out, this.content);
        break;
      default:
        this.writeItems(out);
    }
  }

  private writeItems(out: Bytes): void {
    const object = this.type == JsonType.Object;
    out.push(object ? 0x7b : 0x5b);
    for (let i = 0; i < this.items.length; i++) {
      if (i > 0) out.push(0x2c);
      if (object) {
        writeText(out, this.keys[i]);
        out.push(0x3a);
      }
      this.items[i].write(out);
    }
    out.push(object ? 0x7d : 0x5d);
  }

  toString(): string {
    const out = new Bytes();
    this.write(out);
    return String.UTF8.decodeUnsafe(out.ptr, out.len);
  }
}

function whole(digits: string): u64 {
  let value: u64 = 0;
  for (let i = 0; i < digits.length; i++) value = value * 10 + (digits.charCodeAt(i) - 48);
  return value;
}

/** Half of a surrogate pair becomes U+FFFD: UTF-8 has no other place for it. */
function writeText(out: Bytes, text: string): void {
  out.push(0x22);
  for (let i = 0; i < text.length; i++) {
    let code: u32 = text.charCodeAt(i);
    if (code < 0x20 || code == 0x22 || code == 0x5c) {
      writeEscape(out, code);
      continue;
    }
    if ((code & 0xf800) == 0xd800) {
      const low: u32 = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
      if (code < 0xdc00 && (low & 0xfc00) == 0xdc00) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i++;
      } else {
        code = 0xfffd;
      }
    }
    out.pushCodePoint(code);
  }
  out.push(0x22);
}

function writeEscape(out: Bytes, code: u32): void {
  out.push(0x5c);
  if (code == 0x22 || code == 0x5c) {
    out.push(code);
  } else if (code == 0x0a) {
    out.push(0x6e);
  } else {
    out.pushAscii(code < 16 ? "u000" : "u001");
    const digit = code & 15;
    out.push(digit < 10 ? 48 + digit : 87 + digit);
  }
}
