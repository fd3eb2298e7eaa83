/** Packs the rings of a piece without loss and unpacks them. */

import { buildDamagedError } from '../map-failure.ts';
import { RING_START, type RingList, VERTEX_MASK } from './clip.ts';

/**
 * A blob: ring count; vertices of each ring; then for each axis one byte of scale, the first coordinate as a double, and the step
 * to each next one. A scale names a divisor such that every coordinate is a whole number over it, bit for bit: 10^k for a map
 * written with k decimals, 2^k for one written with all its digits. Scale 0 stores doubles.
 */
const DOUBLE_SCALE = 0;
const BINARY_SCALE = 64;
/** Decimal scales tried first; a double has at most 15 exact digits. */
const DECIMAL_SCALES = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
const MAX_BINARY_EXPONENT = 60;
/** Steps stay below half of this, so that their sign fits beside them. */
const MAX_CODED_STEP = 2 ** 52;

/** Of a piece: the import and a lookup hold it in memory whole. Only long parallel edges, or many at one point, make more than a few hundred. */
export const MAX_PIECE_VERTICES = 1 << 16;

const scaleDivisor = (scale: number) => (scale >= BINARY_SCALE ? 2 ** (scale - BINARY_SCALE) : 10 ** scale);

/** The smallest power of two over which `value` is whole, as its exponent. */
function findBinaryExponent(value: number, from: number): number {
  let bits = from;
  while (bits <= MAX_BINARY_EXPONENT && !Number.isInteger(value * 2 ** bits)) bits++;
  return bits;
}

type Axis = 0 | 1;

const readCoordinate = ({ xy, list }: RingList, i: number, axis: Axis) =>
  xy[((list[i] as number) & VERTEX_MASK) * 2 + axis] as number;

/** Whether steps over `divisor` give every coordinate of the axis back. */
function isLossless(rings: RingList, axis: Axis, divisor: number): boolean {
  let last = Math.round(readCoordinate(rings, rings.from, axis) * divisor);
  for (let i = rings.from; i < rings.to; i++) {
    const value = readCoordinate(rings, i, axis);
    const n = Math.round(value * divisor);
    if (Math.abs(n) > Number.MAX_SAFE_INTEGER || Math.abs(n - last) >= MAX_CODED_STEP / 2 || n / divisor !== value)
      return false;
    last = n;
  }
  return true;
}

function chooseScale(rings: RingList, axis: Axis): number {
  for (const k of DECIMAL_SCALES) if (isLossless(rings, axis, 10 ** k)) return k;
  let bits = 0;
  for (let i = rings.from; i < rings.to && bits <= MAX_BINARY_EXPONENT; i++)
    bits = findBinaryExponent(readCoordinate(rings, i, axis), bits);
  return bits <= MAX_BINARY_EXPONENT && isLossless(rings, axis, 2 ** bits) ? BINARY_SCALE + bits : DOUBLE_SCALE;
}

function countRingLengths({ list, from, to }: RingList): number[] {
  const lengths: number[] = [];
  for (let i = from; i < to; i++) {
    if ((list[i] as number) >= RING_START) lengths.push(0);
    lengths[lengths.length - 1] = (lengths.at(-1) as number) + 1;
  }
  return lengths;
}

export interface VertexEncoder {
  /** The packed rings, valid until the next call. */
  encode(rings: RingList): Uint8Array;
}

export function createVertexEncoder(): VertexEncoder {
  let bytes = new Uint8Array(1 << 14);
  let view = new DataView(bytes.buffer);
  let at = 0;

  function writeVarint(value: number): void {
    let rest = value;
    for (; rest >= 0x8000_0000; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
    for (; rest >= 128; rest >>>= 7) bytes[at++] = (rest & 127) | 128;
    bytes[at++] = rest;
  }

  function writeDouble(value: number): void {
    view.setFloat64(at, value, true);
    at += 8;
  }

  function writeAxis(rings: RingList, axis: Axis): void {
    const scale = chooseScale(rings, axis);
    const divisor = scaleDivisor(scale);
    const first = readCoordinate(rings, rings.from, axis);
    bytes[at++] = scale;
    writeDouble(first);
    let last = Math.round(first * divisor);
    for (let i = rings.from + 1; i < rings.to; i++) {
      const value = readCoordinate(rings, i, axis);
      if (scale === DOUBLE_SCALE) {
        writeDouble(value);
        continue;
      }
      const n = Math.round(value * divisor);
      writeVarint(n < last ? (last - n) * 2 - 1 : (n - last) * 2);
      last = n;
    }
  }

  return {
    encode(rings) {
      const size = 64 + (rings.to - rings.from) * 26;
      if (size > bytes.length) {
        bytes = new Uint8Array(size * 2);
        view = new DataView(bytes.buffer);
      }
      at = 0;
      const lengths = countRingLengths(rings);
      for (const n of [lengths.length, ...lengths]) writeVarint(n);
      writeAxis(rings, 0);
      writeAxis(rings, 1);
      return bytes.subarray(0, at);
    },
  };
}

const buildBlobLengthError = () => buildDamagedError('a piece of the map ends at the wrong byte');
const buildCoordinateError = () => buildDamagedError('a piece of the map holds what is no coordinate');

/** Reads `count` varints from `start` on into `out` and gives the position behind them; beyond the end every byte is 0. */
function readVarints(bytes: Uint8Array, start: number, out: Float64Array, count: number): number {
  let at = start;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++] as number;
    let low = byte & 127;
    for (let shift = 7; byte >= 128 && shift < 28; shift += 7) {
      byte = bytes[at++] as number;
      low |= (byte & 127) << shift;
    }
    let value = low;
    // Bits beyond 28 are added as a double, which holds them exactly.
    for (let factor = 2 ** 28; byte >= 128; factor *= 128) {
      byte = bytes[at++] as number;
      value += (byte & 127) * factor;
    }
    out[i] = value;
  }
  return at;
}

