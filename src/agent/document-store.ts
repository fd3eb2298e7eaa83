/** Keeps small documents in two generations, each with a checksum: a torn or damaged one costs at most the last change. Never blocks who saves. */

import { crc32 } from 'node:zlib';
import { type Disk, DiskError } from '../domain/ports.ts';

export interface LoadedDocument {
  readonly bytes: Uint8Array;
  /** The newest generation could not be read; this is the one before. */
  readonly isPrevious: boolean;
}

export interface DocumentStore {
  /** Undefined when nothing readable is there. */
  load(name: string): Promise<LoadedDocument | undefined>;
  /** Resolves when these bytes, or later ones for the same name, are durable; false when the disk refused. */
  save(name: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Adds whole lines to a file; not kept in generations. Durable when it resolves with true. The first addition of a
   * life begins on a new line, so that a line torn by a power cut hides none that comes after.
   */
  append(name: string, bytes: Uint8Array): Promise<boolean>;
}

/** Magic, generation (u32), CRC-32 of generation and content (u32), content. Little endian. */
const DOCUMENT_MAGIC = 'gtst';
const HEADER_BYTES = 12;
const GENERATION_SLOTS = ['a', 'b'] as const;
const NEW_LINE = new TextEncoder().encode('\n');

function sealDocument(generation: number, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + content.length);
  bytes.set(new TextEncoder().encode(DOCUMENT_MAGIC));
  bytes.set(content, HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, generation, true);
  view.setUint32(8, crc32(content, generation), true);
  return bytes;
}

function openDocument(bytes: Uint8Array): { readonly generation: number; readonly content: Uint8Array } | undefined {
  if (bytes.length < HEADER_BYTES || new TextDecoder().decode(bytes.subarray(0, 4)) !== DOCUMENT_MAGIC)
    return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const generation = view.getUint32(4, true);
  const content = bytes.subarray(HEADER_BYTES);
  return view.getUint32(8, true) === crc32(content, generation) ? { generation, content } : undefined;
}

interface DocumentWriter {
  generation: number;
  /** The newest content nobody has begun to write. */
  pending?: Uint8Array;
  writing?: Promise<boolean>;
}

/** `trouble` is told what the disk said, or nothing when it works again. */
export function createDocumentStore(disk: Disk, onDiskResult: (failure: DiskError | undefined) => void): DocumentStore {
  const writers = new Map<string, DocumentWriter>();
  const appendedFiles = new Set<string>();

  const tryDisk = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      onDiskResult(undefined);
      return true;
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      onDiskResult(error);
      return false;
    }
  };

  const readSlot = async (name: string, slot: string) => {
    try {
      const bytes = await disk.read(`${name}.${slot}`);
      return { there: bytes !== undefined, found: bytes === undefined ? undefined : openDocument(bytes) };
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      onDiskResult(error);
      return { there: true, found: undefined };
    }
  };

  const getWriter = (name: string): DocumentWriter => {
    const writer = writers.get(name) ?? { generation: 0 };
    writers.set(name, writer);
    return writer;
  };

  const writePending = async (name: string, writer: DocumentWriter): Promise<boolean> => {
    let done = true;
    while (writer.pending !== undefined) {
      const content = writer.pending;
      delete writer.pending;
      const generation = writer.generation + 1;
      done = await tryDisk(() =>
        disk.replace(`${name}.${GENERATION_SLOTS[generation % 2]}`, sealDocument(generation, content)),
      );
      if (done) writer.generation = generation;
    }
    delete writer.writing;
    return done;
  };

  return {
    async load(name) {
      const slots = await Promise.all(GENERATION_SLOTS.map((slot) => readSlot(name, slot)));
      const readable = slots.flatMap(({ found }) => found ?? []).sort((a, b) => b.generation - a.generation);
      const newest = readable[0];
      if (newest === undefined) return undefined;
      getWriter(name).generation = newest.generation;
      return { bytes: newest.content, isPrevious: slots.some(({ there, found }) => there && found === undefined) };
    },
    save(name, bytes) {
      const writer = getWriter(name);
      writer.pending = bytes;
      writer.writing ??= writePending(name, writer);
      return writer.writing;
    },
    append(name, bytes) {
      const content = appendedFiles.has(name) ? bytes : new Uint8Array([...NEW_LINE, ...bytes]);
      return tryDisk(async () => {
        await disk.append(name, content, { sync: true });
        appendedFiles.add(name);
      });
    },
  };
}
