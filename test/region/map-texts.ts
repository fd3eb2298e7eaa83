/** Small maps as texts: a square by its corners, features and documents with any part replaced. */

export type Ring = readonly (readonly number[])[];

/** A closed square, counter-clockwise. */
export const square = (west: number, south: number, side: number): Ring => [
  [west, south],
  [west + side, south],
  [west + side, south + side],
  [west, south + side],
  [west, south],
];

export const hole = (west: number, south: number, side: number): Ring => [...square(west, south, side)].reverse();

export const properties = (region: string) => ({ region, region_full_name: `Region ${region}` });

/** A feature of polygons, each a list of rings. */
export const feature = (region: string, ...polygons: readonly (readonly Ring[])[]) => ({
  type: 'Feature',
  properties: properties(region),
  geometry: { type: 'MultiPolygon', coordinates: polygons },
});

export const MAP_META = { last_updated: '2026-03-01T00:00:00+00:00', signal_type: 'co2_moer' };

/** A map of features, as the service writes it. */
export const createMapDocument = (...features: readonly unknown[]) => ({
  type: 'FeatureCollection',
  features,
  meta: MAP_META,
});

export const createMapText = (...features: readonly unknown[]) => JSON.stringify(createMapDocument(...features));

/** Two regions side by side: WEST from 0 to 10 east, EAST from 10 to 20. */
export const TWO_REGIONS = createMapText(feature('WEST', [square(0, 0, 10)]), feature('EAST', [square(10, 0, 10)]));