/** Unpacks blobs into arrays that are used again for the next one. */
class VertexDecoder {
  #xy = new Float64Array(512);
  #list = new Uint32Array(256);
  #varints = new Float64Array(256);

  #reserve(vertices: number): void {
    if (vertices <= this.#list.length) return;
    this.#xy = new Float64Array(vertices * 2);
    this.#list = new Uint32Array(vertices);
    this.#varints = new Float64Array(vertices);
  }

  /** Marks the first vertex of each ring; gives the position behind their lengths and the vertices of all. */
  #readRings(bytes: Uint8Array): { readonly at: number; readonly vertices: number } {
    const start = readVarints(bytes, 0, this.#varints, 1);
    const rings = this.#varints[0] as number;
    if (!(rings <= Math.min(bytes.length, MAX_PIECE_VERTICES)))
      throw buildDamagedError('a piece of the map counts more rings than it holds');
    this.#reserve(rings);
    const at = readVarints(bytes, start, this.#varints, rings);
    let vertices = 0;
    for (let i = 0; i < rings; i++) vertices += this.#varints[i] as number;
    if (!(vertices > 0 && vertices <= Math.min(bytes.length, MAX_PIECE_VERTICES)))
      throw buildDamagedError('a piece of the map counts more vertices than it holds');
    const lengths = this.#varints;
    this.#reserve(vertices);
    for (let i = 0; i < vertices; i++) this.#list[i] = i;
    for (let i = 0, first = 0; i < rings; first += lengths[i++] as number)
      this.#list[first] = (first | RING_START) >>> 0;
    return { at, vertices };
  }

  /** Reads the coordinates of one axis from `start` on and gives the position behind them. */
  #readAxis(bytes: Uint8Array, start: number, axis: Axis, vertices: number): number {
    const xy = this.#xy;
    const varints = this.#varints;
    const scale = bytes[start] as number;
    const doubles = scale === DOUBLE_SCALE ? vertices : 1;
    const stepsAt = start + 1 + doubles * 8;
    if (stepsAt > bytes.length) throw buildBlobLengthError();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let i = 0; i < doubles; i++) {
      const value = view.getFloat64(start + 1 + i * 8, true);
      if (!Number.isFinite(value)) throw buildCoordinateError();
      xy[i * 2 + axis] = value;
    }
    const divisor = scaleDivisor(scale);
    const end = readVarints(bytes, stepsAt, varints, vertices - doubles);
    let steps = Math.round((xy[axis] as number) * divisor);
    for (let i = doubles; i < vertices; i++) {
      const zigzag = varints[i - doubles] as number;
      const half = Math.floor(zigzag / 2);
      steps += half * 2 === zigzag ? half : -half - 1;
      xy[i * 2 + axis] = steps / divisor;
    }
    // A sum that was no number once stays none.
    if (!Number.isFinite(steps)) throw buildCoordinateError();
    return end;
  }

  decode(bytes: Uint8Array): RingList {
    const { at, vertices } = this.#readRings(bytes);
    const end = this.#readAxis(bytes, this.#readAxis(bytes, at, 0, vertices), 1, vertices);
    // A blob is filled up to whole words.
    if (end > bytes.length || bytes.length - end > 3) throw buildBlobLengthError();
    return { xy: this.#xy, list: this.#list, from: 0, to: vertices };
  }
}

export function createVertexDecoder(): (bytes: Uint8Array) => RingList {
  const decoder = new VertexDecoder();
  return (bytes) => decoder.decode(bytes);
}
