/** Turns a map that streams in into the index held, when it passes the checks; until then, and when it does not, the old one stays. */

import { parseInstant } from '../domain/iso-time.ts';
import { HttpError, type NewFile } from '../domain/ports.ts';
import { formatCount, formatInstant, type Instant, type Place } from '../domain/units.ts';
import { createGeoJsonReader, type GeoJsonReader } from './geojson/geojson-reader.ts';
import { createHomeProbe, type HomeProbe } from './home-probe.ts';
import { readHome, saveHome } from './home-region.ts';
import { indexFileName, isIndexIntact, readMapInfo } from './index/index-reader.ts';
import { createIndexWriter, type IndexWriter } from './index/index-writer.ts';
import { createSplitter } from './index/split-polygon.ts';
import { covers, openMap } from './lookup.ts';
import { MapError, toMapFailure, tooLargeError } from './map-failure.ts';
import { compareRegions, type HomeMatch } from './refresh-policy.ts';
import type { HomeRegion, ImportLimits, ImportOptions, ImportResult, MapInfo } from './region-types.ts';

/** Far above any grid map: real ones have some hundreds of regions and tens of megabytes. */
const DEFAULT_LIMITS: ImportLimits = {
  sourceBytes: 1 << 30,
  polygonVertices: 1 << 21,
  features: 20_000,
  pieces: 1 << 20,
  indexBytes: 1 << 30,
  nameBytes: 1_000,
  depth: 64,
};

/** A new map with fewer regions than this share of the held ones is a mistake until somebody says otherwise. */
const MIN_REGION_SHARE = 0.5;

interface PolygonCounts {
  polygons: number;
  vertices: number;
}

/** What is held before the import. */
interface PreviousMap {
  readonly info: MapInfo | undefined;
  readonly home: HomeRegion | undefined;
}

async function readPreviousMap({ disk, signalType, homePlace: home }: ImportOptions): Promise<PreviousMap> {
  const index = await readMapInfo(disk, signalType);
  const info = index === undefined || 'kind' in index ? undefined : index;
  return { info, home: home && (await readHome(disk, signalType, home)) };
}

/** The chunks, with the source's trouble told as such, counted, and ended by `stop`. */
async function* readChunks(options: ImportOptions, limits: ImportLimits): AsyncGenerator<Uint8Array, void, void> {
  const { chunks, stop } = options;
  let bytes = 0;
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await source.next().catch((error: unknown) => {
        throw toSourceError(error);
      });
      // First, for a source that is stopped may just end.
      if (stop?.aborted) throw new MapError({ kind: 'stopped', message: 'the import was stopped' });
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > limits.sourceBytes) throw tooLargeError(`the map is larger than ${limits.sourceBytes} bytes`);
      yield next.value;
    }
  } finally {
    await source.return?.()?.catch(() => {});
  }
}

function toSourceError(error: unknown): MapError {
  if (error instanceof MapError) return error;
  const cause =
    error instanceof HttpError ? error.failure.cause : error instanceof Error ? error.message : String(error);
  return new MapError({ kind: 'source', message: `the map did not arrive whole: ${cause}` });
}

function parseLastUpdated({ meta, offset }: GeoJsonReader): Instant | undefined {
  const text = meta.lastUpdated;
  if (text === undefined) return undefined;
  const at = parseInstant(text);
  if (at !== undefined) return at;
  const message = `meta.last_updated is "${text.slice(0, 40)}", expected a date of the calendar and a time with its zone`;
  throw new MapError({ kind: 'malformed', at: offset(), message });
}

function checkSignalType({ meta }: GeoJsonReader, signalType: string): void {
  if (meta.signalType === undefined || meta.signalType === signalType) return;
  const message = `the map is of ${meta.signalType.slice(0, 40)}, expected ${signalType}`;
  throw new MapError({ kind: 'wrong-signal', message });
}

/** Thrown to leave the stream when `meta` tells that nothing is new. */
class UnchangedError extends Error {}

interface ImportRun {
  readonly options: ImportOptions;
  readonly limits: ImportLimits;
  readonly previous: PreviousMap;
  readonly reader: GeoJsonReader;
  readonly counts: PolygonCounts;
  readonly homeProbe: HomeProbe | undefined;
  readonly splitPolygon: ReturnType<typeof createSplitter>;
  /** Looked at when it matters, once. */
  previousIsIntact?: boolean;
  file?: NewFile;
  writer?: IndexWriter;
}

/** `meta` may stand first or last: what it tells is checked as soon as it is there. A damaged index is replaced by the same map. */
async function checkMeta(work: ImportRun): Promise<void> {
  const { options, previous, reader } = work;
  checkSignalType(reader, options.signalType);
  const lastUpdated = parseLastUpdated(reader);
  if (lastUpdated === undefined || lastUpdated !== previous.info?.lastUpdated || options.force) return;
  work.previousIsIntact ??= await isIndexIntact(options.disk, options.signalType);
  if (work.previousIsIntact) throw new UnchangedError();
}

async function openWriter(work: ImportRun): Promise<IndexWriter> {
  const { disk, signalType } = work.options;
  work.file ??= await disk.create(indexFileName(signalType));
  work.writer ??= createIndexWriter(work.file, work.limits);
  return work.writer;
}

