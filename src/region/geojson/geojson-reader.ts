/** Reads a region map (specification 2.8) as it comes, in any order of keys: one polygon at a time, names, `meta`. Stores nothing of it. */

import { MalformedError, MapError, tooLargeError } from '../map-failure.ts';
import type { ImportLimits, RegionName } from '../region-types.ts';
import { createJsonReader, type JsonEvents, type JsonReader } from './json-reader.ts';
import { createRingBuffer, type PolygonRings } from './ring-buffer.ts';

export interface GeoJsonReader {
  /** Reads on from `from`; stops early behind each polygon, which then stands in `polygon()` until the next call. */
  read(chunk: Uint8Array, from: number): number;
  /** The polygon just read, or undefined when the chunk ran out first. */
  polygon(): PolygonRings | undefined;
  /** Number of the feature being read; those before it are complete. */
  featureIndex(): number;
  readonly names: readonly RegionName[];
  readonly meta: { readonly lastUpdated?: string; readonly signalType?: string };
  /** Throws when the document is not a complete map. */
  end(): void;
  offset(): number;
}

const IGNORED = 0;
const ROOT = 1;
const FEATURES = 2;
const FEATURE = 3;
const PROPERTIES = 4;
const GEOMETRY = 5;
const COORDINATES = 6;
const META = 7;

/** Where a key opens a container that matters: `key` in `place` is the container `opens`. */
const OBJECT_CONTAINERS: readonly (readonly [place: number, key: string, opens: number])[] = [
  [ROOT, 'meta', META],
  [FEATURE, 'properties', PROPERTIES],
  [FEATURE, 'geometry', GEOMETRY],
];
const ARRAY_CONTAINERS: readonly (readonly [place: number, key: string, opens: number])[] = [
  [ROOT, 'features', FEATURES],
  [GEOMETRY, 'coordinates', COORDINATES],
];
/** Values that must be texts. */
const TEXT_KEYS: Readonly<Record<number, readonly string[]>> = {
  [ROOT]: ['type'],
  [FEATURE]: ['type'],
  [GEOMETRY]: ['type'],
  [PROPERTIES]: ['region', 'region_full_name'],
  [META]: ['last_updated', 'signal_type'],
};
/** Nesting of the array that holds one polygon's rings. */
const POLYGON_LEVEL: Readonly<Record<string, number>> = { Polygon: 1, MultiPolygon: 2 };

/** Control characters, halves of a pair, and what stands in the place of bytes that are no UTF-8. */
const UNREADABLE = /[\p{Cc}\p{Cs}\ufffd]/u;

interface FeatureState {
  type?: string;
  geometryType?: string;
  region?: string;
  regionFullName?: string;
  hasGeometry: boolean;
}
const createFeatureState = (): FeatureState => ({ hasGeometry: false });

