/** What the service covers: signals, their regions and models, and where each region's values come from. Decides nothing about accounts. */

import { averaged, gridOf, SLOT } from './grid.ts';
import { contains, draw, type Polygon } from './lattice.ts';
import { fraction, seedFor } from './noise.ts';
import { delayOf } from './publication.ts';
import { type Archetype, archetypeOf, authorityOf, blobs, fullName, northAmerica, patches } from './regions.ts';
import type { Series } from './series.ts';
import { recordedSource, type Source, seededSource } from './source.ts';

export const PREVIEW_REGION = 'CAISO_NORTH';
export const signalTypes = ['co2_moer', 'co2_aoer', 'health_damage'] as const;
export type SignalType = (typeof signalTypes)[number];

export type DataPath = 'v3/forecast' | 'v3/forecast/historical' | 'v3/historical' | 'v3/signal-index';

export interface Place {
  readonly region: string;
  readonly fullName: string;
  /** The authority the region is a zone of; undefined where it is one itself. */
  readonly parent: string | undefined;
  readonly latitude: number;
  readonly longitude: number;
  readonly modelType: string;
  /** Made at first use: most places are never asked for. */
  source(): Source;
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
  readonly places: ReadonlyMap<string, Place>;
  shapes(): ReadonlyMap<string, readonly Polygon[]>;
  /** The region that holds a point. */
  placeAt(latitude: number, longitude: number): Place | undefined;
}

export type Catalogue = Readonly<Record<SignalType, Signal>>;

interface Spot {
  readonly latitude: number;
  readonly longitude: number;
}

/** Every region of the table with one point in or near it. */
function spots(): ReadonlyMap<string, Spot> {
  const found = new Map<string, Spot>();
  for (const { west, north, cell, rows } of patches)
    rows.forEach((row, j) => {
      row.split(' ').forEach((name, i) => {
        if (name === '.' || found.has(name)) return;
        found.set(name, { longitude: west + (i + 0.5) * cell[0], latitude: north - (j + 0.5) * cell[1] });
      });
    });
  for (const { name, latitude, longitude } of blobs)
    if (name !== '' && !found.has(name)) found.set(name, { latitude, longitude });
  return found;
}

const inNorthAmerica = ({ latitude, longitude }: Spot) =>
  longitude > northAmerica.west && longitude < -66 && latitude > 24 && latitude < northAmerica.north;

interface SignalKind {
  readonly type: SignalType;
  readonly units: string;
  readonly minutes: number;
  readonly paths: readonly DataPath[];
  readonly monthDay: string;
  /** Unit of the signal per lb/MWh of the archetype. */
  readonly scale: number;
  readonly groupOf: (region: string, spot: Spot) => string | undefined;
}

const kinds: readonly SignalKind[] = [
  {
    type: 'co2_moer',
    units: 'lbs_co2_per_mwh',
    minutes: 5,
    paths: ['v3/forecast', 'v3/forecast/historical', 'v3/historical', 'v3/signal-index'],
    monthDay: '03-01',
    scale: 1,
    groupOf: (region) => region,
  },
  {
    type: 'co2_aoer',
    units: 'lbs_co2_per_mwh',
    minutes: 60,
    paths: ['v3/historical'],
    monthDay: '05-01',
    scale: 0.7,
    groupOf: authorityOf,
  },
  {
    type: 'health_damage',
    units: 'usd_per_mwh',
    minutes: 5,
    paths: ['v3/forecast', 'v3/forecast/historical', 'v3/historical'],
    monthDay: '09-15',
    scale: 0.05,
    groupOf: (region, spot) => (inNorthAmerica(spot) ? region : undefined),
  },
];

const modelTypes: Readonly<Record<Archetype, string>> = {
  solar: 'binned_regression',
  wind: 'heatrate',
  coal: 'proxy',
  hydro: 'interchange',
};
const anyArchetype: readonly Archetype[] = ['solar', 'wind', 'coal'];

