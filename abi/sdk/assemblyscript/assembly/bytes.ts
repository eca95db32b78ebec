// Bytes that grow: what JSON is written into.

export class Bytes {
  private data: StaticArray<u8> = new StaticArray<u8>(64);
  len: i32 = 0;

  /** Where they are. Good until more are appended. */
  get ptr(): usize {
    return changetype<usize>(this.data);
  }

  @inline push(byte: u32): void {
    this.reserve(1);
    store<u8>(this.ptr + this.len++, <u8>byte);
  }

  /** ASCII only. */
  pushAscii(text: string): void {
    this.reserve(text.length);
    for (let i = 0; i < text.length; i++) {
      store<u8>(this.ptr + this.len++, <u8>text.charCodeAt(i));
    }
  }

  /** A code point, as UTF-8. */
  pushCodePoint(code: u32): void {
    if (code < 0x80) {
      this.push(code);
    } else if (code < 0x800) {
      this.push(0xc0 | (code >> 6));
      this.push(0x80 | (code & 63));
    } else {
      if (code < 0x10000) {
        this.push(0xe0 | (code >> 12));
      } else {
        this.push(0xf0 | (code >> 18));
        this.push(0x80 | ((code >> 12) & 63));
      }
      this.push(0x80 | ((code >> 6) & 63));
      this.push(0x80 | (code & 63));
    }
  }

  private reserve(more: i32): void {
    const needed = this.len + more;
    if (needed <= this.data.length) return;
    const larger = new StaticArray<u8>(max(needed, 2 * this.data.length));
    memory.copy(changetype<usize>(larger), this.ptr, this.len);
    this.data = larger;
  }
}
