/** Keeps the parts of a file read last in one block of memory: the oldest make room. Allocates nothing per part, times nothing out. */

export interface PageCache {
  /** The block as bytes, and as signed and unsigned words. Another one after `add`. */
  bytes(): Uint8Array;
  signedWords(): Int32Array;
  words(): Uint32Array;
  /** Where the part with this key stands, a multiple of 8; undefined when it is not held. */
  find(key: number): number | undefined;
  /** Makes room for a part of at most the capacity, lets `fill` write it at a place, and gives the place. Any other part may be gone after. */
  add(key: number, length: number, fill: (place: number) => void): number;
}

/** One lookup needs no more; the whole block is made when it is full. */
const INITIAL_CACHE_BYTES = 1 << 17;

export function createPageCache(capacity: number): PageCache {
  let size = Math.min(INITIAL_CACHE_BYTES, capacity);
  let bytes = new Uint8Array(size);
  let signedView = new Int32Array(bytes.buffer);
  let words = new Uint32Array(bytes.buffer);
  const offsets = new Map<number, number>();
  /** Keys in the order they came, from `oldest` on: a map that is walked from its start steps over all it has lost. */
  let keys: number[] = [];
  let oldest = 0;
  let head = 0;

  function grow(): void {
    const larger = new Uint8Array(capacity);
    larger.set(bytes);
    [size, bytes] = [capacity, larger];
    signedView = new Int32Array(bytes.buffer);
    words = new Uint32Array(bytes.buffer);
  }

  /** Drops the oldest parts that start within a stretch; behind the newest stands the oldest. */
  function evictRange(from: number, to: number): void {
    for (; oldest < keys.length; oldest++) {
      const key = keys[oldest] as number;
      const place = offsets.get(key) as number;
      if (place < from || place >= to) return;
      offsets.delete(key);
    }
  }

  function makeRoom(length: number): number {
    if (length > capacity) throw new Error(`${length} bytes do not fit into ${capacity}`);
    if (head + length > size && size < capacity) grow();
    if (head + length > size) {
      evictRange(head, size);
      head = 0;
    }
    evictRange(head, head + length);
    if (oldest > 4_096) {
      keys = keys.slice(oldest);
      oldest = 0;
    }
    return head;
  }

  return {
    bytes: () => bytes,
    signedWords: () => signedView,
    words: () => words,
    find: (key) => offsets.get(key),
    add(key, length, fill) {
      const place = makeRoom(length);
      fill(place);
      offsets.set(key, place);
      keys.push(key);
      head = Math.ceil((place + length) / 8) * 8;
      return place;
    },
  };
}
