/** Opens the index file of a signal type and reads its parts with their checksums. Loads no geometry code, because a start with a stored region needs none. */

import { type Disk, DiskError, type OpenFile } from '../../domain/ports.ts';
import { buildDamagedError, MapError, toMapFailure } from '../map-failure.ts';
import type { MapFailure, MapInfo } from '../region-types.ts';
import { verifyChecksum } from './checksum.ts';
import {
  BOX_WORDS,
  countParts,
  countRows,
  decodeHeader,
  decodeRow,
  HEADER_BYTES,
  type IndexHeader,
  locateGroup,
  locateNames,
  locatePage,
  locateRings,
  type Part,
  ROW_WORDS,
} from './index-layout.ts';
import type { DirectoryJson } from './index-writer.ts';

interface IndexDirectory {
  readonly info: DirectoryJson;
  /** Boxes of the page groups. */
  readonly groupBoxes: Int32Array;
  /** Where each block of names ends, counted from the first. */
  readonly nameEnds: Int32Array;
}

export interface IndexFile {
  readonly file: OpenFile;
  readonly header: IndexHeader;
  readonly directory: IndexDirectory;
}

/** Region and its full name. */
export type NamePair = readonly [string, string];

export const buildIndexFileName = (signalType: string) => `map.${signalType}.idx`;

const toBytes = (words: Int32Array) => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

function checkPart(words: Int32Array, bytesRead: number, { salt }: IndexHeader, { offset, length, what }: Part): void {
  if (bytesRead !== length) throw buildDamagedError(`${what} is cut short`);
  verifyChecksum(words, salt, offset, what);
}

/** Reads a part into `words` and checks it. */
export function readPart(
  { file, header }: Pick<IndexFile, 'file' | 'header'>,
  part: Part,
  words: Int32Array = new Int32Array(part.length / 4),
): Int32Array {
  checkPart(words, file.readNow(toBytes(words), part.offset), header, part);
  return words;
}

/** As `readPart`, while other work has its turn. */
async function readPartAsync({ file, header }: IndexFile, part: Part): Promise<Int32Array> {
  const words = new Int32Array(part.length / 4);
  const bytes = await file.read(part.offset, part.length);
  toBytes(words).set(bytes);
  checkPart(words, bytes.length, header, part);
  return words;
}

function readHeader(file: OpenFile): IndexHeader {
  const words = new Int32Array(HEADER_BYTES / 4);
  file.readNow(toBytes(words), 0);
  return decodeHeader(words, file.size);
}

/** The JSON after `from` words, up to the checksum. */
function parseJsonPart(words: Int32Array, from: number, what: string): unknown {
  try {
    return JSON.parse(Buffer.from(words.buffer, from * 4, words.byteLength - (from + 1) * 4).toString('utf8'));
  } catch {
    throw buildDamagedError(`${what} is no JSON`);
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
  const words = readPart({ file, header }, { offset: directoryAt, length: directoryBytes, what });
  const { groups, nameBlocks } = countParts(header);
  const boxes = groups * BOX_WORDS;
  const info = parseJsonPart(words, boxes + nameBlocks, what);
  if (!isDirectoryJson(info)) throw buildDamagedError(`${what} does not tell what map it is of`);
  return { info, groupBoxes: words.subarray(0, boxes), nameEnds: words.subarray(boxes, boxes + nameBlocks) };
}

const isNameList = (value: unknown): value is readonly NamePair[] =>
  Array.isArray(value) &&
  value.every((name) => Array.isArray(name) && typeof name[0] === 'string' && typeof name[1] === 'string');

/** The names of the features from `block * NAMES_PER_BLOCK` on. */
export function readNameBlock(index: IndexFile, block: number): readonly NamePair[] {
  const part = locateNames(index.header, index.directory.nameEnds, block);
  const names = parseJsonPart(readPart(index, part), 0, part.what);
  if (!isNameList(names)) throw buildDamagedError(`${part.what} is no text`);
  return names;
}

/** Undefined when there is no index; a failure when it cannot be used. The caller closes `file`. */
export async function openIndex(disk: Disk, signalType: string): Promise<IndexFile | MapFailure | undefined> {
  let file: OpenFile | undefined;
  try {
    file = await disk.open(buildIndexFileName(signalType));
    if (file === undefined) return undefined;
    const header = readHeader(file);
    return { file, header, directory: readDirectory(file, header) };
  } catch (error) {
    await file?.close();
    return toMapFailure(error);
  }
}

/** Undefined when there is no index that can be used. Rejects with `DiskError`. */
export async function readIndexHeader(disk: Disk, signalType: string): Promise<IndexHeader | undefined> {
  const file = await disk.open(buildIndexFileName(signalType));
  if (file === undefined) return undefined;
  try {
    return readHeader(file);
  } catch (error) {
    if (error instanceof MapError) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}

export const toMapInfo = ({ directory, file }: IndexFile): MapInfo => ({ ...directory.info, bytes: file.size });

export async function readMapInfo(disk: Disk, signalType: string): Promise<MapInfo | MapFailure | undefined> {
  const index = await openIndex(disk, signalType);
  if (index === undefined || 'kind' in index) return index;
  await index.file.close();
  return toMapInfo(index);
}

/** A turn a page: tens of megabytes read at once would delay the control loop for seconds on a slow card. */
async function verifyParts(index: IndexFile): Promise<void> {
  const { header } = index;
  const { pages, groups, nameBlocks } = countParts(header);
  for (let page = 0; page < pages; page++) {
    const words = await readPartAsync(index, locatePage(header, page));
    for (let i = 0; i < countRows(header, page); i++) {
      const row = decodeRow(words, i * ROW_WORDS);
      if (row.length > 0) readPart(index, locateRings(header, row));
    }
  }
  for (let group = 0; group < groups; group++) await readPartAsync(index, locateGroup(header, group));
  for (let block = 0; block < nameBlocks; block++) readNameBlock(index, block);
}

/** Whether every part of the index can be read and is what was written. */
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
