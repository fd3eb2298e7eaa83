/** The index file held for a signal type: opens it and checks that it is whole. Loads no geometry code and looks nothing up. */

import type { Disk, OpenFile } from '../world.ts';
import { damaged, failureOf } from './failure.ts';
import type { DirectoryJson } from './index-writer.ts';
import { crcOf, HEADER_BYTES, type Header, unpackHeader } from './layout.ts';
import type { MapFailure, MapInfo } from './map.ts';

export interface Held {
  readonly file: OpenFile;
  readonly header: Header;
  readonly directory: DirectoryJson;
  /** The flatbush over the pages' boxes. */
  readonly tree: ArrayBuffer;
}

export const mapFile = (signalType: string) => `map.${signalType}.idx`;

function readDirectory(bytes: Uint8Array, header: Header): { directory: DirectoryJson; tree: ArrayBuffer } {
  if (crcOf(bytes) !== header.directoryCrc) throw damaged('the directory of the map index is damaged');
  const json = new TextDecoder().decode(bytes.subarray(header.treeBytes));
  const tree = new ArrayBuffer(header.treeBytes);
  new Uint8Array(tree).set(bytes.subarray(0, header.treeBytes));
  return { directory: JSON.parse(json) as DirectoryJson, tree };
}

/** Undefined when no map is held; a failure when there is one that cannot be used. The caller closes `file`. */
export async function openHeld(disk: Disk, signalType: string): Promise<Held | MapFailure | undefined> {
  let file: OpenFile | undefined;
  try {
    file = await disk.open(mapFile(signalType));
    if (file === undefined) return undefined;
    const header = unpackHeader(await file.read(0, HEADER_BYTES), file.size);
    const bytes = await file.read(header.directoryAt, header.treeBytes + header.jsonBytes);
    return { file, header, ...readDirectory(bytes, header) };
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
    return unpackHeader(await file.read(0, HEADER_BYTES), file.size);
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
