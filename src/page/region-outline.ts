/** Draws the region of the house as a shape of rows, by looking up a grid of places in the stored map. */

import type { Disk } from '../domain/ports.ts';
import { type Latitude, type Longitude, type Place, toLatitude, toLongitude } from '../domain/units.ts';
import { openMap } from '../region/lookup.ts';

export interface RegionOutline {
  /** An SVG path, a box for each run of a row. */
  readonly path: string;
  readonly width: number;
  readonly height: number;
  /** Where the house is. */
  readonly house: readonly [number, number];
}

export type FindRegion = (place: Place) => Promise<string | undefined>;

/** A window on the map, in degrees. */
interface Frame {
  readonly west: number;
  readonly east: number;
  readonly south: number;
  readonly north: number;
}

const COARSE = 40;
const FINE = 96;
const FIRST_REACH = 1;
const LONGEST_REACH = 32;

/** Whether each place of a grid over the frame is in the region, row by row from the north. */
async function sampleFrame(frame: Frame, columns: number, rows: number, region: string, find: FindRegion) {
  const mask: boolean[][] = [];
  for (let y = 0; y < rows; y++) {
    const latitude = toLatitude(frame.north - ((y + 0.5) / rows) * (frame.north - frame.south));
    const row: boolean[] = [];
    for (let x = 0; x < columns; x++) {
      const longitude = toLongitude(frame.west + ((x + 0.5) / columns) * (frame.east - frame.west));
      const isOnMap = latitude !== undefined && longitude !== undefined;
      row.push(isOnMap && (await find({ latitude, longitude })) === region);
    }
    mask.push(row);
  }
  return mask;
}

const buildFrame = ({ latitude, longitude }: Place, reach: number): Frame => ({
  west: Math.max(-180, longitude - 2 * reach),
  east: Math.min(180, longitude + 2 * reach),
  south: Math.max(-90, latitude - reach),
  north: Math.min(90, latitude + reach),
});

/** The part of the frame that the region takes, with a cell around it. */
function cropFrame(frame: Frame, mask: readonly (readonly boolean[])[]): Frame {
  const rows = mask.flatMap((row, y) => (row.includes(true) ? [y] : []));
  const columns = mask.flatMap((row) => row.flatMap((isInside, x) => (isInside ? [x] : [])));
  const [stepX, stepY] = [(frame.east - frame.west) / COARSE, (frame.north - frame.south) / COARSE];
  const smallest = (all: readonly number[]) => all.reduce((a, b) => Math.min(a, b), COARSE);
  const greatest = (all: readonly number[]) => all.reduce((a, b) => Math.max(a, b), 0);
  return {
    west: frame.west + (smallest(columns) - 1) * stepX,
    east: frame.west + (greatest(columns) + 2) * stepX,
    north: frame.north - (smallest(rows) - 1) * stepY,
    south: frame.north - (greatest(rows) + 2) * stepY,
  };
}

const isAtEdge = (mask: readonly (readonly boolean[])[]) =>
  mask.some((row, y) => row[0] || row.at(-1) || ((y === 0 || y === mask.length - 1) && row.includes(true)));

function toPath(mask: readonly (readonly boolean[])[]): string {
  const boxes = mask.flatMap((row, y) => {
    const starts = row.flatMap((isInside, x) => (isInside && row[x - 1] !== true ? [x] : []));
    return starts.map((x) => {
      const end = row.indexOf(false, x);
      const width = (end === -1 ? row.length : end) - x;
      return `M${x} ${y}h${width}v1h${-width}z`;
    });
  });
  return boxes.join('');
}

/** Undefined where the house lies in no region. */
export async function drawRegion(place: Place, find: FindRegion): Promise<RegionOutline | undefined> {
  const region = await find(place);
  if (region === undefined) return undefined;
  let frame = buildFrame(place, FIRST_REACH);
  let mask = await sampleFrame(frame, COARSE, COARSE, region, find);
  for (let reach = 2 * FIRST_REACH; reach <= LONGEST_REACH && isAtEdge(mask); reach *= 2) {
    frame = buildFrame(place, reach);
    mask = await sampleFrame(frame, COARSE, COARSE, region, find);
  }
  const crop = cropFrame(frame, mask);
  const { west, east, south, north } = crop;
  // A degree of longitude is shorter away from the equator.
  const shape = ((east - west) * Math.cos((place.latitude * Math.PI) / 180)) / (north - south);
  const [width, height] = shape > 1 ? [FINE, Math.round(FINE / shape)] : [Math.round(FINE * shape), FINE];
  const rows = Math.max(8, height);
  const columns = Math.max(8, width);
  const fine = await sampleFrame(crop, columns, rows, region, find);
  const round = (value: number) => Math.round(value * 10) / 10;
  return {
    path: toPath(fine),
    width: columns,
    height: rows,
    house: [
      round(((place.longitude - west) / (east - west)) * columns),
      round(((north - place.latitude) / (north - south)) * rows),
    ],
  };
}

/** Undefined without a stored map, or where it cannot be read. */
export async function readRegionOutline(
  disk: Disk,
  signalType: string,
  place: Readonly<{ latitude: Latitude; longitude: Longitude }>,
): Promise<RegionOutline | undefined> {
  try {
    const map = await openMap(disk, signalType);
    if (map === undefined || 'kind' in map) return undefined;
    try {
      return await drawRegion(place, async (one) => (await map.findRegion(one))?.region);
    } finally {
      await map.close();
    }
  } catch {
    return undefined;
  }
}
