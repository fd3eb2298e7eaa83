/** Reads JSON bytes as they come and tells what stands there; builds no tree, holds no text it was not asked for, knows nothing of maps. */

import { Malformed, tooLarge } from './failure.ts';

/** What the reader tells, in the order of the document. */
export interface JsonEvents {
  openObject(): void;
  openArray(): void;
  /** True pauses the reader behind the bracket. */
  close(): boolean;
  key(name: string): void;
  /** Whether the string value that starts now is wanted. */
  wantsText(): boolean;
  /** Undefined for a string that was not wanted. */
  text(value: string | undefined): void;
  /** The value stands in `JsonReader.number[0]`: a double handed over as an argument would be allocated. */
  number(): void;
  literal(value: boolean | null): void;
}

export interface JsonReader {
  /** Reads `chunk` from `from` and gives the position after the last byte read: its length, or earlier after a pause. */
  read(chunk: Uint8Array, from: number): number;
  /** Throws when the document is not complete. */
  end(): void;
  /** Bytes read in all. */
  offset(): number;
  readonly number: Float64Array;
}

export interface JsonLimits {
  readonly depth: number;
  /** Of one wanted string; keys beyond it are told as the empty one. */
  readonly textBytes: number;
}

const OBJECT = 1;
const ARRAY = 2;

/** What may stand next. */
const VALUE = 0;
const VALUE_OR_CLOSE = 1;
const KEY = 2;
const KEY_OR_CLOSE = 3;
const COLON = 4;
const COMMA_OR_CLOSE = 5;
const NOTHING = 6;
const EXPECTED = ['a value', 'a value or "]"', 'a key', 'a key or "}"', '":"', '"," or a bracket', 'nothing more'];

/** What the reader is in the middle of. */
const BETWEEN = 0;
const STRING = 1;
const ESCAPE = 2;
const WORD = 3;

/** No double needs more digits to be told from its neighbours, and no writer makes them. */
const MAX_WORD = 1_100;
const POWERS = Float64Array.from({ length: 23 }, (_, k) => 10 ** k);
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const textOf = (chunk: Uint8Array) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isWord = (byte: number) =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e;

function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `the byte 0x${byte.toString(16)}`;
}

