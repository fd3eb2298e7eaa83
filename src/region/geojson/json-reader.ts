/** Reads JSON from chunks of bytes as events, without building a tree. */

import { buildMapTooLargeError, MalformedError } from '../map-failure.ts';

/** What the reader calls, in the order of the document. */
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
  /** `number[0]` is the value: a double passed as an argument would be allocated. */
  onNumber(number: Float64Array): void;
  onLiteral(value: boolean | null): void;
}

export interface JsonLimits {
  readonly depth: number;
  /** Of one wanted string; a longer key counts as the empty one. */
  readonly textBytes: number;
}

const OBJECT = 1;
const ARRAY = 2;

/** The tokens that may follow. */
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

/** More digits distinguish no two doubles, and no writer prints them. */
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

/** Throws `MalformedError` or `MapError` at the first byte that breaks JSON or a limit. */
export class JsonReader {
  readonly #events: JsonEvents;
  readonly #limits: JsonLimits;
  readonly #containers: Uint8Array;
  readonly #number = new Float64Array(1);
  readonly #token: Buffer;
  #tokenLength = 0;
  #depth = 0;
  #expected = VALUE;
  #mode = BETWEEN_TOKENS;
  #isWanted = false;
  #isKey = false;
  #hasEscape = false;
  #isPaused = false;
  #offset = 0;
  /** The chunk being read, as text: one for all its numbers. */
  #text: Buffer = Buffer.alloc(0);

  constructor(events: JsonEvents, limits: JsonLimits) {
    this.#events = events;
    this.#limits = limits;
    this.#containers = new Uint8Array(limits.depth + 1);
    this.#token = Buffer.alloc(Math.max(limits.textBytes, MAX_WORD_LENGTH) + 1);
  }

  /** Bytes read in all. */
  get offset(): number {
    return this.#offset;
  }

