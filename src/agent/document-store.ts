/** Stores small documents in two generations with checksums: a torn or damaged one costs at most the last change. */

import { crc32 } from 'node:zlib';
import { type Disk, DiskError } from '../domain/ports.ts';

interface LoadedDocument {
  readonly bytes: Uint8Array;
  /** The newest generation could not be read; this is the one before. */
  readonly isPrevious: boolean;
}

export interface DocumentStore {
  /** Undefined when no generation can be read. */
  load(name: string): Promise<LoadedDocument | undefined>;
  /** Whether the last `load` found generations and could read none. */
  isUnreadable(name: string): boolean;
  /** Resolves when these bytes, or later ones for the same name, are durable; false when the disk refused. */
  save(name: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Adds whole lines to a file; not kept in generations. Durable when it resolves with true. The first addition of a
   * life begins on a new line, so that a line torn by a power cut hides none that comes after.
   */
  append(name: string, bytes: Uint8Array): Promise<boolean>;
}

/** Magic, CRC-32 of all that follows (u32), generation (u32), length of the content (u32), content, zeros. Little endian. */
const DOCUMENT_MAGIC = 'gtdo';
const SUMMED_FROM = 8;
const HEADER_BYTES = 16;
/** Documents are filled up to whole blocks of the device, so that the next generation but one fits over this one. */
const BLOCK_BYTES = 4096;
const GENERATION_SLOTS = ['a', 'b'] as const;
const NEW_LINE = new TextEncoder().encode('\n');

function sealDocument(generation: number, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((HEADER_BYTES + content.length) / BLOCK_BYTES) * BLOCK_BYTES);
  bytes.set(new TextEncoder().encode(DOCUMENT_MAGIC));
  bytes.set(content, HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(8, generation, true);
  view.setUint32(12, content.length, true);
  view.setUint32(4, crc32(bytes.subarray(SUMMED_FROM)), true);
  return bytes;
}

function openDocument(bytes: Uint8Array): { readonly generation: number; readonly content: Uint8Array } | undefined {
  if (bytes.length < HEADER_BYTES || new TextDecoder().decode(bytes.subarray(0, 4)) !== DOCUMENT_MAGIC)
    return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(4, true) !== crc32(bytes.subarray(SUMMED_FROM))) return undefined;
  const generation = view.getUint32(8, true);
  return { generation, content: bytes.slice(HEADER_BYTES, HEADER_BYTES + view.getUint32(12, true)) };
}

interface DocumentWriter {
  /** Of the newest on the disk; undefined until it has been read. */
  generation: number | undefined;
  /** The newest content that no write has begun with. */
  pending?: Uint8Array;
  writing?: Promise<boolean>;
}

/** `onDiskResult` gets the error of each access to the disk, or undefined when it succeeded and neither appending nor overwriting fails. */
export function createDocumentStore(disk: Disk, onDiskResult: (failure: DiskError | undefined) => void): DocumentStore {
  const writers = new Map<string, DocumentWriter>();
  const appendedFiles = new Set<string>();
  const unreadable = new Set<string>();
  const guard = guardDisk(onDiskResult);

  const getWriter = (name: string): DocumentWriter => {
    const writer = writers.get(name) ?? { generation: undefined };
    writers.set(name, writer);
    return writer;
  };

  const load = async (name: string): Promise<LoadedDocument | undefined> => {
    const slots = await Promise.all(GENERATION_SLOTS.map((slot) => readSlot(disk, `${name}.${slot}`, onDiskResult)));
    const readable = slots.flatMap(({ found }) => found ?? []).sort((a, b) => b.generation - a.generation);
    const newest = readable[0];
    getWriter(name).generation ??= newest?.generation ?? 0;
    const isPrevious = slots.some(({ isThere, found }) => isThere && found === undefined);
    if (isPrevious && newest === undefined) unreadable.add(name);
    else unreadable.delete(name);
    return newest && { bytes: newest.content, isPrevious };
  };

  const writePending = async (name: string, writer: DocumentWriter): Promise<boolean> => {
    let isDurable = true;
    // A generation below one on the disk would count as the older of the two.
    if (writer.generation === undefined) await load(name);
    while (writer.pending !== undefined) {
      const content = writer.pending;
      delete writer.pending;
      const generation = (writer.generation ?? 0) + 1;
      const file = `${name}.${GENERATION_SLOTS[generation % 2]}`;
      // The other slot holds the generation before until this one is durable.
      isDurable = await guard('overwrite', () => disk.overwrite(file, sealDocument(generation, content)));
      if (isDurable) writer.generation = generation;
    }
    delete writer.writing;
    return isDurable;
  };

  return {
    load,
    isUnreadable: (name) => unreadable.has(name),
    save(name, bytes) {
      const writer = getWriter(name);
      writer.pending = bytes;
      writer.writing ??= writePending(name, writer);
      return writer.writing;
    },
    append(name, bytes) {
      const content = appendedFiles.has(name) ? bytes : new Uint8Array([...NEW_LINE, ...bytes]);
      return guard('append', async () => {
        await disk.append(name, content, { sync: true });
        appendedFiles.add(name);
      });
    },
  };
}

/**
 * Runs work on a disk: true when it worked, false when the disk refused. A full disk still takes what overwrites a file in place: that ends
 * no trouble of what is appended.
 */
function guardDisk(onDiskResult: (failure: DiskError | undefined) => void) {
  const refused = new Set<'append' | 'overwrite'>();
  return async (kind: 'append' | 'overwrite', work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      refused.delete(kind);
      if (refused.size === 0) onDiskResult(undefined);
      return true;
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      refused.add(kind);
      onDiskResult(error);
      return false;
    }
  };
}

async function readSlot(disk: Disk, file: string, onDiskError: (failure: DiskError) => void) {
  try {
    const bytes = await disk.read(file);
    return { isThere: bytes !== undefined, found: bytes === undefined ? undefined : openDocument(bytes) };
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    onDiskError(error);
    return { isThere: true, found: undefined };
  }
}
