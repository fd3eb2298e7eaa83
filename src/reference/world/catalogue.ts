/** What the service covers: signals, their regions, and where each region's values come from. */

import { drawRegions, isInsideRing, type Polygon } from './map-geometry.ts';
import { computePublicationDelay } from './publication.ts';
import type { Series } from './recorded-signal.ts';
import {
  type Archetype,
  findArchetype,
  findAuthority,
  formatRegionName,
  northAmerica,
  patches,
  roundAreas,
} from './region-table.ts';
import { averageGrid, createSeededGrid, SLOT } from './seeded-grid.ts';
import { deriveSeed, drawFraction } from './seeded-random.ts';
import { createRecordedSource, createSeededSource, type ValueSource } from './value-source.ts';

export const PREVIEW_REGION = 'CAISO_NORTH';
export const signalTypes = ['co2_moer', 'co2_aoer', 'health_damage'] as const;
export type SignalType = (typeof signalTypes)[number];

export type DataPath = 'v3/forecast' | 'v3/forecast/historical' | 'v3/historical' | 'v3/signal-index';

export interface CatalogueRegion {
  readonly name: string;
  readonly fullName: string;
  /** The authority the region is a zone of; its own name where it is one itself. */
  readonly parent: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly modelType: string;
  /** Is made at first use: most regions are never asked for. */
  source(): ValueSource;
}

export interface Signal {
  readonly type: SignalType;
  readonly units: string;
  /** Milliseconds. */
  readonly period: number;
  /** How often a forecast is generated, milliseconds. */
  readonly generatedPeriod: number;
  readonly paths: readonly DataPath[];
  /** Month and day of each year's model label. */
  readonly monthDay: string;
  readonly regions: ReadonlyMap<string, CatalogueRegion>;
  shapes(): ReadonlyMap<string, readonly Polygon[]>;
  /** The region that holds a point. */
  findRegion(latitude: number, longitude: number): CatalogueRegion | undefined;
}

export type Catalogue = Readonly<Record<SignalType, Signal>>;

interface RegionPoint {
  readonly latitude: number;
  readonly longitude: number;
}

/** Every region of the table with one point in or near it. */
function listRegionPoints(): ReadonlyMap<string, RegionPoint> {
  const found = new Map<string, RegionPoint>();
  for (const { west, north, cell, rows } of patches)
    rows.forEach((row, j) => {
      row.split(' ').forEach((name, i) => {
        if (name === '.' || found.has(name)) return;
        found.set(name, { longitude: west + (i + 0.5) * cell[0], latitude: north - (j + 0.5) * cell[1] });
      });
    });
  for (const { name, latitude, longitude } of roundAreas)
    if (name !== '' && !found.has(name)) found.set(name, { latitude, longitude });
  return found;
}

const isInNorthAmerica = ({ latitude, longitude }: RegionPoint) =>
  longitude > northAmerica.west && longitude < -66 && latitude > 24 && latitude < northAmerica.north;

interface SignalKind {
  readonly type: SignalType;
  readonly units: string;
  readonly minutes: number;
  readonly paths: readonly DataPath[];
  readonly monthDay: string;
  /** Unit of the signal per lb/MWh of the archetype. */
  readonly scale: number;
  readonly findGroup: (region: string, spot: RegionPoint) => string | undefined;
}

const signalKinds: readonly SignalKind[] = [
  {
    type: 'co2_moer',
    units: 'lbs_co2_per_mwh',
    minutes: 5,
    paths: ['v3/forecast', 'v3/forecast/historical', 'v3/historical', 'v3/signal-index'],
    monthDay: '03-01',
    scale: 1,
    findGroup: (region) => region,
  },
  {
    type: 'co2_aoer',
    units: 'lbs_co2_per_mwh',
    minutes: 60,
    paths: ['v3/historical'],
    monthDay: '05-01',
    scale: 0.7,
    findGroup: findAuthority,
  },
  {
    type: 'health_damage',
    units: 'usd_per_mwh',
    minutes: 5,
    paths: ['v3/forecast', 'v3/forecast/historical', 'v3/historical'],
    monthDay: '09-15',
    scale: 0.05,
    findGroup: (region, spot) => (isInNorthAmerica(spot) ? region : undefined),
  },
];

const modelTypes: Readonly<Record<Archetype, string>> = {
  solar: 'binned_regression',
  wind: 'heatrate',
  coal: 'proxy',
  hydro: 'interchange',
};
const unlistedArchetypes: readonly Archetype[] = ['solar', 'wind', 'coal'];