export interface CatalogueOptions {
  readonly seed: number;
  /** Pieces of a border: 2 to this power. */
  readonly mapDetail: number;
  /** A record that stands for the `co2_moer` of one region. */
  readonly recorded?: { readonly region: string; readonly series: Series };
}

function placeOf(kind: SignalKind, region: string, spot: Spot, options: CatalogueOptions): Place {
  const seed = seedFor(options.seed, `${kind.type} ${region}`);
  const archetype = archetypeOf(region) ?? anyArchetype[Math.floor(3 * fraction(seedFor(0, region), 0))] ?? 'solar';
  const calibrated = region === PREVIEW_REGION;
  const period = kind.minutes * 60_000;
  // A 5-minute value is known as its slot begins; the mean of an hour only when the hour is over.
  const delay = delayOf(seed, calibrated) + (period > SLOT ? period : 0);
  const build = () => {
    if (options.recorded?.region === region && kind.type === 'co2_moer')
      return recordedSource(options.recorded.series, delay);
    const grid = gridOf({
      seed,
      zone: Math.round(spot.longitude / 15),
      southern: spot.latitude < 0,
      archetype,
      scale: kind.scale,
      strength: calibrated ? 1 : 0.85 + 0.3 * fraction(seed, 9),
    });
    return seededSource(averaged(grid, period / SLOT), seed, { delay, period });
  };
  let source: Source | undefined;
  return {
    region,
    fullName: fullName(region),
    parent: authorityOf(region) === region ? undefined : authorityOf(region),
    ...spot,
    modelType: kind.type === 'co2_aoer' ? 'average' : modelTypes[archetype],
    source: () => {
      source ??= build();
      return source;
    },
  };
}

interface Box {
  readonly region: string;
  readonly polygon: Polygon;
  readonly west: number;
  readonly east: number;
  readonly south: number;
  readonly north: number;
}

const boxesOf = (shapes: ReadonlyMap<string, readonly Polygon[]>): Box[] =>
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

function signalOf(kind: SignalKind, all: ReadonlyMap<string, Spot>, options: CatalogueOptions): Signal {
  const groupOf = (region: string) => {
    const spot = all.get(region);
    return spot === undefined ? undefined : kind.groupOf(region, spot);
  };
  const places = new Map<string, Place>();
  for (const [region, spot] of all) {
    const group = groupOf(region);
    if (group !== undefined && !places.has(group)) places.set(group, placeOf(kind, group, spot, options));
  }
  let shapes: ReadonlyMap<string, readonly Polygon[]> | undefined;
  let boxes: readonly Box[] | undefined;
  const drawn = () => {
    shapes ??= draw(patches, blobs, groupOf, options.mapDetail);
    return shapes;
  };
  return {
    type: kind.type,
    units: kind.units,
    period: kind.minutes * 60_000,
    generatedPeriod: kind.minutes * 60_000,
    paths: kind.paths,
    monthDay: kind.monthDay,
    places,
    shapes: drawn,
    placeAt(latitude, asked) {
      // A ring's eastern side is not its own; on the date line nobody else's begins there.
      const longitude = asked === 180 ? asked - 1e-9 : asked;
      boxes ??= boxesOf(drawn());
      const hit = boxes.find(
        ({ polygon, west, east, south, north }) =>
          longitude >= west &&
          longitude <= east &&
          latitude >= south &&
          latitude <= north &&
          // Even-odd over all rings: inside the outer one and in no hole.
          polygon.filter((ring) => contains(ring, [longitude, latitude])).length === 1,
      );
      return hit === undefined ? undefined : places.get(hit.region);
    },
  };
}

export function catalogueOf(options: CatalogueOptions): Catalogue {
  const all = spots();
  const [moer, aoer, health] = kinds.map((kind) => signalOf(kind, all, options)) as [Signal, Signal, Signal];
  return { co2_moer: moer, co2_aoer: aoer, health_damage: health };
}
