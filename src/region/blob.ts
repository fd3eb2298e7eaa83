/** Packs the rings of a piece without loss and unpacks them. Knows no files. */

import { RING, VERTEX } from './cell.ts';
import { damaged } from './failure.ts';

/**
 * A blob: ring count; vertices of each ring; one byte of scale an axis; the first vertex as two doubles; then the step to each
 * next vertex. A scale names a divisor such that every coordinate is a whole number over it, bit for bit: 10^k for a map written
 * with k decimals, 2^k for one written with all its digits. Scale 0 stores doubles.
 */
const PLAIN = 0;
const BINARY = 64;
/** Decimal scales first tried; beyond 15 digits a double has no more to tell. */
const DECIMALS = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
const MOST_BITS = 60;
/** Steps stay below half of this, so that their sign fits beside them. */
const LARGEST = 2 ** 52;

const divisorOf = (scale: number) => (scale >= BINARY ? 2 ** (scale - BINARY) : 10 ** scale);

/** The smallest power of two over which `value` is whole, as its exponent. */
function bitsOf(value: number, from: number): number {
  let bits = from;
  while (bits <= MOST_BITS && !Number.isInteger(value * 2 ** bits)) bits++;
  return bits;
}

/** Grows a buffer and writes little-endian numbers into it. */
export interface Packer {
  /** The rings of `list[from, to)` as a view that is valid until the next call. */
  pack(xy: Float64Array, list: Uint32Array, from: number, to: number): Uint8Array;
}

export function createPacker(): Packer {
  let bytes = new Uint8Array(1 << 14);
  let view = new DataView(bytes.buffer);
  let at = 0;

  function reserve(size: number): void {
    if (size <= bytes.length) return;
    bytes = new Uint8Array(size * 2);
    view = new DataView(bytes.buffer);
  }

  function whole(value: number): void {
    let rest = value;
    for (; rest >= 0x8000_0000; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
    for (; rest >= 128; rest >>>= 7) bytes[at++] = (rest & 127) | 128;
    bytes[at++] = rest;
  }

  function double(value: number): void {
    view.setFloat64(at, value, true);
    at += 8;
  }

  const axisValue = (xy: Float64Array, entry: number, axis: number) => xy[(entry & VERTEX) * 2 + axis] as number;

  /** Whether steps over `divisor` give every coordinate of the axis back. */
  function fits(xy: Float64Array, list: Uint32Array, from: number, to: number, axis: number, divisor: number): boolean {
    let last = Math.round(axisValue(xy, list[from] as number, axis) * divisor);
    for (let i = from; i < to; i++) {
      const value = axisValue(xy, list[i] as number, axis);
      const n = Math.round(value * divisor);
      if (Math.abs(n) > Number.MAX_SAFE_INTEGER || Math.abs(n - last) >= LARGEST / 2 || n / divisor !== value)
        return false;
      last = n;
    }
    return true;
  }

  function scaleOf(xy: Float64Array, list: Uint32Array, from: number, to: number, axis: number): number {
    for (const k of DECIMALS) if (fits(xy, list, from, to, axis, 10 ** k)) return k;
    let bits = 0;
    for (let i = from; i < to && bits <= MOST_BITS; i++) bits = bitsOf(axisValue(xy, list[i] as number, axis), bits);
    return bits <= MOST_BITS && fits(xy, list, from, to, axis, 2 ** bits) ? BINARY + bits : PLAIN;
  }

  function ringLengths(list: Uint32Array, from: number, to: number): void {
    let rings = 0;
    for (let i = from; i < to; i++) if ((list[i] as number) >= RING) rings++;
    whole(rings);
    let first = from;
    for (let i = from + 1; i <= to; i++) {
      if (i < to && (list[i] as number) < RING) continue;
      whole(i - first);
      first = i;
    }
  }

  return {
    pack(xy, list, from, to) {
      reserve(64 + (to - from) * 26);
      at = 0;
      ringLengths(list, from, to);
      const scales = [scaleOf(xy, list, from, to, 0), scaleOf(xy, list, from, to, 1)] as const;
      bytes[at++] = scales[0];
      bytes[at++] = scales[1];
      const divisors = [divisorOf(scales[0]), divisorOf(scales[1])] as const;
      const last = [0, 0];
      for (let i = from; i < to; i++) {
        for (let axis = 0; axis < 2; axis++) {
          const value = axisValue(xy, list[i] as number, axis);
          if (i === from || scales[axis] === PLAIN) double(value);
          const n = Math.round(value * (divisors[axis] as number));
          const step = n - (last[axis] as number);
          if (i > from && scales[axis] !== PLAIN) whole(step < 0 ? -2 * step - 1 : 2 * step);
          last[axis] = n;
        }
      }
      return bytes.subarray(0, at);
    },
  };
}

/** A blob's rings; the arrays are used again for the next blob. */
export interface Unpacked {
  readonly xy: Float64Array;
  /** The first half lists all vertices, ring starts marked; the second is free for `reduce`. */
  readonly list: Uint32Array;
  readonly vertices: number;
}

export function createUnpacker(): (bytes: Uint8Array) => Unpacked {
  let xy = new Float64Array(512);
  let list = new Uint32Array(512);
  let bytes: Uint8Array = new Uint8Array(0);
  let at = 0;

  function whole(): number {
    let byte = bytes[at++] as number;
    let low = byte & 127;
    for (let shift = 7; byte >= 128 && shift < 28; shift += 7) {
      byte = bytes[at++] as number;
      low |= (byte & 127) << shift;
    }
    if (byte < 128) return low;
    let high = 0;
    for (let factor = 1; byte >= 128; factor *= 128) {
      byte = bytes[at++] as number;
      high += (byte & 127) * factor;
    }
    return low + high * 0x1000_0000;
  }

  function step(): number {
    const value = whole();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  function reserve(vertices: number): void {
    if (vertices * 2 <= list.length) return;
    xy = new Float64Array(vertices * 2);
    list = new Uint32Array(vertices * 2);
  }

  function rings(): number {
    const lengths = Array.from({ length: whole() }, whole);
    const vertices = lengths.reduce((sum, length) => sum + length, 0);
    if (vertices > bytes.length) throw damaged('a piece of the map counts more vertices than it holds');
    reserve(vertices);
    for (let i = 0; i < vertices; i++) list[i] = i;
    let first = 0;
    for (const length of lengths) {
      list[first] = (first | RING) >>> 0;
      first += length;
    }
    return vertices;
  }

  return (blob) => {
    bytes = blob;
    at = 0;
    const vertices = rings();
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const scales = [blob[at++] as number, blob[at++] as number] as const;
    const divisors = [divisorOf(scales[0]), divisorOf(scales[1])] as const;
    const [divisorX, divisorY] = divisors;
    const [plainX, plainY] = [scales[0] === PLAIN, scales[1] === PLAIN];
    let stepsX = 0;
    let stepsY = 0;
    for (let i = 0; i < vertices; i++) {
      if (i === 0 || plainX) {
        const x = view.getFloat64(at, true);
        at += 8;
        xy[i * 2] = x;
        stepsX = Math.round(x * divisorX);
      } else {
        stepsX += step();
        xy[i * 2] = stepsX / divisorX;
      }
      if (i === 0 || plainY) {
        const y = view.getFloat64(at, true);
        at += 8;
        xy[i * 2 + 1] = y;
        stepsY = Math.round(y * divisorY);
      } else {
        stepsY += step();
        xy[i * 2 + 1] = stepsY / divisorY;
      }
    }
    return { xy, list, vertices };
  };
}