interface CatalogueOptions {
  readonly seed: number;
  /** Pieces of a border: 2 to this power. */
  readonly mapDetail: number;
  /** A record that stands for the `co2_moer` of one region. */
  readonly recorded?: { readonly region: string; readonly series: Series };
}

function createRegion(kind: SignalKind, name: string, point: RegionPoint, options: CatalogueOptions): CatalogueRegion {
  const seed = deriveSeed(options.seed, `${kind.type} ${name}`);
  const archetype =
    findArchetype(name) ?? unlistedArchetypes[Math.floor(3 * drawFraction(deriveSeed(0, name), 0))] ?? 'solar';
  const isCalibrated = name === PREVIEW_REGION;
  const period = kind.minutes * 60_000;
  // A 5-minute value is known as its slot begins; the mean of an hour only when the hour is over.
  const delay = computePublicationDelay(seed, isCalibrated) + (period > SLOT ? period : 0);
  const build = () => {
    if (options.recorded?.region === name && kind.type === 'co2_moer')
      return createRecordedSource(options.recorded.series, delay);
    const grid = createSeededGrid({
      seed,
      zone: Math.round(point.longitude / 15),
      southern: point.latitude < 0,
      archetype,
      scale: kind.scale,
      strength: isCalibrated ? 1 : 0.85 + 0.3 * drawFraction(seed, 9),
    });
    return createSeededSource(averageGrid(grid, period / SLOT), seed, { delay, period });
  };
  let source: ValueSource | undefined;
  return {
    name,
    fullName: formatRegionName(name),
    parent: findAuthority(name),
    ...point,
    modelType: kind.type === 'co2_aoer' ? 'average' : modelTypes[archetype],
    source: () => {
      source ??= build();
      return source;
    },
  };
}

interface PolygonBox {
  readonly region: string;
  readonly polygon: Polygon;
  readonly west: number;
  readonly east: number;
  readonly south: number;
  readonly north: number;
}

const listBoxes = (shapes: ReadonlyMap<string, readonly Polygon[]>): PolygonBox[] =>
  [...shapes].flatMap(([region, polygons]) =>
    polygons.map((polygon) => {
      const outer = polygon[0] ?? [];
      const [xs, ys] = [outer.map(([x]) => x), outer.map(([, y]) => y)];
      return {
        region,
        polygon,
        west: Math.min(...xs),
        east: Math.max(...xs),
        south: Math.min(...ys),
        north: Math.max(...ys),
      };
    }),
  );

function createSignal(kind: SignalKind, points: ReadonlyMap<string, RegionPoint>, options: CatalogueOptions): Signal {
  const findGroup = (region: string) => {
    const point = points.get(region);
    return point === undefined ? undefined : kind.findGroup(region, point);
  };
  const regions = new Map<string, CatalogueRegion>();
  for (const [region, spot] of points) {
    const group = findGroup(region);
    if (group !== undefined && !regions.has(group)) regions.set(group, createRegion(kind, group, spot, options));
  }
  let shapes: ReadonlyMap<string, readonly Polygon[]> | undefined;
  let boxes: readonly PolygonBox[] | undefined;
  const drawShapes = () => {
    shapes ??= drawRegions(patches, roundAreas, findGroup, options.mapDetail);
    return shapes;
  };
  return {
    type: kind.type,
    units: kind.units,
    period: kind.minutes * 60_000,
    generatedPeriod: kind.minutes * 60_000,
    paths: kind.paths,
    monthDay: kind.monthDay,
    regions,
    shapes: drawShapes,
    findRegion(latitude, requestedLongitude) {
      // A ring's eastern side belongs to its neighbour; on the date line there is none.
      const longitude = requestedLongitude === 180 ? requestedLongitude - 1e-9 : requestedLongitude;
      boxes ??= listBoxes(drawShapes());
      const hit = boxes.find(
        ({ polygon, west, east, south, north }) =>
          longitude >= west &&
          longitude <= east &&
          latitude >= south &&
          latitude <= north &&
          // Even-odd over all rings: inside the outer one and in no hole.
          polygon.filter((ring) => isInsideRing(ring, [longitude, latitude])).length === 1,
      );
      return hit === undefined ? undefined : regions.get(hit.region);
    },
  };
}

export function createCatalogue(options: CatalogueOptions): Catalogue {
  const points = listRegionPoints();
  const [moer, aoer, health] = signalKinds.map((kind) => createSignal(kind, points, options)) as [
    Signal,
    Signal,
    Signal,
  ];
  return { co2_moer: moer, co2_aoer: aoer, health_damage: health };
}
