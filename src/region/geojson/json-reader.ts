/** Reads JSON bytes as they come and tells what stands there; builds no tree, holds no text it was not asked for, knows nothing of maps. */

import { MalformedError, tooLargeError } from '../map-failure.ts';

/** What the reader tells, in the order of the document. */
export interface JsonEvents {
  onOpenObject(): void;
  onOpenArray(): void;
  /** True pauses the reader behind the bracket. */
  onClose(): boolean;
  onKey(name: string): void;
  /** Whether the string value that starts now is wanted. */
  wantsText(): boolean;
  /** Undefined for a string that was not wanted. */
  onText(value: string | undefined): void;
  /** The value stands in `JsonReader.number[0]`: a double handed over as an argument would be allocated. */
  onNumber(): void;
  onLiteral(value: boolean | null): void;
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
const END_OF_DOCUMENT = 6;
const EXPECTED_TEXTS = [
  'a value',
  'a value or "]"',
  'a key',
  'a key or "}"',
  '":"',
  '"," or a bracket',
  'nothing more',
];

/** What the reader is in the middle of. */
const BETWEEN_TOKENS = 0;
const STRING = 1;
const ESCAPE = 2;
const WORD = 3;

/** No double needs more digits to be told from its neighbours, and no writer makes them. */
const MAX_WORD_LENGTH = 1_100;
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, k) => 10 ** k);
const NUMBER_PATTERN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const toBuffer = (chunk: Uint8Array) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
const isWhitespace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isWordByte = (byte: number) =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e;

function formatByte(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `the byte 0x${byte.toString(16)}`;
}

