/** Packs the rings of a piece without loss and unpacks them. Knows no files. */

import { damagedError } from '../map-failure.ts';
import { RING_START, type RingList, VERTEX_MASK } from './clip.ts';

/**
 * A blob: ring count; vertices of each ring; then for each axis one byte of scale, the first coordinate as a double, and the step
 * to each next one. A scale names a divisor such that every coordinate is a whole number over it, bit for bit: 10^k for a map
 * written with k decimals, 2^k for one written with all its digits. Scale 0 stores doubles.
 */
const DOUBLE_SCALE = 0;
const BINARY_SCALE = 64;
/** Decimal scales first tried; beyond 15 digits a double has no more to tell. */
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

/** Grows a buffer and writes little-endian numbers into it. */
export interface VertexEncoder {
  /** The rings of `list[from, to)` as a view that is valid until the next call. */
  encode(xy: Float64Array, list: Uint32Array, from: number, to: number): Uint8Array;
}

export function createVertexEncoder(): VertexEncoder {
  let bytes = new Uint8Array(1 << 14);
  let view = new DataView(bytes.buffer);
  let at = 0;

  function reserve(size: number): void {
    if (size <= bytes.length) return;
    bytes = new Uint8Array(size * 2);
    view = new DataView(bytes.buffer);
  }

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

  const readCoordinate = (xy: Float64Array, entry: number, axis: number) =>
    xy[(entry & VERTEX_MASK) * 2 + axis] as number;

  /** Whether steps over `divisor` give every coordinate of the axis back. */
  function isLossless(
    xy: Float64Array,
    list: Uint32Array,
    from: number,
    to: number,
    axis: number,
    divisor: number,
  ): boolean {
    let last = Math.round(readCoordinate(xy, list[from] as number, axis) * divisor);
    for (let i = from; i < to; i++) {
      const value = readCoordinate(xy, list[i] as number, axis);
      const n = Math.round(value * divisor);
      if (Math.abs(n) > Number.MAX_SAFE_INTEGER || Math.abs(n - last) >= MAX_CODED_STEP / 2 || n / divisor !== value)
        return false;
      last = n;
    }
    return true;
  }

  function chooseScale(xy: Float64Array, list: Uint32Array, from: number, to: number, axis: number): number {
    for (const k of DECIMAL_SCALES) if (isLossless(xy, list, from, to, axis, 10 ** k)) return k;
    let bits = 0;
    for (let i = from; i < to && bits <= MAX_BINARY_EXPONENT; i++)
      bits = findBinaryExponent(readCoordinate(xy, list[i] as number, axis), bits);
    return bits <= MAX_BINARY_EXPONENT && isLossless(xy, list, from, to, axis, 2 ** bits)
      ? BINARY_SCALE + bits
      : DOUBLE_SCALE;
  }

  function writeRingLengths(list: Uint32Array, from: number, to: number): void {
    let rings = 0;
    for (let i = from; i < to; i++) if ((list[i] as number) >= RING_START) rings++;
    writeVarint(rings);
    let first = from;
    for (let i = from + 1; i <= to; i++) {
      if (i < to && (list[i] as number) < RING_START) continue;
      writeVarint(i - first);
      first = i;
    }
  }

  function writeAxis(xy: Float64Array, list: Uint32Array, from: number, to: number, axis: number): void {
    const scale = chooseScale(xy, list, from, to, axis);
    const divisor = scaleDivisor(scale);
    const first = readCoordinate(xy, list[from] as number, axis);
    bytes[at++] = scale;
    writeDouble(first);
    let last = Math.round(first * divisor);
    for (let i = from + 1; i < to; i++) {
      const value = readCoordinate(xy, list[i] as number, axis);
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
    encode(xy, list, from, to) {
      reserve(64 + (to - from) * 26);
      at = 0;
      writeRingLengths(list, from, to);
      writeAxis(xy, list, from, to, 0);
      writeAxis(xy, list, from, to, 1);
      return bytes.subarray(0, at);
    },
  };
}

/** The position behind the varint at `at`. */
function skipVarint(bytes: Uint8Array, at: number): number {
  let end = at;
  while ((bytes[end++] as number) >= 128);
  return end;
}

/** A varint below 2^28, or any with its bits beyond left out. */
function readVarintLowBits(bytes: Uint8Array, at: number): number {
  let low = 0;
  for (let i = at, shift = 0; shift < 28; i++, shift += 7) {
    const byte = bytes[i] as number;
    low |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return low;
}

const blobLengthError = () => damagedError('a piece of the map ends at the wrong byte');
const coordinateError = () => damagedError('a piece of the map holds what is no coordinate');

/** Coordinates of one axis from `at` on; gives the position behind them. */
function decodeAxis(bytes: Uint8Array, start: number, xy: Float64Array, axis: number, vertices: number): number {
  const scale = bytes[start] as number;
  if (start + 9 > bytes.length || (scale === DOUBLE_SCALE && start + 1 + vertices * 8 > bytes.length))
    throw blobLengthError();
  const divisor = scaleDivisor(scale);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = start + 1;
  let steps = Math.round(view.getFloat64(at, true) * divisor);
  if (scale === DOUBLE_SCALE) {
    for (let i = axis; i < vertices * 2; i += 2, at += 8) {
      xy[i] = view.getFloat64(at, true);
      if (!Number.isFinite(xy[i])) throw coordinateError();
    }
    return at;
  }
  xy[axis] = view.getFloat64(at, true);
  at += 8;
  for (let i = axis + 2; i < vertices * 2; i += 2) {
    let byte = bytes[at++] as number;
    let low = byte & 127;
    for (let shift = 7; byte >= 128 && shift < 28; shift += 7) {
      byte = bytes[at++] as number;
      low |= (byte & 127) << shift;
    }
    // The sign is the lowest bit; bits beyond 28 are added as a double, which holds them exactly.
    let size = low >>> 1;
    for (let factor = 2 ** 27; byte >= 128; factor *= 128) {
      byte = bytes[at++] as number;
      size += (byte & 127) * factor;
    }
    steps += (low & 1) === 0 ? size : -size - 1;
    xy[i] = steps / divisor;
  }
  // A sum that was no number once stays none.
  if (!Number.isFinite(steps)) throw coordinateError();
  return at;
}

/** Unpacks blobs into arrays that are used again for the next one. */
export function createVertexDecoder(): (bytes: Uint8Array) => RingList {
  let xy = new Float64Array(512);
  let list = new Uint32Array(256);

  return (bytes) => {
    let at = 0;
    const rings = readVarintLowBits(bytes, at);
    at = skipVarint(bytes, at);
    const firstRing = at;
    let vertices = 0;
    if (rings > bytes.length) throw damagedError('a piece of the map counts more rings than it holds');
    for (let ring = 0; ring < rings; ring++) {
      vertices += readVarintLowBits(bytes, at);
      at = skipVarint(bytes, at);
    }
    if (vertices === 0 || vertices > Math.min(bytes.length, MAX_PIECE_VERTICES))
      throw damagedError('a piece of the map counts more vertices than it holds');
    if (vertices > list.length) {
      xy = new Float64Array(vertices * 2);
      list = new Uint32Array(vertices);
    }
    for (let i = 0; i < vertices; i++) list[i] = i;
    for (let ring = 0, first = 0, next = firstRing; ring < rings; ring++) {
      list[first] = (first | RING_START) >>> 0;
      first += readVarintLowBits(bytes, next);
      next = skipVarint(bytes, next);
    }
    at = decodeAxis(bytes, at, xy, 0, vertices);
    at = decodeAxis(bytes, at, xy, 1, vertices);
    // A blob is filled up to whole words.
    if (at > bytes.length || bytes.length - at > 3) throw blobLengthError();
    return { xy, list, from: 0, to: vertices };
  };
}
