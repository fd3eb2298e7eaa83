/** Keeps small documents in two generations, each with a checksum: a torn or damaged one costs at most the last change. Never blocks who saves. */

import { crc32 } from 'node:zlib';
import { type Disk, DiskError } from '../world.ts';

export interface Loaded {
  readonly bytes: Uint8Array;
  /** The newest generation could not be read; this is the one before. */
  readonly older: boolean;
}

export interface Store {
  /** Undefined when nothing readable is there. */
  load(name: string): Promise<Loaded | undefined>;
  /** Resolves when these bytes, or later ones for the same name, are durable; false when the disk refused. */
  save(name: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Adds whole lines to a file; not kept in generations. Durable when it resolves with true. The first addition of a
   * life begins on a new line, so that a line torn by a power cut hides none that comes after.
   */
  append(name: string, bytes: Uint8Array): Promise<boolean>;
}

/** Magic, generation (u32), CRC-32 of generation and content (u32), content. Little endian. */
const MAGIC = 'gtst';
const HEAD = 12;
const SLOTS = ['a', 'b'] as const;
const NEW_LINE = new TextEncoder().encode('\n');

function sealed(generation: number, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEAD + content.length);
  bytes.set(new TextEncoder().encode(MAGIC));
  bytes.set(content, HEAD);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, generation, true);
  view.setUint32(8, crc32(content, generation), true);
  return bytes;
}

function opened(bytes: Uint8Array): { readonly generation: number; readonly content: Uint8Array } | undefined {
  if (bytes.length < HEAD || new TextDecoder().decode(bytes.subarray(0, 4)) !== MAGIC) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const generation = view.getUint32(4, true);
  const content = bytes.subarray(HEAD);
  return view.getUint32(8, true) === crc32(content, generation) ? { generation, content } : undefined;
}

interface Writer {
  generation: number;
  /** The newest content nobody has begun to write. */
  next?: Uint8Array;
  writing?: Promise<boolean>;
}

/** `trouble` is told what the disk said, or nothing when it works again. */
export function createStore(disk: Disk, trouble: (failure: DiskError | undefined) => void): Store {
  const writers = new Map<string, Writer>();
  const begun = new Set<string>();

  const guarded = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      trouble(undefined);
      return true;
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      trouble(error);
      return false;
    }
  };

  const readSlot = async (name: string, slot: string) => {
    try {
      const bytes = await disk.read(`${name}.${slot}`);
      return { there: bytes !== undefined, found: bytes === undefined ? undefined : opened(bytes) };
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      trouble(error);
      return { there: true, found: undefined };
    }
  };

  const writerOf = (name: string): Writer => {
    const writer = writers.get(name) ?? { generation: 0 };
    writers.set(name, writer);
    return writer;
  };

  const writeAll = async (name: string, writer: Writer): Promise<boolean> => {
    let done = true;
    while (writer.next !== undefined) {
      const content = writer.next;
      delete writer.next;
      const generation = writer.generation + 1;
      done = await guarded(() => disk.replace(`${name}.${SLOTS[generation % 2]}`, sealed(generation, content)));
      if (done) writer.generation = generation;
    }
    delete writer.writing;
    return done;
  };

  return {
    async load(name) {
      const slots = await Promise.all(SLOTS.map((slot) => readSlot(name, slot)));
      const readable = slots.flatMap(({ found }) => found ?? []).sort((a, b) => b.generation - a.generation);
      const newest = readable[0];
      if (newest === undefined) return undefined;
      writerOf(name).generation = newest.generation;
      return { bytes: newest.content, older: slots.some(({ there, found }) => there && found === undefined) };
    },
    save(name, bytes) {
      const writer = writerOf(name);
      writer.next = bytes;
      writer.writing ??= writeAll(name, writer);
      return writer.writing;
    },
    append(name, bytes) {
      const whole = begun.has(name) ? bytes : new Uint8Array([...NEW_LINE, ...bytes]);
      return guarded(async () => {
        await disk.append(name, whole, { sync: true });
        begun.add(name);
      });
    },
  };
}
