/** Caches the parts of a file read last in one block of memory, without allocating per part. */

export interface PageCache {
  /** The block as bytes and as words; other arrays after `add`. */
  bytes(): Uint8Array;
  words(): Int32Array;
  /** The position of the part with this key, a multiple of 8; undefined when it is not in the cache. */
  find(key: number): number | undefined;
  /** Makes room for a part of at most the capacity, lets `fill` write it and returns its position. It may overwrite any other part. */
  add(key: number, length: number, fill: (at: number) => void): number;
}

/** One lookup needs no more; the whole block is allocated when this is full. */
const INITIAL_CACHE_BYTES = 1 << 17;

export function createPageCache(capacity: number): PageCache {
  let size = Math.min(INITIAL_CACHE_BYTES, capacity);
  let bytes = new Uint8Array(size);
  let words = new Int32Array(bytes.buffer);
  const offsets = new Map<number, number>();
  /** Keys in the order they came, from `oldest` on: iterating the map instead would step over all deleted entries. */
  let keys: number[] = [];
  let oldest = 0;
  let head = 0;

  function grow(): void {
    const larger = new Uint8Array(capacity);
    larger.set(bytes);
    [size, bytes] = [capacity, larger];
    words = new Int32Array(bytes.buffer);
  }

  /** Drops the oldest parts that start within a range; the oldest follows the newest. */
  function evictRange(from: number, to: number): void {
    for (; oldest < keys.length; oldest++) {
      const key = keys[oldest] as number;
      const at = offsets.get(key) as number;
      if (at < from || at >= to) return;
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
    words: () => words,
    find: (key) => offsets.get(key),
    add(key, length, fill) {
      const at = makeRoom(length);
      fill(at);
      offsets.set(key, at);
      keys.push(key);
      head = Math.ceil((at + length) / 8) * 8;
      return at;
    },
  };
}
