/** Reads a region map (specification 2.8) as it comes, in any order of keys: one polygon at a time, names, `meta`. Stores nothing of it. */

import { type Arena, createRingGatherer } from './arena.ts';
import { Malformed, MapError, tooLarge } from './failure.ts';
import { createJsonReader, type JsonEvents, type JsonReader } from './json-reader.ts';
import type { ImportLimits } from './map.ts';

export interface FeatureName {
  readonly region: string;
  readonly regionFullName: string;
}

export interface MapReader {
  /** Reads on from `from`; stops early behind each polygon, which then stands in `polygon()` until the next call. */
  read(chunk: Uint8Array, from: number): number;
  /** The polygon just read, or undefined when the chunk ran out first. */
  polygon(): Arena | undefined;
  /** Number of the feature being read; those before it are complete. */
  feature(): number;
  readonly names: readonly FeatureName[];
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
const OBJECTS: readonly (readonly [place: number, key: string, opens: number])[] = [
  [ROOT, 'meta', META],
  [FEATURE, 'properties', PROPERTIES],
  [FEATURE, 'geometry', GEOMETRY],
];
const ARRAYS: readonly (readonly [place: number, key: string, opens: number])[] = [
  [ROOT, 'features', FEATURES],
  [GEOMETRY, 'coordinates', COORDINATES],
];
/** Values that must be texts. */
const TEXTS: Readonly<Record<number, readonly string[]>> = {
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
const newFeature = (): FeatureState => ({ hasGeometry: false });

export function createMapReader(limits: ImportLimits): MapReader {
  const rings = createRingGatherer(limits.polygonVertices);
  const names: FeatureName[] = [];
  const meta: { lastUpdated?: string; signalType?: string } = {};
  const places = new Uint8Array(limits.depth + 2);
  const seen = new Set<string>();
  let depth = 0;
  let key = '';
  let rootType: string | undefined;
  let feature = newFeature();

  // Inside `coordinates`.
  let level = 0;
  let polygonLevel = 0;
  let emptyLevels = 0;
  let axis = 0;
  const position = new Float64Array(2);
  let complete = false;

  /** Each of the keys that matter may stand once: which of two would count is a guess. */
  function once(place: number, name: string): void {
    const id = `${place} ${name}`;
    if (seen.has(id)) throw new Malformed(`"${name}" stands there twice`);
    seen.add(id);
  }

  const notA = (what: string) => new Malformed(`"${key}" is not ${what}`);

  function startFeature(): void {
    if (names.length >= limits.features) throw tooLarge(`the map has more than ${limits.features} features`);
    feature = newFeature();
    for (const place of [FEATURE, PROPERTIES, GEOMETRY])
      for (const name of keysOf(place)) seen.delete(`${place} ${name}`);
  }

  function endFeature(): void {
    if (feature.type !== 'Feature') throw new Malformed(`its "type" is ${said(feature.type)}, expected "Feature"`);
    if (!feature.hasGeometry) throw new Malformed('it has no "geometry"');
    const { region, regionFullName = region } = feature;
    if (region === undefined || regionFullName === undefined) throw new Malformed('it has no "properties.region"');
    if (region.trim() === '') throw new Malformed('its region has an empty name');
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
    if (expected === undefined) throw new Malformed(`its geometry is ${said(type)}, expected "MultiPolygon"`);
    if (!seen.has(`${GEOMETRY} coordinates`)) throw new Malformed('its geometry has no "coordinates"');
    if (polygonLevel !== 0 && polygonLevel !== expected)
      throw new Malformed(`its coordinates are not nested as those of a ${type}`);
  }

  /** The first number tells a Polygon from a MultiPolygon; `type` may stand behind the coordinates. */
  function settle(): void {
    polygonLevel = level - 2;
    if (polygonLevel !== 1 && polygonLevel !== 2)
      throw new Malformed('its coordinates are not nested as those of a MultiPolygon');
    const badlyEmpty = (1 << (polygonLevel + 1)) | (1 << (polygonLevel + 2));
    if ((emptyLevels & badlyEmpty) !== 0) throw new Malformed('a ring is empty');
    rings.clear();
    rings.startRing();
  }

  function openCoordinates(): void {
    level++;
    axis = 0;
    if (polygonLevel === 0) return;
    if (level === polygonLevel) rings.clear();
    else if (level === polygonLevel + 1) rings.startRing();
    else if (level > polygonLevel + 2) throw new Malformed('a position holds an array');
  }

  /** True behind a polygon that has rings. */
  function closeCoordinates(): boolean {
    const closed = level--;
    if (polygonLevel === 0) {
      emptyLevels |= 1 << Math.min(closed, 8);
      return false;
    }
    if (closed === polygonLevel + 2) {
      if (axis < 2) throw new Malformed('a position has fewer than two numbers');
      rings.vertex(position);
    } else if (closed === polygonLevel + 1) rings.endRing();
    else if (closed === polygonLevel) complete = rings.arena.rings > 0;
    return complete;
  }

  const enter = (place: number) => {
    places[++depth] = place;
  };

  const events: JsonEvents = {
    openObject() {
      const place = places[depth] as number;
      if (depth === 0) return enter(ROOT);
      if (place === FEATURES) {
        startFeature();
        return enter(FEATURE);
      }
      if (place === COORDINATES) throw new Malformed('its coordinates hold an object');
      const opens = openedBy(OBJECTS, place, key);
      if (opens === undefined) {
        refuseOther(place, 'an object');
        return enter(IGNORED);
      }
      once(place, key);
      if (opens === GEOMETRY) {
        feature.hasGeometry = true;
        startGeometry();
      }
      enter(opens);
    },
    openArray() {
      const place = places[depth] as number;
      if (depth === 0) throw new Malformed('the map is a list, expected a FeatureCollection');
      if (place === COORDINATES) {
        openCoordinates();
        return enter(COORDINATES);
      }
      if (place === FEATURES) throw new Malformed('it is a list, expected a Feature');
      const opens = openedBy(ARRAYS, place, key);
      if (opens === undefined) {
        refuseOther(place, 'a list');
        return enter(IGNORED);
      }
      once(place, key);
      if (opens === COORDINATES) openCoordinates();
      enter(opens);
    },
    close() {
      const place = places[depth--] as number;
      if (place === COORDINATES) return closeCoordinates();
      if (place === GEOMETRY) endGeometry();
      else if (place === FEATURE) endFeature();
      return false;
    },
    key(name) {
      key = name;
    },
    wantsText() {
      return TEXTS[places[depth] as number]?.includes(key) ?? false;
    },
    text(value) {
      const place = places[depth] as number;
      if (value === undefined) return refuseScalar(place, 'a text');
      once(place, key);
      takeText(place, value);
    },
    number() {
      const place = places[depth] as number;
      if (place !== COORDINATES) return refuseScalar(place, 'a number');
      const value = reader.number[0] as number;
      if (polygonLevel === 0) settle();
      if (level !== polygonLevel + 2) throw new Malformed('a number stands outside a position');
      if (axis < 2) position[axis] = value; // a height is not kept
      axis++;
    },
    literal(value) {
      const place = places[depth] as number;
      if (value === null && place === FEATURE && (key === 'geometry' || key === 'properties')) {
        once(place, key);
        if (key === 'geometry') feature.hasGeometry = true;
        return;
      }
      if (value === null && place === ROOT && key === 'meta') return;
      if (value === null && place === META && TEXTS[META]?.includes(key)) return once(place, key);
      refuseScalar(place, String(value));
    },
  };

  function takeText(place: number, value: string): void {
    if (UNREADABLE.test(value)) throw new Malformed(`"${key}" holds a control character or a broken one`);
    if (place === ROOT) rootType = value;
    else if (place === FEATURE) feature.type = value;
    else if (place === GEOMETRY) feature.geometryType = value;
    else if (place === PROPERTIES && key === 'region') feature.region = value;
    else if (place === PROPERTIES) feature.regionFullName = value;
    else if (key === 'last_updated') meta.lastUpdated = value;
    else meta.signalType = value;
  }

  function refuseScalar(place: number, what: string): void {
    if (place === COORDINATES) throw new Malformed(`its coordinates hold ${what}`);
    if (place === FEATURES) throw new Malformed(`it is ${what}, expected a Feature`);
    if (depth === 0) throw new Malformed(`the map is ${what}, expected a FeatureCollection`);
    refuseOther(place, what);
  }

  /** A value of another kind under a key that matters. */
  function refuseOther(place: number, what: string): void {
    if (TEXTS[place]?.includes(key)) throw notA(`a text but ${what}`);
    if (OBJECTS.some(([in_, name]) => in_ === place && name === key)) throw notA(`an object but ${what}`);
    if (ARRAYS.some(([in_, name]) => in_ === place && name === key)) throw notA(`a list but ${what}`);
  }

  const reader: JsonReader = createJsonReader(events, { depth: limits.depth, textBytes: limits.nameBytes });

  /** Says in which feature and at which byte a rule was broken. */
  function placed<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Malformed) && !(error instanceof MapError)) throw error;
      const at = reader.offset();
      const inFeature = depth >= 2 && places[2] === FEATURES;
      const region = feature.region === undefined || depth < 3 ? '' : ` (${brief(feature.region)})`;
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
      return placed(() => reader.read(chunk, from));
    },
    polygon: () => (complete ? rings.arena : undefined),
    feature: () => names.length,
    end: () =>
      placed(() => {
        reader.end();
        if (rootType !== 'FeatureCollection')
          throw new Malformed(`its "type" is ${said(rootType)}, expected "FeatureCollection"`);
        if (!seen.has(`${ROOT} features`)) throw new Malformed('it has no "features"');
      }),
    offset: reader.offset,
  };
}

function keysOf(place: number): string[] {
  const opened = [...OBJECTS, ...ARRAYS].filter(([in_]) => in_ === place).map(([, name]) => name);
  return [...opened, ...(TEXTS[place] ?? [])];
}

/** Not in place: a closure would cost each of millions of brackets an object. */
const openedBy = (table: typeof OBJECTS | typeof ARRAYS, place: number, key: string) =>
  table.find(([in_, name]) => in_ === place && name === key)?.[2];

/** Enough of a name to be told by. */
const brief = (name: string) => name.slice(0, 40);
const said = (type: string | undefined) => (type === undefined ? 'missing' : `"${brief(type)}"`);
