/** The index file held for a signal type: opens it and checks that it is whole. Loads no geometry code and looks nothing up. */

import type { Disk, OpenFile } from '../world.ts';
import { damaged, failureOf } from './failure.ts';
import type { DirectoryJson } from './index-writer.ts';
import { checkSeal, HEADER_BYTES, type Header, unpackHeader } from './layout.ts';
import type { MapFailure, MapInfo } from './map.ts';

export interface Held {
  readonly file: OpenFile;
  readonly header: Header;
  readonly directory: DirectoryJson;
  /** The flatbush over the pages' boxes. */
  readonly tree: ArrayBuffer;
}

export const mapFile = (signalType: string) => `map.${signalType}.idx`;

function readWords(file: OpenFile, offset: number, length: number, what: string): Uint32Array {
  const words = new Uint32Array(length / 4);
  if (file.readNow(new Uint8Array(words.buffer), offset) !== length) throw damaged(`${what} is cut short`);
  return words;
}

const headerOf = (file: OpenFile) =>
  unpackHeader(readWords(file, 0, HEADER_BYTES, 'the header of the map index'), file.size);

function readDirectory(file: OpenFile, header: Header): { directory: DirectoryJson; tree: ArrayBuffer } {
  const { directoryAt, directoryBytes, treeBytes } = header;
  const words = readWords(file, directoryAt, directoryBytes, 'the directory of the map index');
  checkSeal(words, 0, words.length, 'the directory of the map index');
  const json = Buffer.from(words.buffer, treeBytes, directoryBytes - treeBytes - 4).toString('utf8');
  return { directory: JSON.parse(json) as DirectoryJson, tree: words.buffer.slice(0, treeBytes) as ArrayBuffer };
}

/** Undefined when no map is held; a failure when there is one that cannot be used. The caller closes `file`. */
export async function openHeld(disk: Disk, signalType: string): Promise<Held | MapFailure | undefined> {
  let file: OpenFile | undefined;
  try {
    file = await disk.open(mapFile(signalType));
    if (file === undefined) return undefined;
    const header = headerOf(file);
    return { file, header, ...readDirectory(file, header) };
  } catch (error) {
    await file?.close();
    return failureOf(error);
  }
}

/** The header of the map held, or undefined when there is none that can be used. Rejects with `DiskError`. */
export async function readHeader(disk: Disk, signalType: string): Promise<Header | undefined> {
  const file = await disk.open(mapFile(signalType));
  if (file === undefined) return undefined;
  try {
    return headerOf(file);
  } catch (error) {
    if (failureOf(error).kind === 'disk') throw error;
    return undefined;
  } finally {
    await file.close();
  }
}

/** The facts of the map held. */
export async function mapInfo(disk: Disk, signalType: string): Promise<MapInfo | MapFailure | undefined> {
  const held = await openHeld(disk, signalType);
  if (held === undefined || 'kind' in held) return held;
  await held.file.close();
  return { ...held.directory.info, bytes: held.file.size };
}
