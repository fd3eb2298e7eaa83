/** The index file held for a signal type: opens it and checks that it is whole. Loads no geometry code and looks nothing up. */

import { type Disk, DiskError, type OpenFile } from '../../domain/ports.ts';
import { damagedError, MapError, toMapFailure } from '../map-failure.ts';
import type { MapFailure, MapInfo } from '../region-types.ts';
import {
  BOX_WORDS,
  checkBlobRange,
  countParts,
  decodeHeader,
  GROUP_BYTES,
  HEADER_BYTES,
  type IndexHeader,
  MAX_NAME_BLOCK_BYTES,
  PAGE_BYTES,
  PAGE_PIECES,
  ROW,
  ROW_WORDS,
  verifyChecksum,
} from './index-layout.ts';
import type { DirectoryJson } from './index-writer.ts';

export interface IndexDirectory {
  readonly info: DirectoryJson;
  /** Boxes of the shelves, in grid steps. */
  readonly pageGroups: Int32Array;
  /** Where each block of names ends, counted from the first. */
  readonly nameEnds: Uint32Array;
}

export interface IndexFile {
  readonly file: OpenFile;
  readonly header: IndexHeader;
  readonly directory: IndexDirectory;
}

/** Region and its full name. */
export type NamePair = readonly [string, string];

export const indexFileName = (signalType: string) => `map.${signalType}.idx`;

function readWords(file: OpenFile, offset: number, length: number, what: string): Uint32Array {
  const words = new Uint32Array(length / 4);
  if (file.readNow(new Uint8Array(words.buffer), offset) !== length) throw damagedError(`${what} is cut short`);
  return words;
}

/** The words of a part of the file, its seal checked. */
function readVerified(file: OpenFile, offset: number, length: number, what: string): Uint32Array {
  const words = readWords(file, offset, length, what);
  verifyChecksum(words, 0, words.length, what);
  return words;
}

const readFileHeader = (file: OpenFile) =>
  decodeHeader(readWords(file, 0, HEADER_BYTES, 'the header of the map index'), file.size);

/** JSON behind `from` words, before the seal. */
function parseJsonPart(words: Uint32Array, from: number, what: string): unknown {
  try {
    return JSON.parse(Buffer.from(words.buffer, from * 4, words.byteLength - (from + 1) * 4).toString('utf8'));
  } catch {
    throw damagedError(`${what} is no JSON`);
  }
}

const COUNT_FIELDS = ['regions', 'features', 'polygons', 'vertices', 'pieces', 'sourceBytes'] as const;
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
/** A time that a calendar knows. */
const isTimestamp = (value: unknown) => typeof value === 'number' && !Number.isNaN(new Date(value).getTime());

function isDirectoryJson(value: unknown): value is DirectoryJson {
  if (typeof value !== 'object' || value === null) return false;
  const { signalType, lastUpdated, importedAt, ...counts } = value as Record<string, unknown>;
  return (
    typeof signalType === 'string' &&
    (lastUpdated === undefined || isTimestamp(lastUpdated)) &&
    isTimestamp(importedAt) &&
    COUNT_FIELDS.every((name) => isCount(counts[name]))
  );
}

function readDirectory(file: OpenFile, header: IndexHeader): IndexDirectory {
  const { directoryAt, directoryBytes } = header;
  const what = 'the directory of the map index';
  const words = readVerified(file, directoryAt, directoryBytes, what);
  const { pageGroups: shelves, blocks } = countParts(header);
  const boxes = shelves * BOX_WORDS;
  const info = parseJsonPart(words, boxes + blocks, what);
  if (!isDirectoryJson(info)) throw damagedError(`${what} does not tell what map it is of`);
  return {
    info,
    pageGroups: new Int32Array(words.buffer, 0, boxes),
    nameEnds: words.subarray(boxes, boxes + blocks),
  };
}

const isNameList = (value: unknown): value is readonly NamePair[] =>
  Array.isArray(value) &&
  value.every((name) => Array.isArray(name) && typeof name[0] === 'string' && typeof name[1] === 'string');

