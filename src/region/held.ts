/** The index file held for a signal type: opens it and checks that it is whole. Loads no geometry code and looks nothing up. */

import { type Disk, DiskError, type OpenFile } from '../world.ts';
import { damaged, failureOf, MapError } from './failure.ts';
import type { DirectoryJson } from './index-writer.ts';
import {
  BOX_WORDS,
  checkBlob,
  checkSeal,
  countsOf,
  HEADER_BYTES,
  type Header,
  MOST_BLOCK_BYTES,
  PAGE_BYTES,
  PAGE_PIECES,
  ROW,
  ROW_WORDS,
  SHELF_BYTES,
  unpackHeader,
} from './layout.ts';
import type { MapFailure, MapInfo } from './map.ts';

export interface Directory {
  readonly info: DirectoryJson;
  /** Boxes of the shelves, in grid steps. */
  readonly shelves: Int32Array;
  /** Where each block of names ends, counted from the first. */
  readonly nameEnds: Uint32Array;
}

export interface Held {
  readonly file: OpenFile;
  readonly header: Header;
  readonly directory: Directory;
}

/** Region and its full name. */
export type Name = readonly [string, string];

export const mapFile = (signalType: string) => `map.${signalType}.idx`;

function readWords(file: OpenFile, offset: number, length: number, what: string): Uint32Array {
  const words = new Uint32Array(length / 4);
  if (file.readNow(new Uint8Array(words.buffer), offset) !== length) throw damaged(`${what} is cut short`);
  return words;
}

/** The words of a part of the file, its seal checked. */
function readSealed(file: OpenFile, offset: number, length: number, what: string): Uint32Array {
  const words = readWords(file, offset, length, what);
  checkSeal(words, 0, words.length, what);
  return words;
}

const headerOf = (file: OpenFile) =>
  unpackHeader(readWords(file, 0, HEADER_BYTES, 'the header of the map index'), file.size);

/** JSON behind `from` words, before the seal. */
function jsonIn(words: Uint32Array, from: number, what: string): unknown {
  try {
    return JSON.parse(Buffer.from(words.buffer, from * 4, words.byteLength - (from + 1) * 4).toString('utf8'));
  } catch {
    throw damaged(`${what} is no JSON`);
  }
}

const COUNTS = ['regions', 'features', 'polygons', 'vertices', 'pieces', 'sourceBytes'] as const;
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
/** A time that a calendar knows. */
const isTime = (value: unknown) => typeof value === 'number' && !Number.isNaN(new Date(value).getTime());

function isInfo(value: unknown): value is DirectoryJson {
  if (typeof value !== 'object' || value === null) return false;
  const { signalType, lastUpdated, importedAt, ...counts } = value as Record<string, unknown>;
  return (
    typeof signalType === 'string' &&
    (lastUpdated === undefined || isTime(lastUpdated)) &&
    isTime(importedAt) &&
    COUNTS.every((name) => isCount(counts[name]))
  );
}

function readDirectory(file: OpenFile, header: Header): Directory {
  const { directoryAt, directoryBytes } = header;
  const what = 'the directory of the map index';
  const words = readSealed(file, directoryAt, directoryBytes, what);
  const { shelves, blocks } = countsOf(header);
  const boxes = shelves * BOX_WORDS;
  const info = jsonIn(words, boxes + blocks, what);
  if (!isInfo(info)) throw damaged(`${what} does not tell what map it is of`);
  return {
    info,
    shelves: new Int32Array(words.buffer, 0, boxes),
    nameEnds: words.subarray(boxes, boxes + blocks),
  };
}

const areNames = (value: unknown): value is readonly Name[] =>
  Array.isArray(value) &&
  value.every((name) => Array.isArray(name) && typeof name[0] === 'string' && typeof name[1] === 'string');

/** The names of the features `nth * BLOCK_NAMES` and following. */
export function readNames({ file, header, directory }: Held, nth: number): readonly Name[] {
  const what = 'a name of the map index';
  const [from, to] = [directory.nameEnds[nth - 1] ?? 0, directory.nameEnds[nth] ?? 0];
  const length = to - from;
  if (length <= 0 || length > MOST_BLOCK_BYTES || length % 4 !== 0) throw damaged(`${what} stands where none can be`);
  const names = jsonIn(readSealed(file, header.namesAt + from, length, what), 0, what);
  if (!areNames(names)) throw damaged(`${what} is no text`);
  return names;
}

/** Undefined when no map is held; a failure when there is one that cannot be used. The caller closes `file`. */
export async function openHeld(disk: Disk, signalType: string): Promise<Held | MapFailure | undefined> {
  let file: OpenFile | undefined;
  try {
    file = await disk.open(mapFile(signalType));
    if (file === undefined) return undefined;
    const header = headerOf(file);
    return { file, header, directory: readDirectory(file, header) };
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

/** As `readSealed`, and whatever else waits has its turn meanwhile. */
async function readSealedInTurn(file: OpenFile, offset: number, length: number, what: string): Promise<Uint32Array> {
  const words = new Uint32Array(length / 4);
  const bytes = await file.read(offset, length);
  if (bytes.length !== length) throw damaged(`${what} is cut short`);
  new Uint8Array(words.buffer).set(bytes);
  checkSeal(words, 0, words.length, what);
  return words;
}

/** A turn a page: tens of megabytes read at one go would hold up the loads for seconds on a slow card. */
async function checkParts(held: Held): Promise<void> {
  const { file, header } = held;
  const { pages, shelves, shelvesAt, blocks } = countsOf(header);
  for (let nth = 0; nth < pages; nth++) {
    const at = header.pagesAt + nth * PAGE_BYTES;
    const page = await readSealedInTurn(file, at, PAGE_BYTES, 'a page of the map index');
    const rows = Math.min(PAGE_PIECES, header.pieces - nth * PAGE_PIECES) * ROW_WORDS;
    for (let row = 0; row < rows; row += ROW_WORDS) {
      const [offset, length] = [page[row + ROW.offset], page[row + ROW.length]] as [number, number];
      if (length === 0) continue;
      checkBlob(header, offset, length);
      readSealed(file, offset, length, 'a piece of the map index');
    }
  }
  for (let nth = 0; nth < shelves; nth++)
    await readSealedInTurn(file, shelvesAt + nth * SHELF_BYTES, SHELF_BYTES, 'a shelf of the map index');
  for (let nth = 0; nth < blocks; nth++) readNames(held, nth);
}

/** Whether every part of the index held can be read and is what was written. */
export async function isWhole(disk: Disk, signalType: string): Promise<boolean> {
  const held = await openHeld(disk, signalType);
  if (held === undefined || 'kind' in held) return false;
  try {
    await checkParts(held);
    return true;
  } catch (error) {
    if (error instanceof MapError || error instanceof DiskError) return false;
    throw error;
  } finally {
    await held.file.close();
  }
}
