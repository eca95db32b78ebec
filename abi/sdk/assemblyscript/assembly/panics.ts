// The words of an abort, kept for the host: it ends in a trap, which has none. The compiler is told to use this by
// `--use abort=~lib/cuttlebone/assembly/panics/keepMessage`.

let message: string | null = null;

export function keepMessage(said: string | null, file: string | null, line: u32, column: u32): void {
  let text = "no message";
  if (said) text = said;
  if (file) text += `, at ${file}:${line}:${column}`;
  message = text;
  unreachable();
}

export function lastMessage(): string | null {
  return message;
}