async function storePolygon(work: ImportRun): Promise<void> {
  const { reader, counts, homeProbe } = work;
  const polygon = reader.polygon();
  if (polygon === undefined) return;
  await checkMeta(work);
  const writer = await openWriter(work);
  const feature = reader.featureIndex();
  counts.polygons++;
  counts.vertices += polygon.vertexCount;
  for (const piece of work.splitPolygon(polygon)) {
    homeProbe?.addPiece(piece, feature);
    if (writer.add(piece, feature)) await writer.flush();
  }
}

async function readSource(work: ImportRun): Promise<void> {
  const { options, limits, reader } = work;
  for await (const chunk of readChunks(options, limits)) {
    for (let at = 0; at < chunk.length; ) {
      at = reader.read(chunk, at);
      await storePolygon(work);
    }
    await work.writer?.flush();
    options.onProgress?.({ bytes: reader.offset(), features: reader.featureIndex() });
  }
  reader.end();
  await checkMeta(work);
}

/** The checks of a well-formed map against the one held. */
function checkPlausible({ options, previous, reader }: ImportRun, regions: number, found: HomeMatch | undefined): void {
  const suspiciousError = (message: string) => new MapError({ kind: 'suspicious', message });
  if (options.force) return;
  const count = previous.info?.regions ?? 0;
  if (regions < count * MIN_REGION_SHARE)
    throw suspiciousError(
      `the new map has ${formatCount(regions, 'region')} where the one held has ${count}; it was not taken; gridtide map takes it with --force`,
    );
  if (previous.home?.source === 'map' && found === undefined && reader.names.length > 0)
    throw suspiciousError(
      `the new map does not cover the own place, which lay in ${previous.home.region}; it was not taken; gridtide map takes it with --force`,
    );
}

function findHome({ reader, homeProbe }: ImportRun, lastUpdated: Instant | undefined): HomeMatch | undefined {
  const name = homeProbe?.lowestFeature === undefined ? undefined : reader.names[homeProbe.lowestFeature];
  if (name === undefined) return undefined;
  return { ...name, source: 'map', ...(lastUpdated === undefined ? {} : { mapLastUpdated: lastUpdated }) };
}

/** Stores what the map says of the home, and tells it. */
async function applyHomeChange(
  options: ImportOptions,
  place: Place | undefined,
  previous: HomeRegion | undefined,
  found: HomeMatch | undefined,
): Promise<Pick<Extract<ImportResult, { ok: true }>, 'home' | 'change'>> {
  const change = place && compareRegions(place, previous, found);
  if (change === undefined) return {};
  if ('message' in change) options.log?.('warn', change.message);
  await saveHome(options.disk, options.signalType, change.home);
  return { home: change.home, change: change.kind };
}

async function finishImport(work: ImportRun): Promise<ImportResult> {
  const { options, reader, counts, previous } = work;
  const { names } = reader;
  const regions = new Set(names.map(({ region }) => region)).size;
  const lastUpdated = parseLastUpdated(reader);
  const found = findHome(work, lastUpdated);
  if (work.writer === undefined || work.file === undefined || work.writer.pieces === 0)
    throw new MapError({ kind: 'malformed', at: reader.offset(), message: 'the map has no region with an area' });
  checkPlausible(work, regions, found);
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
  return {
    ok: true,
    info,
    unchanged: false,
    ...(await applyHomeChange(options, options.homePlace, previous.home, found)),
  };
}

/** Nothing is new in the map; the home may be, and is looked up in the index held. */
async function finishUnchanged({ options, previous }: ImportRun, info: MapInfo): Promise<ImportResult> {
  const { disk, signalType, homePlace: home } = options;
  options.log?.('info', `the map of ${formatInstant(info.lastUpdated ?? info.importedAt)} is the one held`);
  if (home === undefined) return { ok: true, info, unchanged: true };
  const map = await openMap(disk, signalType);
  if (map === undefined || 'kind' in map) return { ok: true, info, unchanged: true };
  try {
    const match = await map.findRegion(home);
    const mapDate = info.lastUpdated === undefined ? {} : { mapLastUpdated: info.lastUpdated };
    const found: HomeMatch | undefined = match && {
      region: match.region,
      regionFullName: match.regionFullName,
      source: 'map',
      ...mapDate,
    };
    return { ok: true, info, unchanged: true, ...(await applyHomeChange(options, home, previous.home, found)) };
  } finally {
    await map.close();
  }
}

async function runImport(options: ImportOptions): Promise<ImportResult> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const work: ImportRun = {
    options,
    limits,
    previous: await readPreviousMap(options),
    reader: createGeoJsonReader(limits),
    counts: { polygons: 0, vertices: 0 },
    homeProbe: options.homePlace && createHomeProbe(options.homePlace, covers),
    splitPolygon: createSplitter(covers),
  };
  try {
    await readSource(work);
    return await finishImport(work);
  } catch (error) {
    if (error instanceof UnchangedError && work.previous.info !== undefined)
      return await finishUnchanged(work, work.previous.info);
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
    return await runImport(options);
  } catch (error) {
    return { ok: false, failure: toMapFailure(error) };
  }
}
