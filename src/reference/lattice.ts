/** Draws the regions: jagged borders that neighbours share point for point, rings counter-clockwise, holes clockwise. Knows no names' meaning. */

import { bell, fraction, mix, seedFor } from './noise.ts';
import type { Blob, Patch } from './regions.ts';

/** Longitude, latitude. */
export type Position = readonly [number, number];
export type Ring = readonly Position[];
/** Outer ring first, then holes. */
export type Polygon = readonly Ring[];

/** The map's own seed: borders are the same whatever the seed of the signal. */
const BORDERS = 0x6d61;
const JITTER = 0.06;
const WIGGLE = 0.07;
const CALMING = 0.62;

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly cell: number;
}

interface Lattice {
  readonly at: (node: string) => Position;
  readonly between: (from: string, to: string) => Ring;
  readonly edgesOf: (mine: (name: string) => boolean) => Edge[];
}

const round = (degrees: number) => Math.round(degrees * 1e5) / 1e5;

/** Twice the enclosed area; positive when counter-clockwise. */
export function turn(ring: Ring): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) {
    const [x0, y0] = ring[i - 1] as Position;
    const [x1, y1] = ring[i] as Position;
    sum += x0 * y1 - x1 * y0;
  }
  return sum;
}

/** Even-odd crossing test; a point on the border may fall either way. */
export function contains(ring: Ring, [x, y]: Position): boolean {
  let inside = false;
  for (let i = 1; i < ring.length; i++) {
    const [x0, y0] = ring[i - 1] as Position;
    const [x1, y1] = ring[i] as Position;
    if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) inside = !inside;
  }
  return inside;
}

/** How far a border strays from the straight line at `part` of `2^detail`, as a share of its length. */
function stray(seed: number, part: number, detail: number): number {
  let offset = 0;
  let [low, high] = [0, 2 ** detail];
  let [atLow, atHigh] = [0, 0];
  let reach = WIGGLE;
  while (part !== low && part !== high) {
    const middle = (low + high) / 2;
    const span = (high - low) / 2 ** detail;
    const atMiddle = (atLow + atHigh) / 2 + reach * span * (2 * fraction(seed, middle + high * 4_099) - 1) * 2;
    if (part <= middle) [high, atHigh] = [middle, atMiddle];
    else [low, atLow] = [middle, atMiddle];
    offset = part === low ? atLow : atHigh;
    reach *= CALMING;
  }
  return offset;
}

function latticeOf(patch: Patch, detail: number): Lattice {
  const [width, height] = patch.cell;
  const seed = seedFor(BORDERS, `${patch.west} ${patch.north}`);
  const cells = patch.rows.map((row) => row.split(' '));

  const at = (node: string): Position => {
    const [column = 0, row = 0] = node.split(',').map(Number);
    const x = patch.west + column * width;
    const y = patch.north - row * height;
    const shift = (axis: number) => JITTER * bell(mix(seed, axis), column * 64 + row);
    // A border along the date line is straight: both sides of it must be the same meridian.
    return [Math.abs(x) === 180 ? x : round(x + shift(1) * width), round(y + shift(2) * height)];
  };

  const between = (from: string, to: string): Ring => {
    const forward = from < to;
    const [a, b] = forward ? [at(from), at(to)] : [at(to), at(from)];
    const straight = Math.abs(a[0]) === 180 && a[0] === b[0];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const border = seedFor(seed, forward ? `${from}|${to}` : `${to}|${from}`);
    const parts = 2 ** detail;
    const line = Array.from({ length: parts + 1 }, (_, part): Position => {
      const share = part / parts;
      const off = straight ? 0 : stray(border, part, detail);
      return [round(a[0] + dx * share - dy * off), round(a[1] + dy * share + dx * off)];
    });
    return forward ? line : line.reverse();
  };

  const edgesOf = (mine: (name: string) => boolean): Edge[] => {
    const edges = new Map<string, Edge>();
    cells.forEach((row, j) => {
      row.forEach((name, i) => {
        if (!mine(name)) return;
        const corners = [`${i},${j + 1}`, `${i + 1},${j + 1}`, `${i + 1},${j}`, `${i},${j}`];
        corners.forEach((from, k) => {
          const to = corners[(k + 1) % 4] as string;
          // A side shared by two cells of one region is no border.
          if (!edges.delete(`${to}|${from}`)) edges.set(`${from}|${to}`, { from, to, cell: j * 64 + i });
        });
      });
    });
    return [...edges.values()];
  };
  return { at, between, edgesOf };
}

