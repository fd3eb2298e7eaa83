/** Imports a streamed map as the new index when it passes the checks; in every other case the present index stays. */

import { parseInstant } from '../domain/iso-time.ts';
import { HttpError, type NewFile } from '../domain/ports.ts';
import { formatCount, formatInstant, type Instant } from '../domain/units.ts';
import { createGeoJsonReader, type GeoJsonReader } from './geojson/geojson-reader.ts';
import { createHomeProbe, type HomeProbe } from './home-probe.ts';
import { createSalt } from './index/checksum.ts';
import { buildIndexFileName, isIndexIntact, readMapInfo } from './index/index-reader.ts';
import { createIndexWriter, type IndexWriter } from './index/index-writer.ts';
import { createSplitter } from './index/split-polygon.ts';
import { buildMapTooLargeError, MapError } from './map-failure.ts';
import type { FoundRegion, ImportedMap, ImportLimits, ImportOptions, MapInfo } from './region-types.ts';

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

/** A new map with fewer regions than this share of the present ones is refused unless forced. */
const MIN_REGION_SHARE = 0.5;

interface PolygonCounts {
  polygons: number;
  vertices: number;
}

/** The chunks up to the limit, until `stop`; an error of the source becomes a `MapError`. */
async function* readChunks({ chunks, stop }: ImportOptions, maxBytes: number): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await source.next().catch((error: unknown) => {
        throw toSourceError(error);
      });
      // Checked first: a source that is stopped may just end.
      if (stop?.aborted) throw new MapError({ kind: 'stopped', message: 'the import was stopped' });
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > maxBytes) throw buildMapTooLargeError(`the map is larger than ${maxBytes} bytes`);
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

/** Thrown to leave the stream when `meta` shows an unchanged map. */
class UnchangedError extends Error {}

interface ImportRun {
  readonly options: ImportOptions;
  readonly limits: ImportLimits;
  /** The index before the import. */
  readonly previous: MapInfo | undefined;
  readonly reader: GeoJsonReader;
  readonly counts: PolygonCounts;
  /** Features of which a polygon was stored. */
  readonly storedFeatures: Set<number>;
  readonly homeProbe: HomeProbe | undefined;
  readonly splitPolygon: ReturnType<typeof createSplitter>;
  /** Checked when it matters, once. */
  previousIsIntact?: boolean;
  file?: NewFile;
  writer?: IndexWriter;
}

/** `meta` may come first or last: it is checked as soon as it has been read. The same map replaces a damaged index. */
async function checkMeta(run: ImportRun): Promise<void> {
  const { options, previous, reader } = run;
  checkSignalType(reader, options.signalType);
  const lastUpdated = parseLastUpdated(reader);
  if (lastUpdated === undefined || previous?.lastUpdated === undefined || options.force) return;
  if (options.isRelayed && lastUpdated < previous.lastUpdated) {
    const message = `the map of the relay is of ${formatInstant(lastUpdated)}, older than the stored one of ${formatInstant(previous.lastUpdated)}; let nobody but the relay write its topics`;
    throw new MapError({ kind: 'source', message });
  }
  if (lastUpdated !== previous.lastUpdated) return;
  run.previousIsIntact ??= await isIndexIntact(options.disk, options.signalType);
  if (run.previousIsIntact) throw new UnchangedError();
}

async function openWriter(run: ImportRun): Promise<IndexWriter> {
  const { disk, signalType } = run.options;
  run.file ??= await disk.create(buildIndexFileName(signalType));
  run.writer ??= await createIndexWriter(run.file, run.limits, createSalt(run.options.now));
  return run.writer;
}

async function storePolygon(run: ImportRun): Promise<void> {
  const { reader, counts, homeProbe } = run;
  const polygon = reader.polygon();
  if (polygon === undefined) return;
  await checkMeta(run);
  const writer = await openWriter(run);
  const feature = reader.featureIndex();
  counts.polygons++;
  run.storedFeatures.add(feature);
  counts.vertices += polygon.vertexCount;
  for (const piece of run.splitPolygon(polygon)) {
    homeProbe?.addPiece(piece, feature);
    if (writer.add(piece, feature)) await writer.flush();
  }
}

async function readSource(run: ImportRun): Promise<void> {
  const { options, limits, reader } = run;
  for await (const chunk of readChunks(options, limits.sourceBytes)) {
    for (let at = 0; at < chunk.length; ) {
      at = reader.read(chunk, at);
      await storePolygon(run);
    }
    await run.writer?.flush();
    options.onProgress?.({ bytes: reader.offset(), features: reader.featureIndex() });
  }
  reader.end();
  await checkMeta(run);
}