  /** Reads `chunk` from `from` and gives the position after the last byte read: its length, or earlier after a pause. */
  read(chunk: Uint8Array, from: number): number {
    let at = this.#offset < 3 ? this.#skipByteOrderMark(chunk, from) : from;
    const start = at;
    this.#isPaused = false;
    if (this.#text.buffer !== chunk.buffer || this.#text.byteOffset !== chunk.byteOffset) this.#text = toBuffer(chunk);
    try {
      while (at < chunk.length && !this.#isPaused) at = this.#readNext(chunk, at);
    } finally {
      this.#offset += at - start;
    }
    return at;
  }

  /** Throws when the document is not complete. */
  end(): void {
    // A word at the very end would be the document's only value, which no map is.
    if (this.#expected !== END_OF_DOCUMENT || this.#mode !== BETWEEN_TOKENS)
      throw new MalformedError('the text ends too early');
  }

  #skipByteOrderMark(chunk: Uint8Array, from: number): number {
    let at = from;
    while (this.#offset < 3 && at < chunk.length && chunk[at] === BYTE_ORDER_MARK[this.#offset]) {
      at++;
      this.#offset++;
    }
    return at;
  }

  #readNext(chunk: Uint8Array, at: number): number {
    if (this.#mode === STRING || this.#mode === ESCAPE) return this.#readString(chunk, at);
    if (this.#mode === WORD) return this.#readWord(chunk, at);
    const byte = chunk[at] as number;
    if (isWhitespace(byte)) return at + 1;
    if (this.#expected <= VALUE_OR_CLOSE && isWordByte(byte)) return this.#startWord(chunk, at);
    this.#readPunctuation(byte);
    return at + 1;
  }

  #readPunctuation(byte: number): void {
    switch (byte) {
      case 0x2c: // ,
        if (this.#expected !== COMMA_OR_CLOSE) throw this.#unexpectedByteError(byte);
        this.#expected = this.#containers[this.#depth] === OBJECT ? KEY : VALUE;
        return;
      case 0x3a: // :
        if (this.#expected !== COLON) throw this.#unexpectedByteError(byte);
        this.#expected = VALUE;
        return;
      case 0x22: // "
        this.#startString(byte);
        return;
      case 0x5b: // [
        this.#open(ARRAY, byte);
        return;
      case 0x5d: // ]
        this.#close(ARRAY, byte);
        return;
      case 0x7b: // {
        this.#open(OBJECT, byte);
        return;
      case 0x7d: // }
        this.#close(OBJECT, byte);
        return;
      default:
        throw this.#unexpectedByteError(byte);
    }
  }

  #unexpectedByteError(byte: number): MalformedError {
    // Its byte order mark, or the zero beside the first bracket.
    if (this.offset < 2 && (byte >= 0xfe || byte === 0))
      return new MalformedError('the text is UTF-16, expected UTF-8; save it as UTF-8');
    return new MalformedError(`${formatByte(byte)} stands where ${EXPECTED_TEXTS[this.#expected]} is expected`);
  }

  #expectAfterValue(): void {
    this.#expected = this.#depth === 0 ? END_OF_DOCUMENT : COMMA_OR_CLOSE;
  }

  #open(kind: number, byte: number): void {
    if (this.#expected !== VALUE && this.#expected !== VALUE_OR_CLOSE) throw this.#unexpectedByteError(byte);
    const { depth } = this.#limits;
    if (this.#depth >= depth) throw buildMapTooLargeError(`the map is nested more than ${depth} deep`);
    this.#containers[++this.#depth] = kind;
    this.#expected = kind === OBJECT ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
    if (kind === OBJECT) this.#events.onOpenObject();
    else this.#events.onOpenArray();
  }

  #close(kind: number, byte: number): void {
    const empty = kind === OBJECT ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
    const mayClose = this.#expected === COMMA_OR_CLOSE || this.#expected === empty;
    if (!mayClose || this.#containers[this.#depth] !== kind) throw this.#unexpectedByteError(byte);
    this.#depth--;
    this.#expectAfterValue();
    this.#isPaused = this.#events.onClose();
  }

  #startString(byte: number): void {
    const expected = this.#expected;
    this.#isKey = expected === KEY || expected === KEY_OR_CLOSE;
    if (!this.#isKey && expected !== VALUE && expected !== VALUE_OR_CLOSE) throw this.#unexpectedByteError(byte);
    this.#isWanted = this.#isKey || this.#events.wantsText();
    this.#hasEscape = false;
    this.#tokenLength = 0;
    this.#mode = STRING;
  }

  /** Reads inside a string up to its end or the chunk's. */
  #readString(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#mode === ESCAPE) this.#mode = STRING;
      else if (byte === 0x5c) {
        this.#mode = ESCAPE;
        this.#hasEscape = true;
      } else if (byte === 0x22) {
        this.#appendToString(chunk, from, at);
        this.#endString();
        return at + 1;
      } else if (byte < 0x20) throw new MalformedError(`a string holds ${formatByte(byte)}`);
    }
    this.#appendToString(chunk, from, at);
    return at;
  }

  /** A value that is too long is refused; a key that is too long is ignored. */
  #appendToString(chunk: Uint8Array, from: number, to: number): void {
    if (!this.#isWanted) return;
    const { textBytes } = this.#limits;
    if (this.#tokenLength + (to - from) > textBytes) {
      if (!this.#isKey) throw buildMapTooLargeError(`a name is longer than ${textBytes} bytes`);
      this.#isWanted = false;
      this.#tokenLength = 0;
    } else this.#append(chunk, from, to);
  }

  #append(chunk: Uint8Array, from: number, to: number): void {
    this.#token.set(chunk.subarray(from, to), this.#tokenLength);
    this.#tokenLength += to - from;
  }

  #endString(): void {
    const raw = this.#isWanted ? this.#token.toString('utf8', 0, this.#tokenLength) : '';
    const text = this.#hasEscape ? unescapeText(raw) : raw;
    this.#mode = BETWEEN_TOKENS;
    if (this.#isKey) {
      this.#expected = COLON;
      this.#events.onKey(text);
      return;
    }
    this.#expectAfterValue();
    this.#events.onText(this.#isWanted ? text : undefined);
  }

  /** A plain decimal number inside the chunk, exact as long as its digits are below 2^53; else word by word. */
  #startWord(chunk: Uint8Array, from: number): number {
    let at = from;
    const isNegative = chunk[at] === 0x2d;
    if (isNegative) at++;
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
    const isPlain = at < chunk.length && !isWordByte(byte) && whole > 0 && (whole === 1 || chunk[first] !== 0x30);
    if (!isPlain || at - from > MAX_WORD_LENGTH) {
      this.#tokenLength = 0;
      this.#mode = WORD;
      return this.#readWord(chunk, from);
    }
    this.#number[0] =
      digits <= Number.MAX_SAFE_INTEGER && decimals <= 22
        ? (isNegative ? -digits : digits) / (POWERS_OF_TEN[decimals] as number)
        : Number(this.#text.toString('latin1', from, at));
    this.#expectAfterValue();
    this.#events.onNumber(this.#number);
    return at;
  }

  /** Reads a word that may go on in the next chunk. */
  #readWord(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length && isWordByte(chunk[at] as number)) at++;
    if (this.#tokenLength + at - from > MAX_WORD_LENGTH)
      throw buildMapTooLargeError(`a number is longer than ${MAX_WORD_LENGTH} digits`);
    this.#append(chunk, from, at);
    if (at < chunk.length) this.#endWord(this.#token.toString('latin1', 0, this.#tokenLength));
    return at;
  }

  #endWord(text: string): void {
    this.#mode = BETWEEN_TOKENS;
    this.#expectAfterValue();
    if (NUMBER_PATTERN.test(text)) {
      this.#number[0] = Number(text);
      this.#events.onNumber(this.#number);
    } else if (text === 'true' || text === 'false') this.#events.onLiteral(text === 'true');
    else if (text === 'null') this.#events.onLiteral(null);
    else throw new MalformedError(`"${text.slice(0, 40)}" is no JSON value`);
  }
}

function unescapeText(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    throw new MalformedError('a string holds an escape that JSON does not know');
  }
}