/** Follows edges from node to node into closed rings; where two rings touch, each stays with its own cell. */
function ringsOf({ between, edgesOf }: Lattice, mine: (name: string) => boolean): Ring[] {
  const left = new Set(edgesOf(mine));
  const rings: Ring[] = [];
  for (const first of left) {
    const ring: Position[] = [];
    let edge: Edge | undefined = first;
    while (edge !== undefined) {
      const here: Edge = edge;
      left.delete(here);
      ring.push(...between(here.from, here.to).slice(ring.length === 0 ? 0 : 1));
      const onward: Edge[] = [...left].filter(({ from }) => from === here.to);
      edge = here.to === first.from ? undefined : (onward.find(({ cell }) => cell === here.cell) ?? onward[0]);
    }
    rings.push(ring);
  }
  return rings;
}

function polygonsOf(rings: readonly Ring[]): Polygon[] {
  const holes = rings.filter((ring) => turn(ring) < 0);
  return rings
    .filter((ring) => turn(ring) > 0)
    .map((outer) => [outer, ...holes.filter((hole) => contains(outer, hole[0] as Position))]);
}

function blobRing({ latitude, longitude, radius, name }: Blob, detail: number): Ring {
  const seed = seedFor(BORDERS, `${name} ${latitude} ${longitude}`);
  const parts = 2 ** (detail + 1);
  const ring = Array.from({ length: parts }, (_, i): Position => {
    const angle = (2 * Math.PI * i) / parts;
    const reach = radius * (0.9 + 0.06 * bell(seed, Math.floor((i * 16) / parts)) * 0.5 + 0.05 * bell(~seed, i) * 0.5);
    return [
      round(longitude + (reach * Math.cos(angle)) / Math.cos((latitude * Math.PI) / 180)),
      round(latitude + reach * Math.sin(angle)),
    ];
  });
  return [...ring, ring[0] as Position];
}

/**
 * The polygons of every group, by the group's name. `groupOf` merges regions (zones into their authority, say);
 * undefined leaves a region out. Each border is made of `2^detail` pieces.
 */
export function draw(
  patches: readonly Patch[],
  blobs: readonly Blob[],
  groupOf: (region: string) => string | undefined,
  detail: number,
): ReadonlyMap<string, readonly Polygon[]> {
  const groups = new Map<string, Polygon[]>();
  const add = (group: string, polygons: readonly Polygon[]) =>
    groups.set(group, [...(groups.get(group) ?? []), ...polygons]);

  for (const patch of patches) {
    const lattice = latticeOf(patch, detail);
    const names = new Set(patch.rows.flatMap((row) => row.split(' ')).filter((name) => name !== '.'));
    const here = new Set([...names].map(groupOf).filter((group) => group !== undefined));
    for (const group of here)
      add(group, polygonsOf(ringsOf(lattice, (name) => name !== '.' && groupOf(name) === group)));
  }
  for (const blob of blobs) {
    const ring = blobRing(blob, detail);
    const group = blob.name === '' ? undefined : groupOf(blob.name);
    const host = blob.host === undefined ? undefined : groupOf(blob.host);
    if (host !== undefined && host === group) continue;
    if (host !== undefined)
      groups.set(
        host,
        (groups.get(host) ?? []).map((polygon) =>
          contains(polygon[0] as Ring, ring[0] as Position) ? [...polygon, [...ring].reverse()] : polygon,
        ),
      );
    if (group !== undefined) add(group, [[ring]]);
  }
  return groups;
}
