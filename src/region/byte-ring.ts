/** Keeps the parts of a file read last in one block of memory: the oldest make room. Allocates nothing per part, times nothing out. */

export interface ByteRing {
  /** The block as bytes and, for parts of whole words, as signed and unsigned words. */
  readonly bytes: Uint8Array;
  readonly signed: Int32Array;
  readonly words: Uint32Array;
  /** Where the part with this key stands, a multiple of 8; undefined when it is not held. */
  find(key: number): number | undefined;
  /** Makes room for a part of at most the capacity, lets `fill` write it, and gives its place. Any other part may be gone after. */
  add(key: number, length: number, fill: (target: Uint8Array) => void): number;
}

export function createByteRing(capacity: number): ByteRing {
  const block = new ArrayBuffer(capacity);
  const bytes = new Uint8Array(block);
  const places = new Map<number, number>();
  /** Keys in the order they came, from `oldest` on: a map that is walked from its start steps over all it has lost. */
  let keys: number[] = [];
  let oldest = 0;
  let head = 0;

  /** Drops the oldest parts that start within a stretch; behind the newest stands the oldest. */
  function clear(from: number, to: number): void {
    for (; oldest < keys.length; oldest++) {
      const key = keys[oldest] as number;
      const place = places.get(key) as number;
      if (place < from || place >= to) return;
      places.delete(key);
    }
  }

  function room(length: number): number {
    if (length > capacity) throw new Error(`${length} bytes do not fit into ${capacity}`);
    if (head + length > capacity) {
      clear(head, capacity);
      head = 0;
    }
    clear(head, head + length);
    if (oldest > 4_096) {
      keys = keys.slice(oldest);
      oldest = 0;
    }
    return head;
  }

  return {
    bytes,
    signed: new Int32Array(block),
    words: new Uint32Array(block),
    find: (key) => places.get(key),
    add(key, length, fill) {
      const place = room(length);
      fill(bytes.subarray(place, place + length));
      places.set(key, place);
      keys.push(key);
      head = Math.ceil((place + length) / 8) * 8;
      return place;
    },
  };
}