/** Compares a well-formed map with the present one. */
function checkPlausible(
  run: ImportRun,
  regions: number,
  found: FoundRegion | undefined,
  homeRegion: string | undefined,
) {
  const { options, previous, reader } = run;
  if (options.force) return;
  const suspiciousError = (what: string) =>
    new MapError({ kind: 'suspicious', message: `${what}; it was not taken; gridtide map takes it with --force` });
  const count = previous?.regions ?? 0;
  if (regions < count * MIN_REGION_SHARE)
    throw suspiciousError(`the new map has ${formatCount(regions, 'region')} where the stored one has ${count}`);
  if (homeRegion !== undefined && found === undefined && reader.names.length > 0)
    throw suspiciousError(`the new map does not cover the own place, which lay in ${homeRegion}`);
}

function findHome({ reader, homeProbe }: ImportRun, lastUpdated: Instant | undefined): FoundRegion | undefined {
  const name = homeProbe?.lowestFeature === undefined ? undefined : reader.names[homeProbe.lowestFeature];
  if (name === undefined) return undefined;
  return { ...name, source: 'map', ...(lastUpdated === undefined ? {} : { mapLastUpdated: lastUpdated }) };
}

/** With more of its polygons open, a map is damaged as a whole. */
const MAX_OPEN_SHARE = 0.1;
const MAX_LISTED_REGIONS = 5;
const MAX_NAME_LENGTH = 40;

/** Tells of rings that were closed and of polygons left out; refuses a map with too many of them. */
function reportOpenRings({ reader, counts, options: { log } }: ImportRun): void {
  const { openPolygons: open, names } = reader;
  const closed = reader.closedRings();
  if (closed > 0)
    log?.('warn', `closed ${formatCount(closed, 'ring')} of the map that ended beside the first position`);
  if (open.length === 0) return;
  const widest = Math.max(...open.map(({ gap }) => gap)).toPrecision(2);
  const regions = [...new Set(open.map(({ feature }) => (names[feature]?.region ?? '').slice(0, MAX_NAME_LENGTH)))];
  const listed = `${regions.slice(0, MAX_LISTED_REGIONS).join(', ')}${regions.length > MAX_LISTED_REGIONS ? ' and others' : ''}`;
  const what = `${formatCount(open.length, 'polygon')} of ${listed} with a ring that is not closed (by up to ${widest} degrees)`;
  if (open.length > (open.length + counts.polygons) * MAX_OPEN_SHARE)
    throw new MapError({ kind: 'malformed', at: reader.offset(), message: `the map has ${what}` });
  log?.('warn', `the map has ${what}: left out, so places in there lie in no region`);
}

/** What an import made, and the region of `homePlace` in the new map. */
export type MapOutcome = ImportedMap & { readonly found?: FoundRegion };

async function finishImport(run: ImportRun, homeRegion: string | undefined): Promise<MapOutcome> {
  const { options, reader, counts, writer, file } = run;
  const { names } = reader;
  reportOpenRings(run);
  if (writer === undefined || file === undefined || writer.pieces === 0)
    throw new MapError({ kind: 'malformed', at: reader.offset(), message: 'the map has no region with an area' });
  const lostFeatures = new Set(reader.openPolygons.map(({ feature }) => feature));
  for (const feature of run.storedFeatures) lostFeatures.delete(feature);
  const regions = new Set(names.filter((_, i) => !lostFeatures.has(i)).map(({ region }) => region)).size;
  const lastUpdated = parseLastUpdated(reader);
  const found = findHome(run, lastUpdated);
  checkPlausible(run, regions, found, homeRegion);
  const info = await writer.finish(
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
  await file.commit();
  return { ok: true, info, unchanged: false, ...(found === undefined ? {} : { found }) };
}

async function startImport(options: ImportOptions): Promise<ImportRun> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const previous = await readMapInfo(options.disk, options.signalType);
  return {
    options,
    limits,
    previous: previous === undefined || 'kind' in previous ? undefined : previous,
    reader: createGeoJsonReader(limits),
    counts: { polygons: 0, vertices: 0 },
    storedFeatures: new Set(),
    homeProbe: options.homePlace && createHomeProbe(options.homePlace),
    splitPolygon: createSplitter(),
  };
}

/**
 * Reads a map of specification 2.8 into the index of its signal type. One pass; memory grows with the largest polygon, not the
 * file. Atomic: a failure of any kind, a kill or a power cut leaves the previous index. A map that no longer covers `homePlace` is
 * refused when the previous one put it into `homeRegion`. Throws what `toMapFailure` reads.
 */
export async function importMap(options: ImportOptions, homeRegion?: string): Promise<MapOutcome> {
  const run = await startImport(options);
  try {
    await readSource(run);
    return await finishImport(run, homeRegion);
  } catch (error) {
    if (!(error instanceof UnchangedError) || run.previous === undefined) throw error;
    const { lastUpdated, importedAt } = run.previous;
    options.log?.('info', `the map of ${formatInstant(lastUpdated ?? importedAt)} is the stored one`);
    return { ok: true, info: run.previous, unchanged: true };
  } finally {
    await run.file?.abandon();
  }
}
