/** Keeps what was used last, up to a number of bytes. Times nothing out. */

export interface ByteCache<Value> {
  get(key: number): Value | undefined;
  /** A value larger than the whole cache is kept alone. */
  put(key: number, value: Value, bytes: number): void;
  readonly bytes: number;
}

/** What the engine spends on an entry and its array beside the bytes themselves. */
const ENTRY_BYTES = 250;

export function createByteCache<Value>(capacity: number): ByteCache<Value> {
  const entries = new Map<number, { readonly value: Value; readonly bytes: number }>();
  let used = 0;

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    put(key, value, size) {
      const bytes = size + ENTRY_BYTES;
      used += bytes - (entries.get(key)?.bytes ?? 0);
      entries.delete(key);
      entries.set(key, { value, bytes });
      for (const [oldest, entry] of entries) {
        if (used <= capacity || entries.size === 1) break;
        entries.delete(oldest);
        used -= entry.bytes;
      }
    },
    get bytes() {
      return used;
    },
  };
}