/** A reader that tells `events`; throws `Malformed` or `MapError` at the first byte that breaks JSON or a limit. */
export function createJsonReader(events: JsonEvents, limits: JsonLimits): JsonReader {
  const containers = new Uint8Array(limits.depth + 1);
  const number = new Float64Array(1);
  const token = Buffer.alloc(Math.max(limits.textBytes, MAX_WORD) + 1);
  let tokenLength = 0;
  let depth = 0;
  let expected = VALUE;
  let mode = BETWEEN;
  let wanted = false;
  let isKey = false;
  let escaped = false;
  let paused = false;
  let offset = 0;
  /** The chunk being read, as text: one for all its numbers. */
  let text: Buffer = Buffer.alloc(0);

  const unexpected = (byte: number) => new Malformed(`${shown(byte)} stands where ${EXPECTED[expected]} is expected`);

  const afterValue = () => {
    expected = depth === 0 ? NOTHING : COMMA_OR_CLOSE;
  };

  function open(kind: number, byte: number): void {
    if (expected !== VALUE && expected !== VALUE_OR_CLOSE) throw unexpected(byte);
    if (depth >= limits.depth) throw tooLarge(`the map is nested more than ${limits.depth} deep`);
    containers[++depth] = kind;
    expected = kind === OBJECT ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
    if (kind === OBJECT) events.openObject();
    else events.openArray();
  }

  function close(kind: number, byte: number): boolean {
    const empty = kind === OBJECT ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
    if ((expected !== COMMA_OR_CLOSE && expected !== empty) || containers[depth] !== kind) throw unexpected(byte);
    depth--;
    afterValue();
    return events.close();
  }

  function startString(byte: number): void {
    isKey = expected === KEY || expected === KEY_OR_CLOSE;
    if (!isKey && expected !== VALUE && expected !== VALUE_OR_CLOSE) throw unexpected(byte);
    wanted = isKey || events.wantsText();
    escaped = false;
    tokenLength = 0;
    mode = STRING;
  }

  /** Keeps a part of a wanted string; a longer one is refused, a longer key is nobody's. */
  function keep(chunk: Uint8Array, from: number, to: number): void {
    if (!wanted) return;
    if (tokenLength + (to - from) > limits.textBytes) {
      if (!isKey) throw tooLarge(`a name is longer than ${limits.textBytes} bytes`);
      wanted = false;
      tokenLength = 0;
      return;
    }
    token.set(chunk.subarray(from, to), tokenLength);
    tokenLength += to - from;
  }

  function unescaped(text: string): string {
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      throw new Malformed('a string holds an escape that JSON does not know');
    }
  }

  function endString(): void {
    const raw = wanted ? token.toString('utf8', 0, tokenLength) : '';
    const text = escaped ? unescaped(raw) : raw;
    mode = BETWEEN;
    if (isKey) {
      expected = COLON;
      events.key(text);
      return;
    }
    afterValue();
    events.text(wanted ? text : undefined);
  }

  /** Reads inside a string up to its end or the chunk's. */
  function readString(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (mode === ESCAPE) mode = STRING;
      else if (byte === 0x5c) {
        mode = ESCAPE;
        escaped = true;
      } else if (byte === 0x22) {
        keep(chunk, from, at);
        endString();
        return at + 1;
      } else if (byte < 0x20) throw new Malformed(`a string holds ${shown(byte)}`);
    }
    keep(chunk, from, at);
    return at;
  }

  function endWord(text: string): void {
    mode = BETWEEN;
    afterValue();
    if (NUMBER.test(text)) {
      number[0] = Number(text);
      events.number();
    } else if (text === 'true' || text === 'false') events.literal(text === 'true');
    else if (text === 'null') events.literal(null);
    else throw new Malformed(`"${text.slice(0, 40)}" is no JSON value`);
  }

  /** Reads a word begun in an earlier chunk. */
  function readWord(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length && isWord(chunk[at] as number)) at++;
    if (tokenLength + at - from > MAX_WORD) throw tooLarge(`a number is longer than ${MAX_WORD} digits`);
    token.set(chunk.subarray(from, at), tokenLength);
    tokenLength += at - from;
    if (at < chunk.length) endWord(token.toString('latin1', 0, tokenLength));
    return at;
  }

  /** A plain decimal number inside the chunk, exact as long as its digits are below 2^53; else word by word. */
  function startWord(chunk: Uint8Array, from: number): number {
    let at = from;
    const negative = chunk[at] === 0x2d;
    if (negative) at++;
    const first = at;
    let digits = 0;
    let byte = chunk[at] as number;
    for (; byte >= 0x30 && byte <= 0x39; byte = chunk[++at] as number) digits = digits * 10 + (byte - 0x30);
    const whole = at - first;
    let decimals = 0;
    if (byte === 0x2e) {
      const point = at;
      byte = chunk[++at] as number;
      for (; byte >= 0x30 && byte <= 0x39; byte = chunk[++at] as number) digits = digits * 10 + (byte - 0x30);
      decimals = at - point - 1;
      if (decimals === 0) byte = 0x2e;
    }
    const plain = at < chunk.length && !isWord(byte) && whole > 0 && (whole === 1 || chunk[first] !== 0x30);
    if (!plain || at - from > MAX_WORD) {
      tokenLength = 0;
      mode = WORD;
      return readWord(chunk, from);
    }
    number[0] =
      digits <= Number.MAX_SAFE_INTEGER && decimals <= 22
        ? (negative ? -digits : digits) / (POWERS[decimals] as number)
        : Number(text.toString('latin1', from, at));
    afterValue();
    events.number();
    return at;
  }

  /** One mark of JSON's own; true when the events want a pause behind it. */
  function readMark(byte: number): boolean {
    switch (byte) {
      case 0x2c: // ,
        if (expected !== COMMA_OR_CLOSE) throw unexpected(byte);
        expected = containers[depth] === OBJECT ? KEY : VALUE;
        return false;
      case 0x3a: // :
        if (expected !== COLON) throw unexpected(byte);
        expected = VALUE;
        return false;
      case 0x22: // "
        startString(byte);
        return false;
      case 0x5b: // [
        open(ARRAY, byte);
        return false;
      case 0x5d: // ]
        return close(ARRAY, byte);
      case 0x7b: // {
        open(OBJECT, byte);
        return false;
      case 0x7d: // }
        return close(OBJECT, byte);
      default:
        throw unexpected(byte);
    }
  }

  /** Some bytes further; sets `paused` when the events want it. */
  function step(chunk: Uint8Array, at: number): number {
    if (mode === STRING || mode === ESCAPE) return readString(chunk, at);
    if (mode === WORD) return readWord(chunk, at);
    const byte = chunk[at] as number;
    if (isSpace(byte)) return at + 1;
    if (expected <= VALUE_OR_CLOSE && isWord(byte)) return startWord(chunk, at);
    paused = readMark(byte);
    return at + 1;
  }

  const pastByteOrderMark = (chunk: Uint8Array, from: number) => {
    let at = from;
    while (offset < 3 && at < chunk.length && chunk[at] === BYTE_ORDER_MARK[offset]) {
      at++;
      offset++;
    }
    return at;
  };

  return {
    number,
    read(chunk, from) {
      let at = offset < 3 ? pastByteOrderMark(chunk, from) : from;
      const start = at;
      paused = false;
      if (text.buffer !== chunk.buffer || text.byteOffset !== chunk.byteOffset) text = textOf(chunk);
      try {
        while (at < chunk.length && !paused) at = step(chunk, at);
      } finally {
        offset += at - start;
      }
      return at;
    },
    end() {
      // A word at the very end would be the document's only value, which no map is.
      if (expected !== NOTHING || mode !== BETWEEN) throw new Malformed('the text ends too early');
    },
    offset: () => offset,
  };
}
