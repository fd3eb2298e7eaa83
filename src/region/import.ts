/** Turns a map that streams in into the index held, when it passes the checks; until then, and when it does not, the old one stays. */

import { instantOf } from '../times.ts';
import { counted, type Instant, iso, type Place } from '../units.ts';
import { HttpError, type NewFile } from '../world.ts';
import { failureOf, MapError, tooLarge } from './failure.ts';
import { createMapReader, type MapReader } from './geojson.ts';
import { isWhole, mapFile, mapInfo } from './held.ts';
import { saveHome, storedHome } from './home.ts';
import { createHomeWatch, type HomeWatch } from './home-watch.ts';
import { createIndexWriter, type IndexWriter } from './index-writer.ts';
import { covers, openMap } from './lookup.ts';
import type { HomeRegion, ImportLimits, ImportOptions, ImportResult, MapInfo } from './map.ts';
import { type FoundRegion, regionChange } from './renewal.ts';
import { createSplitter } from './split.ts';

/** Far above any grid map: real ones have some hundreds of regions and tens of megabytes. */
const LIMITS: ImportLimits = {
  sourceBytes: 1 << 30,
  polygonVertices: 1 << 21,
  features: 20_000,
  pieces: 1 << 20,
  indexBytes: 1 << 30,
  nameBytes: 1_000,
  depth: 64,
};

/** A new map with fewer regions than this share of the held ones is a mistake until somebody says otherwise. */
const LEAST_SHARE = 0.5;

interface Counts {
  polygons: number;
  vertices: number;
}

/** What is held before the import. */
interface Before {
  readonly info: MapInfo | undefined;
  readonly home: HomeRegion | undefined;
}

async function before({ disk, signalType, home }: ImportOptions): Promise<Before> {
  const held = await mapInfo(disk, signalType);
  const info = held === undefined || 'kind' in held ? undefined : held;
  return { info, home: home && (await storedHome(disk, signalType, home)) };
}

/** The chunks, with the source's trouble told as such, counted, and ended by `stop`. */
async function* watched(options: ImportOptions, limits: ImportLimits): AsyncGenerator<Uint8Array, void, void> {
  const { chunks, stop } = options;
  let bytes = 0;
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await source.next().catch((error: unknown) => {
        throw sourceError(error);
      });
      // First, for a source that is stopped may just end.
      if (stop?.aborted) throw new MapError({ kind: 'stopped', message: 'the import was stopped' });
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > limits.sourceBytes) throw tooLarge(`the map is larger than ${limits.sourceBytes} bytes`);
      yield next.value;
    }
  } finally {
    await source.return?.()?.catch(() => {});
  }
}

function sourceError(error: unknown): MapError {
  if (error instanceof MapError) return error;
  const cause =
    error instanceof HttpError ? error.failure.cause : error instanceof Error ? error.message : String(error);
  return new MapError({ kind: 'source', message: `the map did not arrive whole: ${cause}` });
}

function lastUpdatedOf({ meta, offset }: MapReader): Instant | undefined {
  const text = meta.lastUpdated;
  if (text === undefined) return undefined;
  const at = instantOf(text);
  if (at !== undefined) return at;
  const message = `meta.last_updated is "${text.slice(0, 40)}", expected a date of the calendar and a time with its zone`;
  throw new MapError({ kind: 'malformed', at: offset(), message });
}

function checkSignal({ meta }: MapReader, signalType: string): void {
  if (meta.signalType === undefined || meta.signalType === signalType) return;
  const message = `the map is of ${meta.signalType.slice(0, 40)}, expected ${signalType}`;
  throw new MapError({ kind: 'wrong-signal', message });
}

/** Thrown to leave the stream when `meta` tells that nothing is new. */
class Unchanged extends Error {}

interface Work {
  readonly options: ImportOptions;
  readonly limits: ImportLimits;
  readonly held: Before;
  readonly reader: MapReader;
  readonly counts: Counts;
  readonly watch: HomeWatch | undefined;
  readonly split: ReturnType<typeof createSplitter>;
  /** Looked at when it matters, once. */
  heldIsWhole?: boolean;
  file?: NewFile;
  writer?: IndexWriter;
}

/** `meta` may stand first or last: what it tells is checked as soon as it is there. A damaged index is replaced by the same map. */
async function checkMeta(work: Work): Promise<void> {
  const { options, held, reader } = work;
  checkSignal(reader, options.signalType);
  const lastUpdated = lastUpdatedOf(reader);
  if (lastUpdated === undefined || lastUpdated !== held.info?.lastUpdated || options.force) return;
  work.heldIsWhole ??= await isWhole(options.disk, options.signalType);
  if (work.heldIsWhole) throw new Unchanged();
}

async function writerOf(work: Work): Promise<IndexWriter> {
  const { disk, signalType } = work.options;
  work.file ??= await disk.create(mapFile(signalType));
  work.writer ??= createIndexWriter(work.file, work.limits);
  return work.writer;
}

async function storePolygon(work: Work): Promise<void> {
  const { reader, counts, watch } = work;
  const polygon = reader.polygon();
  if (polygon === undefined) return;
  await checkMeta(work);
  const writer = await writerOf(work);
  const feature = reader.feature();
  counts.polygons++;
  counts.vertices += polygon.vertices;
  for (const piece of work.split(polygon)) {
    watch?.see(piece, feature);
    if (writer.add(piece, feature)) await writer.flush();
  }
}