/** The names of the features `nth * BLOCK_NAMES` and following. */
export function readNameBlock({ file, header, directory }: IndexFile, block: number): readonly NamePair[] {
  const what = 'a name of the map index';
  const [from, to] = [directory.nameEnds[block - 1] ?? 0, directory.nameEnds[block] ?? 0];
  const length = to - from;
  if (length <= 0 || length > MAX_NAME_BLOCK_BYTES || length % 4 !== 0)
    throw damagedError(`${what} stands where none can be`);
  const names = parseJsonPart(readVerified(file, header.namesAt + from, length, what), 0, what);
  if (!isNameList(names)) throw damagedError(`${what} is no text`);
  return names;
}

/** Undefined when no map is held; a failure when there is one that cannot be used. The caller closes `file`. */
export async function openIndex(disk: Disk, signalType: string): Promise<IndexFile | MapFailure | undefined> {
  let file: OpenFile | undefined;
  try {
    file = await disk.open(indexFileName(signalType));
    if (file === undefined) return undefined;
    const header = readFileHeader(file);
    return { file, header, directory: readDirectory(file, header) };
  } catch (error) {
    await file?.close();
    return toMapFailure(error);
  }
}

/** The header of the map held, or undefined when there is none that can be used. Rejects with `DiskError`. */
export async function readIndexHeader(disk: Disk, signalType: string): Promise<IndexHeader | undefined> {
  const file = await disk.open(indexFileName(signalType));
  if (file === undefined) return undefined;
  try {
    return readFileHeader(file);
  } catch (error) {
    if (toMapFailure(error).kind === 'disk') throw error;
    return undefined;
  } finally {
    await file.close();
  }
}

/** The facts of the map held. */
export async function readMapInfo(disk: Disk, signalType: string): Promise<MapInfo | MapFailure | undefined> {
  const index = await openIndex(disk, signalType);
  if (index === undefined || 'kind' in index) return index;
  await index.file.close();
  return { ...index.directory.info, bytes: index.file.size };
}

/** As `readSealed`, and whatever else waits has its turn meanwhile. */
async function readVerifiedAsync(file: OpenFile, offset: number, length: number, what: string): Promise<Uint32Array> {
  const words = new Uint32Array(length / 4);
  const bytes = await file.read(offset, length);
  if (bytes.length !== length) throw damagedError(`${what} is cut short`);
  new Uint8Array(words.buffer).set(bytes);
  verifyChecksum(words, 0, words.length, what);
  return words;
}

/** A turn a page: tens of megabytes read at one go would hold up the loads for seconds on a slow card. */
async function verifyParts(index: IndexFile): Promise<void> {
  const { file, header } = index;
  const { pages, pageGroups: shelves, shelvesAt, blocks } = countParts(header);
  for (let nth = 0; nth < pages; nth++) {
    const at = header.pagesAt + nth * PAGE_BYTES;
    const page = await readVerifiedAsync(file, at, PAGE_BYTES, 'a page of the map index');
    const rows = Math.min(PAGE_PIECES, header.pieces - nth * PAGE_PIECES) * ROW_WORDS;
    for (let row = 0; row < rows; row += ROW_WORDS) {
      const [offset, length] = [page[row + ROW.offset], page[row + ROW.length]] as [number, number];
      if (length === 0) continue;
      checkBlobRange(header, offset, length);
      readVerified(file, offset, length, 'a piece of the map index');
    }
  }
  for (let nth = 0; nth < shelves; nth++)
    await readVerifiedAsync(file, shelvesAt + nth * GROUP_BYTES, GROUP_BYTES, 'a shelf of the map index');
  for (let nth = 0; nth < blocks; nth++) readNameBlock(index, nth);
}

/** Whether every part of the index held can be read and is what was written. */
export async function isIndexIntact(disk: Disk, signalType: string): Promise<boolean> {
  const index = await openIndex(disk, signalType);
  if (index === undefined || 'kind' in index) return false;
  try {
    await verifyParts(index);
    return true;
  } catch (error) {
    if (error instanceof MapError || error instanceof DiskError) return false;
    throw error;
  } finally {
    await index.file.close();
  }
}
