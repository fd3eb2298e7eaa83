/** Keeps the parts of a file read last in one block of memory: the oldest make room. Allocates nothing per part, times nothing out. */

export interface ByteRing {
  /** The block as bytes and, for parts of whole words, as signed and unsigned words. */
  readonly bytes: Uint8Array;
  readonly signed: Int32Array;
  readonly words: Uint32Array;
  /** Where the part with this key stands, a multiple of 8; undefined when it is not held. */
  find(key: number): number | undefined;
  /** Makes room for a part of at most the capacity and gives its place, to be filled at once. Any other part may be gone after. */
  add(key: number, length: number): number;
  forget(key: number): void;
}

export function createByteRing(capacity: number): ByteRing {
  const block = new ArrayBuffer(capacity);
  /** Places by key, the oldest first; behind the newest stands the oldest. */
  const places = new Map<number, number>();
  let head = 0;

  /** Drops the oldest parts that start within a stretch. */
  function clear(from: number, to: number): void {
    for (const [key, place] of places) {
      if (place < from || place >= to) return;
      places.delete(key);
    }
  }

  return {
    bytes: new Uint8Array(block),
    signed: new Int32Array(block),
    words: new Uint32Array(block),
    find: (key) => places.get(key),
    add(key, length) {
      if (length > capacity) throw new Error(`${length} bytes do not fit into ${capacity}`);
      if (head + length > capacity) {
        clear(head, capacity);
        head = 0;
      }
      clear(head, head + length);
      const place = head;
      places.set(key, place);
      head = Math.ceil((head + length) / 8) * 8;
      return place;
    },
    forget(key) {
      places.delete(key);
    },
  };
}