export function createGeoJsonReader(limits: ImportLimits): GeoJsonReader {
  const ringBuffer = createRingBuffer(limits.polygonVertices);
  const names: RegionName[] = [];
  const meta: { lastUpdated?: string; signalType?: string } = {};
  const containers = new Uint8Array(limits.depth + 2);
  const seen = new Set<string>();
  let depth = 0;
  let key = '';
  let rootType: string | undefined;
  let feature = createFeatureState();

  // Inside `coordinates`.
  let level = 0;
  let polygonLevel = 0;
  let emptyLevels = 0;
  let axis = 0;
  const position = new Float64Array(2);
  let complete = false;

  /** Each of the keys that matter may stand once: which of two would count is a guess. */
  function refuseDuplicate(container: number, name: string): void {
    const id = `${container} ${name}`;
    if (seen.has(id)) throw new MalformedError(`"${name}" stands there twice`);
    seen.add(id);
  }

  const wrongTypeError = (what: string) => new MalformedError(`"${key}" is not ${what}`);

  function startFeature(): void {
    if (names.length >= limits.features) throw tooLargeError(`the map has more than ${limits.features} features`);
    feature = createFeatureState();
    for (const container of [FEATURE, PROPERTIES, GEOMETRY])
      for (const name of listKeys(container)) seen.delete(`${container} ${name}`);
  }

  function endFeature(): void {
    if (feature.type !== 'Feature')
      throw new MalformedError(`its "type" is ${quoteType(feature.type)}, expected "Feature"`);
    if (!feature.hasGeometry) throw new MalformedError('it has no "geometry"');
    const { region, regionFullName = region } = feature;
    if (region === undefined || regionFullName === undefined) throw new MalformedError('it has no "properties.region"');
    if (region.trim() === '') throw new MalformedError('its region has an empty name');
    names.push({ region, regionFullName });
  }

  function startGeometry(): void {
    level = 0;
    polygonLevel = 0;
    emptyLevels = 0;
  }

  function endGeometry(): void {
    const type = feature.geometryType;
    const expected = type === undefined ? undefined : POLYGON_LEVEL[type];
    if (expected === undefined) throw new MalformedError(`its geometry is ${quoteType(type)}, expected "MultiPolygon"`);
    if (!seen.has(`${GEOMETRY} coordinates`)) throw new MalformedError('its geometry has no "coordinates"');
    if (polygonLevel !== 0 && polygonLevel !== expected)
      throw new MalformedError(`its coordinates are not nested as those of a ${type}`);
  }

  /** The first number tells a Polygon from a MultiPolygon; `type` may stand behind the coordinates. */
  function settleNesting(): void {
    polygonLevel = level - 2;
    if (polygonLevel !== 1 && polygonLevel !== 2)
      throw new MalformedError('its coordinates are not nested as those of a MultiPolygon');
    const badlyEmpty = (1 << (polygonLevel + 1)) | (1 << (polygonLevel + 2));
    if ((emptyLevels & badlyEmpty) !== 0) throw new MalformedError('a ring is empty');
    ringBuffer.clear();
    ringBuffer.startRing();
  }

  function openCoordinates(): void {
    level++;
    axis = 0;
    if (polygonLevel === 0) return;
    if (level === polygonLevel) ringBuffer.clear();
    else if (level === polygonLevel + 1) ringBuffer.startRing();
    else if (level > polygonLevel + 2) throw new MalformedError('a position holds an array');
  }

  /** True behind a polygon that has rings. */
  function closeCoordinates(): boolean {
    const closed = level--;
    if (polygonLevel === 0) {
      emptyLevels |= 1 << Math.min(closed, 8);
      return false;
    }
    if (closed === polygonLevel + 2) {
      if (axis < 2) throw new MalformedError('a position has fewer than two numbers');
      ringBuffer.addVertex(position);
    } else if (closed === polygonLevel + 1) ringBuffer.endRing();
    else if (closed === polygonLevel) complete = ringBuffer.polygon.ringCount > 0;
    return complete;
  }

  const enter = (container: number) => {
    containers[++depth] = container;
  };

  const events: JsonEvents = {
    onOpenObject() {
      const container = containers[depth] as number;
      if (depth === 0) return enter(ROOT);
      if (container === FEATURES) {
        startFeature();
        return enter(FEATURE);
      }
      if (container === COORDINATES) throw new MalformedError('its coordinates hold an object');
      const opens = findContainer(OBJECT_CONTAINERS, container, key);
      if (opens === undefined) {
        refuseWrongType(container, 'an object');
        return enter(IGNORED);
      }
      refuseDuplicate(container, key);
      if (opens === GEOMETRY) {
        feature.hasGeometry = true;
        startGeometry();
      }
      enter(opens);
    },
    onOpenArray() {
      const container = containers[depth] as number;
      if (depth === 0) throw new MalformedError('the map is a list, expected a FeatureCollection');
      if (container === COORDINATES) {
        openCoordinates();
        return enter(COORDINATES);
      }
      if (container === FEATURES) throw new MalformedError('it is a list, expected a Feature');
      const opens = findContainer(ARRAY_CONTAINERS, container, key);
      if (opens === undefined) {
        refuseWrongType(container, 'a list');
        return enter(IGNORED);
      }
      refuseDuplicate(container, key);
      if (opens === COORDINATES) openCoordinates();
      enter(opens);
    },
    onClose() {
      const container = containers[depth--] as number;
      if (container === COORDINATES) return closeCoordinates();
      if (container === GEOMETRY) endGeometry();
      else if (container === FEATURE) endFeature();
      return false;
    },
    onKey(name) {
      key = name;
    },
    wantsText() {
      return TEXT_KEYS[containers[depth] as number]?.includes(key) ?? false;
    },
    onText(value) {
      const container = containers[depth] as number;
      if (value === undefined) return refuseScalar(container, 'a text');
      refuseDuplicate(container, key);
      storeText(container, value);
    },
    onNumber() {
      const container = containers[depth] as number;
      if (container !== COORDINATES) return refuseScalar(container, 'a number');
      const value = reader.number[0] as number;
      if (polygonLevel === 0) settleNesting();
      if (level !== polygonLevel + 2) throw new MalformedError('a number stands outside a position');
      if (axis < 2) position[axis] = value; // a height is not kept
      axis++;
    },
    onLiteral(value) {
      const container = containers[depth] as number;
      if (value === null && container === FEATURE && (key === 'geometry' || key === 'properties')) {
        refuseDuplicate(container, key);
        if (key === 'geometry') feature.hasGeometry = true;
        return;
      }
      if (value === null && container === ROOT && key === 'meta') return;
      if (value === null && container === META && TEXT_KEYS[META]?.includes(key))
        return refuseDuplicate(container, key);
      refuseScalar(container, String(value));
    },
  };

  function storeText(container: number, value: string): void {
    if (UNREADABLE.test(value)) throw new MalformedError(`"${key}" holds a control character or a broken one`);
    if (container === ROOT) rootType = value;
    else if (container === FEATURE) feature.type = value;
    else if (container === GEOMETRY) feature.geometryType = value;
    else if (container === PROPERTIES && key === 'region') feature.region = value;
    else if (container === PROPERTIES) feature.regionFullName = value;
    else if (key === 'last_updated') meta.lastUpdated = value;
    else meta.signalType = value;
  }

  function refuseScalar(container: number, what: string): void {
    if (container === COORDINATES) throw new MalformedError(`its coordinates hold ${what}`);
    if (container === FEATURES) throw new MalformedError(`it is ${what}, expected a Feature`);
    if (depth === 0) throw new MalformedError(`the map is ${what}, expected a FeatureCollection`);
    refuseWrongType(container, what);
  }

  /** A value of another kind under a key that matters. */
  function refuseWrongType(container: number, what: string): void {
    if (TEXT_KEYS[container]?.includes(key)) throw wrongTypeError(`a text but ${what}`);
    if (OBJECT_CONTAINERS.some(([in_, name]) => in_ === container && name === key))
      throw wrongTypeError(`an object but ${what}`);
    if (ARRAY_CONTAINERS.some(([in_, name]) => in_ === container && name === key))
      throw wrongTypeError(`a list but ${what}`);
  }

  const reader: JsonReader = createJsonReader(events, { depth: limits.depth, textBytes: limits.nameBytes });

  /** Says in which feature and at which byte a rule was broken. */
  function withLocation<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof MalformedError) && !(error instanceof MapError)) throw error;
      const at = reader.offset();
      const inFeature = depth >= 2 && containers[2] === FEATURES;
      const region = feature.region === undefined || depth < 3 ? '' : ` (${shortenName(feature.region)})`;
      const where = inFeature ? `feature ${names.length}${region}, byte ${at}` : `byte ${at}`;
      const message = `${where}: ${error.message}`;
      throw new MapError(
        error instanceof MapError ? { ...error.failure, message } : { kind: 'malformed', at, message },
      );
    }
  }

  return {
    names,
    meta,
    read: (chunk, from) => {
      complete = false;
      return withLocation(() => reader.read(chunk, from));
    },
    polygon: () => (complete ? ringBuffer.polygon : undefined),
    featureIndex: () => names.length,
    end: () =>
      withLocation(() => {
        reader.end();
        if (rootType !== 'FeatureCollection')
          throw new MalformedError(`its "type" is ${quoteType(rootType)}, expected "FeatureCollection"`);
        if (!seen.has(`${ROOT} features`)) throw new MalformedError('it has no "features"');
      }),
    offset: reader.offset,
  };
}

function listKeys(container: number): string[] {
  const opened = [...OBJECT_CONTAINERS, ...ARRAY_CONTAINERS]
    .filter(([in_]) => in_ === container)
    .map(([, name]) => name);
  return [...opened, ...(TEXT_KEYS[container] ?? [])];
}

/** Not in place: a closure would cost each of millions of brackets an object. */
const findContainer = (table: typeof OBJECT_CONTAINERS | typeof ARRAY_CONTAINERS, container: number, key: string) =>
  table.find(([in_, name]) => in_ === container && name === key)?.[2];

/** Enough of a name to be told by. */
const shortenName = (name: string) => name.slice(0, 40);
const quoteType = (type: string | undefined) => (type === undefined ? 'missing' : `"${shortenName(type)}"`);