async function readAll(work: Work): Promise<void> {
  const { options, limits, reader } = work;
  for await (const chunk of watched(options, limits)) {
    for (let at = 0; at < chunk.length; ) {
      at = reader.read(chunk, at);
      await storePolygon(work);
    }
    await work.writer?.flush();
    options.progress?.({ bytes: reader.offset(), features: reader.feature() });
  }
  reader.end();
  await checkMeta(work);
}

/** The checks of a well-formed map against the one held. */
function checkAgainst({ options, held, reader }: Work, regions: number, found: FoundRegion | undefined): void {
  const suspicious = (message: string) => new MapError({ kind: 'suspicious', message });
  if (options.force) return;
  const count = held.info?.regions ?? 0;
  if (regions < count * LEAST_SHARE)
    throw suspicious(
      `the new map has ${counted(regions, 'region')} where the one held has ${count}; it was not taken; gridtide map takes it with --force`,
    );
  if (held.home?.source === 'map' && found === undefined && reader.names.length > 0)
    throw suspicious(
      `the new map does not cover the own place, which lay in ${held.home.region}; it was not taken; gridtide map takes it with --force`,
    );
}

function foundHome({ reader, watch }: Work, lastUpdated: Instant | undefined): FoundRegion | undefined {
  const name = watch?.lowest === undefined ? undefined : reader.names[watch.lowest];
  if (name === undefined) return undefined;
  return { ...name, source: 'map', ...(lastUpdated === undefined ? {} : { mapLastUpdated: lastUpdated }) };
}

/** Stores what the map says of the home, and tells it. */
async function settleHome(
  options: ImportOptions,
  place: Place | undefined,
  held: HomeRegion | undefined,
  found: FoundRegion | undefined,
): Promise<Pick<Extract<ImportResult, { ok: true }>, 'home' | 'change'>> {
  const change = place && regionChange(place, held, found);
  if (change === undefined) return {};
  if ('message' in change) options.log?.('warn', change.message);
  await saveHome(options.disk, options.signalType, change.home);
  return { home: change.home, change: change.kind };
}

async function finish(work: Work): Promise<ImportResult> {
  const { options, reader, counts, held } = work;
  const { names } = reader;
  const regions = new Set(names.map(({ region }) => region)).size;
  const lastUpdated = lastUpdatedOf(reader);
  const found = foundHome(work, lastUpdated);
  if (work.writer === undefined || work.file === undefined || work.writer.pieces === 0)
    throw new MapError({ kind: 'malformed', at: reader.offset(), message: 'the map has no region with an area' });
  checkAgainst(work, regions, found);
  const info = await work.writer.finish(
    {
      signalType: options.signalType,
      ...(lastUpdated === undefined ? {} : { lastUpdated }),
      regions,
      features: names.length,
      ...counts,
      sourceBytes: reader.offset(),
      importedAt: options.now,
    },
    names,
  );
  await work.file.commit();
  return { ok: true, info, unchanged: false, ...(await settleHome(options, options.home, held.home, found)) };
}

/** Nothing is new in the map; the home may be, and is looked up in the index held. */
async function finishUnchanged({ options, held }: Work, info: MapInfo): Promise<ImportResult> {
  const { disk, signalType, home } = options;
  options.log?.('info', `the map of ${iso(info.lastUpdated ?? info.importedAt)} is the one held`);
  if (home === undefined) return { ok: true, info, unchanged: true };
  const map = await openMap(disk, signalType);
  if (map === undefined || 'kind' in map) return { ok: true, info, unchanged: true };
  try {
    const at = await map.regionAt(home);
    const dated = info.lastUpdated === undefined ? {} : { mapLastUpdated: info.lastUpdated };
    const found: FoundRegion | undefined = at && {
      region: at.region,
      regionFullName: at.regionFullName,
      source: 'map',
      ...dated,
    };
    return { ok: true, info, unchanged: true, ...(await settleHome(options, home, held.home, found)) };
  } finally {
    await map.close();
  }
}

async function read(options: ImportOptions): Promise<ImportResult> {
  const limits = { ...LIMITS, ...options.limits };
  const work: Work = {
    options,
    limits,
    held: await before(options),
    reader: createMapReader(limits),
    counts: { polygons: 0, vertices: 0 },
    watch: options.home && createHomeWatch(options.home, covers),
    split: createSplitter(covers),
  };
  try {
    await readAll(work);
    return await finish(work);
  } catch (error) {
    if (error instanceof Unchanged && work.held.info !== undefined) return await finishUnchanged(work, work.held.info);
    throw error;
  } finally {
    await work.file?.abandon();
  }
}

/**
 * Reads a map of specification 2.8 into the index of its signal type. One pass; memory grows with the largest polygon, not the
 * file. Atomic: a failure of any kind, a kill or a power cut leaves the index held before. Rejects only for a broken law.
 */
export async function importMap(options: ImportOptions): Promise<ImportResult> {
  try {
    return await read(options);
  } catch (error) {
    return { ok: false, failure: failureOf(error) };
  }
}
