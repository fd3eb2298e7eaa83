/** Reads a region map (specification 2.8) from chunks, in any order of keys: one polygon at a time, names, `meta`. */

import type { PolygonRings } from '../index/polygon-rings.ts';
import { buildMapTooLargeError, MalformedError, MapError } from '../map-failure.ts';
import type { ImportLimits, RegionName } from '../region-types.ts';
import { CoordinatesReader, POLYGON_LEVEL } from './coordinates-reader.ts';
import { type JsonEvents, JsonReader } from './json-reader.ts';

/** A polygon that was left out, and the widest gap of its rings in degrees. */
interface OpenPolygon {
  readonly feature: number;
  readonly gap: number;
}

interface MapMeta {
  lastUpdated?: string;
  signalType?: string;
}

/** The containers that matter. */
const IGNORED = 0;
const ROOT = 1;
const FEATURES = 2;
const FEATURE = 3;
const PROPERTIES = 4;
const GEOMETRY = 5;
const COORDINATES = 6;
const META = 7;

/** Where a key opens a container that matters: `key` in `place` is the container `opens`. */
type ContainerTable = readonly (readonly [place: number, key: string, opens: number])[];
const OBJECT_CONTAINERS: ContainerTable = [
  [ROOT, 'meta', META],
  [FEATURE, 'properties', PROPERTIES],
  [FEATURE, 'geometry', GEOMETRY],
];
const ARRAY_CONTAINERS: ContainerTable = [
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

const NULLABLE: Readonly<Record<number, readonly string[]>> = {
  [FEATURE]: ['geometry', 'properties'],
  [META]: ['last_updated', 'signal_type'],
};

/** Not in place: a closure would cost each of millions of brackets an object. */
const findContainer = (table: ContainerTable, container: number, key: string) =>
  table.find(([place, name]) => place === container && name === key)?.[2];

const listKeys = (container: number): readonly string[] => [
  ...[...OBJECT_CONTAINERS, ...ARRAY_CONTAINERS].filter(([place]) => place === container).map(([, name]) => name),
  ...(TEXT_KEYS[container] ?? []),
];
const FEATURE_KEYS = [FEATURE, PROPERTIES, GEOMETRY].flatMap((container) =>
  listKeys(container).map((name) => `${container} ${name}`),
);

/** Control characters, halves of a pair, and the replacement of bytes that are no UTF-8. */
const UNREADABLE = /[\p{Cc}\p{Cs}\ufffd]/u;

/** Enough of a name to know it by. */
const shortenName = (name: string) => name.slice(0, 40);
const quoteType = (type: string | undefined) => (type === undefined ? 'missing' : `"${shortenName(type)}"`);

/** The texts of the feature being read. */
interface FeatureTexts {
  type?: string;
  geometryType?: string;
  region?: string;
  regionFullName?: string;
}

/** Makes polygons, names and `meta` of the events of a document, and refuses what is no map. */
class MapBuilder implements JsonEvents {
  readonly names: RegionName[] = [];
  readonly meta: MapMeta = {};
  readonly coordinates: CoordinatesReader;
  readonly openPolygons: OpenPolygon[] = [];
  /** Whether a polygon has just been completed. */
  hasPolygon = false;
  readonly #limits: ImportLimits;
  readonly #containers: Uint8Array;
  /** Keys that matter, each with its container: which of two would count is a guess. */
  readonly #seen = new Set<string>();
  #depth = 0;
  #key = '';
  #rootType: string | undefined;
  #feature: FeatureTexts = {};

  constructor(limits: ImportLimits) {
    this.#limits = limits;
    this.coordinates = new CoordinatesReader(limits.polygonVertices);
    this.#containers = new Uint8Array(limits.depth + 2);
  }

  get #container(): number {
    return this.#containers[this.#depth] as number;
  }

  #enter(container: number): void {
    this.#containers[++this.#depth] = container;
  }

  onOpenObject(): void {
    const container = this.#container;
    if (container === COORDINATES) throw new MalformedError('its coordinates hold an object');
    if (this.#depth === 0) this.#enter(ROOT);
    else if (container === FEATURES) this.#startFeature();
    else if (this.#openContainer(OBJECT_CONTAINERS, 'an object') === GEOMETRY) this.coordinates.start();
  }

  onOpenArray(): void {
    const container = this.#container;
    if (this.#depth === 0) throw new MalformedError('the map is a list, expected a FeatureCollection');
    if (container === FEATURES) throw new MalformedError('it is a list, expected a Feature');
    if (container === COORDINATES) this.#enter(COORDINATES);
    else if (this.#openContainer(ARRAY_CONTAINERS, 'a list') !== COORDINATES) return;
    this.coordinates.open();
  }

  /** Gives the container that the present key opens. */
  #openContainer(table: ContainerTable, what: string): number {
    const opens = findContainer(table, this.#container, this.#key);
    if (opens === undefined) this.#refuseWrongType(what);
    else this.#refuseDuplicate();
    this.#enter(opens ?? IGNORED);
    return opens ?? IGNORED;
  }

  onClose(): boolean {
    const container = this.#container;
    this.#depth--;
    this.hasPolygon = container === COORDINATES && this.coordinates.close() && !this.#refuseOpenPolygon();
    if (container === GEOMETRY) this.#endGeometry();
    else if (container === FEATURE) this.#endFeature();
    return this.hasPolygon;
  }

  onKey(name: string): void {
    this.#key = name;
  }

  wantsText(): boolean {
    return TEXT_KEYS[this.#container]?.includes(this.#key) ?? false;
  }

  onText(value: string | undefined): void {
    if (value === undefined) this.#refuseScalar('a text');
    else {
      this.#refuseDuplicate();
      this.#storeText(value);
    }
  }

  onNumber(number: Float64Array): void {
    if (this.#container === COORDINATES) this.coordinates.addNumber(number);
    else this.#refuseScalar('a number');
  }

  onLiteral(value: boolean | null): void {
    if (value === null && this.#container === ROOT && this.#key === 'meta') return;
    if (value === null && NULLABLE[this.#container]?.includes(this.#key)) this.#refuseDuplicate();
    else this.#refuseScalar(String(value));
  }

  end(): void {
    if (this.#rootType !== 'FeatureCollection')
      throw new MalformedError(`its "type" is ${quoteType(this.#rootType)}, expected "FeatureCollection"`);
    if (!this.#seen.has(`${ROOT} features`)) throw new MalformedError('it has no "features"');
  }

  /** The feature being read, for error texts; empty outside of features. */
  describePosition(): string {
    if (this.#depth < 2 || this.#containers[2] !== FEATURES) return '';
    const { region } = this.#feature;
    return `feature ${this.names.length}${region === undefined || this.#depth < 3 ? '' : ` (${shortenName(region)})`}, `;
  }

  /** Leaves out a polygon whose border has a gap: which places it covers is a guess. */
  #refuseOpenPolygon(): boolean {
    const { gap } = this.coordinates;
    if (gap === undefined) return false;
    this.openPolygons.push({ feature: this.names.length, gap });
    return true;
  }

  #startFeature(): void {
    const { features } = this.#limits;
    if (this.names.length >= features) throw buildMapTooLargeError(`the map has more than ${features} features`);
    this.#feature = {};
    for (const key of FEATURE_KEYS) this.#seen.delete(key);
    this.#enter(FEATURE);
  }

  #endFeature(): void {
    const { type, region, regionFullName = region } = this.#feature;
    if (type !== 'Feature') throw new MalformedError(`its "type" is ${quoteType(type)}, expected "Feature"`);
    if (!this.#seen.has(`${FEATURE} geometry`)) throw new MalformedError('it has no "geometry"');
    if (region === undefined || regionFullName === undefined) throw new MalformedError('it has no "properties.region"');
    if (region.trim() === '') throw new MalformedError('its region has an empty name');
    this.names.push({ region, regionFullName });
  }

  #endGeometry(): void {
    const type = this.#feature.geometryType;
    if (type === undefined || POLYGON_LEVEL[type] === undefined)
      throw new MalformedError(`its geometry is ${quoteType(type)}, expected "MultiPolygon"`);
    if (!this.#seen.has(`${GEOMETRY} coordinates`)) throw new MalformedError('its geometry has no "coordinates"');
    this.coordinates.checkNesting(type);
  }

  #storeText(value: string): void {
    const container = this.#container;
    const key = this.#key;
    if (UNREADABLE.test(value)) throw new MalformedError(`"${key}" holds a control character or a broken one`);
    if (container === ROOT) this.#rootType = value;
    else if (container === FEATURE) this.#feature.type = value;
    else if (container === GEOMETRY) this.#feature.geometryType = value;
    else if (container === PROPERTIES) this.#feature[key === 'region' ? 'region' : 'regionFullName'] = value;
    else this.meta[key === 'last_updated' ? 'lastUpdated' : 'signalType'] = value;
  }

  #refuseDuplicate(): void {
    const id = `${this.#container} ${this.#key}`;
    if (this.#seen.has(id)) throw new MalformedError(`"${this.#key}" stands there twice`);
    this.#seen.add(id);
  }

  #refuseScalar(what: string): void {
    const container = this.#container;
    if (container === COORDINATES) throw new MalformedError(`its coordinates hold ${what}`);
    if (container === FEATURES) throw new MalformedError(`it is ${what}, expected a Feature`);
    if (this.#depth === 0) throw new MalformedError(`the map is ${what}, expected a FeatureCollection`);
    this.#refuseWrongType(what);
  }

  /** A value of another kind under a key that matters. */
  #refuseWrongType(what: string): void {
    const container = this.#container;
    const key = this.#key;
    const expected = this.wantsText()
      ? 'a text'
      : findContainer(OBJECT_CONTAINERS, container, key) !== undefined
        ? 'an object'
        : findContainer(ARRAY_CONTAINERS, container, key) !== undefined
          ? 'a list'
          : undefined;
    if (expected !== undefined) throw new MalformedError(`"${key}" is not ${expected} but ${what}`);
  }
}

export interface GeoJsonReader {
  /** Reads on from `from`; stops early behind each polygon, which `polygon()` returns until the next call. */
  read(chunk: Uint8Array, from: number): number;
  /** The polygon just read, or undefined when the chunk ran out first. */
  polygon(): PolygonRings | undefined;
  /** Number of the feature being read; those before it are complete. */
  featureIndex(): number;
  readonly names: readonly RegionName[];
  readonly meta: Readonly<MapMeta>;
  readonly openPolygons: readonly OpenPolygon[];
  /** Rings that ended a little beside their first position. */
  closedRings(): number;
  /** Throws when the document is not a complete map. */
  end(): void;
  offset(): number;
}

export function createGeoJsonReader(limits: ImportLimits): GeoJsonReader {
  const map = new MapBuilder(limits);
  const json = new JsonReader(map, { depth: limits.depth, textBytes: limits.nameBytes });

  /** Adds to an error in which feature and at which byte it was found. */
  function withLocation<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof MalformedError) && !(error instanceof MapError)) throw error;
      const at = json.offset;
      const message = `${map.describePosition()}byte ${at}: ${error.message}`;
      throw new MapError(
        error instanceof MapError ? { ...error.failure, message } : { kind: 'malformed', at, message },
      );
    }
  }

  return {
    names: map.names,
    meta: map.meta,
    openPolygons: map.openPolygons,
    closedRings: () => map.coordinates.closedRings,
    read(chunk, from) {
      map.hasPolygon = false;
      return withLocation(() => json.read(chunk, from));
    },
    polygon: () => (map.hasPolygon ? map.coordinates.polygon : undefined),
    featureIndex: () => map.names.length,
    end: () =>
      withLocation(() => {
        json.end();
        map.end();
      }),
    offset: () => json.offset,
  };
}