/** A reader that tells `events`; throws `Malformed` or `MapError` at the first byte that breaks JSON or a limit. */
export function createJsonReader(events: JsonEvents, limits: JsonLimits): JsonReader {
  const containers = new Uint8Array(limits.depth + 1);
  const number = new Float64Array(1);
  const token = Buffer.alloc(Math.max(limits.textBytes, MAX_WORD_LENGTH) + 1);
  let tokenLength = 0;
  let depth = 0;
  let expected = VALUE;
  let mode = BETWEEN_TOKENS;
  let isWanted = false;
  let isKey = false;
  let hasEscape = false;
  let isPaused = false;
  let offset = 0;
  /** The chunk being read, as text: one for all its numbers. */
  let text: Buffer = Buffer.alloc(0);

  const unexpectedByteError = (byte: number) =>
    new MalformedError(`${formatByte(byte)} stands where ${EXPECTED_TEXTS[expected]} is expected`);

  const expectAfterValue = () => {
    expected = depth === 0 ? END_OF_DOCUMENT : COMMA_OR_CLOSE;
  };

  function open(kind: number, byte: number): void {
    if (expected !== VALUE && expected !== VALUE_OR_CLOSE) throw unexpectedByteError(byte);
    if (depth >= limits.depth) throw tooLargeError(`the map is nested more than ${limits.depth} deep`);
    containers[++depth] = kind;
    expected = kind === OBJECT ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
    if (kind === OBJECT) events.onOpenObject();
    else events.onOpenArray();
  }

  function close(kind: number, byte: number): boolean {
    const empty = kind === OBJECT ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
    if ((expected !== COMMA_OR_CLOSE && expected !== empty) || containers[depth] !== kind)
      throw unexpectedByteError(byte);
    depth--;
    expectAfterValue();
    return events.onClose();
  }

  function startString(byte: number): void {
    isKey = expected === KEY || expected === KEY_OR_CLOSE;
    if (!isKey && expected !== VALUE && expected !== VALUE_OR_CLOSE) throw unexpectedByteError(byte);
    isWanted = isKey || events.wantsText();
    hasEscape = false;
    tokenLength = 0;
    mode = STRING;
  }

  /** Keeps a part of a wanted string; a longer one is refused, a longer key is nobody's. */
  function appendToToken(chunk: Uint8Array, from: number, to: number): void {
    if (!isWanted) return;
    if (tokenLength + (to - from) > limits.textBytes) {
      if (!isKey) throw tooLargeError(`a name is longer than ${limits.textBytes} bytes`);
      isWanted = false;
      tokenLength = 0;
      return;
    }
    token.set(chunk.subarray(from, to), tokenLength);
    tokenLength += to - from;
  }

  function unescapeText(text: string): string {
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      throw new MalformedError('a string holds an escape that JSON does not know');
    }
  }

  function endString(): void {
    const raw = isWanted ? token.toString('utf8', 0, tokenLength) : '';
    const text = hasEscape ? unescapeText(raw) : raw;
    mode = BETWEEN_TOKENS;
    if (isKey) {
      expected = COLON;
      events.onKey(text);
      return;
    }
    expectAfterValue();
    events.onText(isWanted ? text : undefined);
  }

  /** Reads inside a string up to its end or the chunk's. */
  function readString(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (mode === ESCAPE) mode = STRING;
      else if (byte === 0x5c) {
        mode = ESCAPE;
        hasEscape = true;
      } else if (byte === 0x22) {
        appendToToken(chunk, from, at);
        endString();
        return at + 1;
      } else if (byte < 0x20) throw new MalformedError(`a string holds ${formatByte(byte)}`);
    }
    appendToToken(chunk, from, at);
    return at;
  }

  function endWord(text: string): void {
    mode = BETWEEN_TOKENS;
    expectAfterValue();
    if (NUMBER_PATTERN.test(text)) {
      number[0] = Number(text);
      events.onNumber();
    } else if (text === 'true' || text === 'false') events.onLiteral(text === 'true');
    else if (text === 'null') events.onLiteral(null);
    else throw new MalformedError(`"${text.slice(0, 40)}" is no JSON value`);
  }

  /** Reads a word begun in an earlier chunk. */
  function readWord(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length && isWordByte(chunk[at] as number)) at++;
    if (tokenLength + at - from > MAX_WORD_LENGTH)
      throw tooLargeError(`a number is longer than ${MAX_WORD_LENGTH} digits`);
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
    const plain = at < chunk.length && !isWordByte(byte) && whole > 0 && (whole === 1 || chunk[first] !== 0x30);
    if (!plain || at - from > MAX_WORD_LENGTH) {
      tokenLength = 0;
      mode = WORD;
      return readWord(chunk, from);
    }
    number[0] =
      digits <= Number.MAX_SAFE_INTEGER && decimals <= 22
        ? (negative ? -digits : digits) / (POWERS_OF_TEN[decimals] as number)
        : Number(text.toString('latin1', from, at));
    expectAfterValue();
    events.onNumber();
    return at;
  }

  /** One mark of JSON's own; true when the events want a pause behind it. */
  function readPunctuation(byte: number): boolean {
    switch (byte) {
      case 0x2c: // ,
        if (expected !== COMMA_OR_CLOSE) throw unexpectedByteError(byte);
        expected = containers[depth] === OBJECT ? KEY : VALUE;
        return false;
      case 0x3a: // :
        if (expected !== COLON) throw unexpectedByteError(byte);
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
        throw unexpectedByteError(byte);
    }
  }

  /** Some bytes further; sets `paused` when the events want it. */
  function readNext(chunk: Uint8Array, at: number): number {
    if (mode === STRING || mode === ESCAPE) return readString(chunk, at);
    if (mode === WORD) return readWord(chunk, at);
    const byte = chunk[at] as number;
    if (isWhitespace(byte)) return at + 1;
    if (expected <= VALUE_OR_CLOSE && isWordByte(byte)) return startWord(chunk, at);
    isPaused = readPunctuation(byte);
    return at + 1;
  }

  const skipByteOrderMark = (chunk: Uint8Array, from: number) => {
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
      let at = offset < 3 ? skipByteOrderMark(chunk, from) : from;
      const start = at;
      isPaused = false;
      if (text.buffer !== chunk.buffer || text.byteOffset !== chunk.byteOffset) text = toBuffer(chunk);
      try {
        while (at < chunk.length && !isPaused) at = readNext(chunk, at);
      } finally {
        offset += at - start;
      }
      return at;
    },
    end() {
      // A word at the very end would be the document's only value, which no map is.
      if (expected !== END_OF_DOCUMENT || mode !== BETWEEN_TOKENS) throw new MalformedError('the text ends too early');
    },
    offset: () => offset,
  };
}
