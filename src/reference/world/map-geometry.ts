/** Draws the regions: jagged borders that neighbours share point for point, rings counter-clockwise, holes clockwise. */

import type { Patch, RoundArea } from './region-table.ts';
import { deriveSeed, drawBell, drawFraction, hashNumber } from './seeded-random.ts';

/** Longitude, latitude. */
export type Position = readonly [number, number];
export type Ring = readonly Position[];
/** Outer ring first, then holes. */
export type Polygon = readonly Ring[];

/** The map's own seed: borders are the same whatever the seed of the signal. */
const MAP_SEED = 0x6d61;
const JITTER = 0.06;
const WIGGLE = 0.07;
const DAMPING = 0.62;

interface CellEdge {
  readonly from: string;
  readonly to: string;
  readonly cell: number;
}

interface Lattice {
  readonly findPosition: (node: string) => Position;
  readonly drawBorder: (from: string, to: string) => Ring;
  readonly listEdges: (isOwn: (name: string) => boolean) => CellEdge[];
}

const roundDegrees = (degrees: number) => Math.round(degrees * 1e5) / 1e5;

/** Twice the enclosed area; positive when counter-clockwise. */
function computeDoubleArea(ring: Ring): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) {
    const [x0, y0] = ring[i - 1] as Position;
    const [x1, y1] = ring[i] as Position;
    sum += x0 * y1 - x1 * y0;
  }
  return sum;
}

/** Even-odd crossing test; a point on the border may fall either way. */
export function isInsideRing(ring: Ring, [x, y]: Position): boolean {
  let inside = false;
  for (let i = 1; i < ring.length; i++) {
    const [x0, y0] = ring[i - 1] as Position;
    const [x1, y1] = ring[i] as Position;
    if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) inside = !inside;
  }
  return inside;
}

/** How far a border strays from the straight line at `part` of `2^detail`, as a share of its length. */
function computeBorderOffset(seed: number, part: number, detail: number): number {
  let offset = 0;
  let [low, high] = [0, 2 ** detail];
  let [atLow, atHigh] = [0, 0];
  let reach = WIGGLE;
  while (part !== low && part !== high) {
    const middle = (low + high) / 2;
    const span = (high - low) / 2 ** detail;
    const atMiddle = (atLow + atHigh) / 2 + reach * span * (2 * drawFraction(seed, middle + high * 4_099) - 1) * 2;
    if (part <= middle) [high, atHigh] = [middle, atMiddle];
    else [low, atLow] = [middle, atMiddle];
    offset = part === low ? atLow : atHigh;
    reach *= DAMPING;
  }
  return offset;
}

function createLattice(patch: Patch, detail: number): Lattice {
  const [width, height] = patch.cell;
  const seed = deriveSeed(MAP_SEED, `${patch.west} ${patch.north}`);
  const cells = patch.rows.map((row) => row.split(' '));

  const findPosition = (node: string): Position => {
    const [column = 0, row = 0] = node.split(',').map(Number);
    const x = patch.west + column * width;
    const y = patch.north - row * height;
    const shift = (axis: number) => JITTER * drawBell(hashNumber(seed, axis), column * 64 + row);
    // A border along the date line is straight: both sides of it must be the same meridian.
    return [Math.abs(x) === 180 ? x : roundDegrees(x + shift(1) * width), roundDegrees(y + shift(2) * height)];
  };

  const drawBorder = (from: string, to: string): Ring => {
    const forward = from < to;
    const [a, b] = forward ? [findPosition(from), findPosition(to)] : [findPosition(to), findPosition(from)];
    const straight = Math.abs(a[0]) === 180 && a[0] === b[0];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const border = deriveSeed(seed, forward ? `${from}|${to}` : `${to}|${from}`);
    const parts = 2 ** detail;
    const line = Array.from({ length: parts + 1 }, (_, part): Position => {
      const share = part / parts;
      const offset = straight ? 0 : computeBorderOffset(border, part, detail);
      return [roundDegrees(a[0] + dx * share - dy * offset), roundDegrees(a[1] + dy * share + dx * offset)];
    });
    return forward ? line : line.reverse();
  };

  const listEdges = (isOwn: (name: string) => boolean): CellEdge[] => {
    const edges = new Map<string, CellEdge>();
    cells.forEach((row, j) => {
      row.forEach((name, i) => {
        if (!isOwn(name)) return;
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
  return { findPosition, drawBorder, listEdges };
}

/** Follows edges from node to node into closed rings; where two rings touch, each stays with its own cell. */
function traceRings({ drawBorder: between, listEdges: edgesOf }: Lattice, isOwn: (name: string) => boolean): Ring[] {
  const remaining = new Set(edgesOf(isOwn));
  const rings: Ring[] = [];
  for (const first of remaining) {
    const ring: Position[] = [];
    let edge: CellEdge | undefined = first;
    while (edge !== undefined) {
      const current: CellEdge = edge;
      remaining.delete(current);
      ring.push(...between(current.from, current.to).slice(ring.length === 0 ? 0 : 1));
      const nextEdges: CellEdge[] = [...remaining].filter(({ from }) => from === current.to);
      edge =
        current.to === first.from ? undefined : (nextEdges.find(({ cell }) => cell === current.cell) ?? nextEdges[0]);
    }
    rings.push(ring);
  }
  return rings;
}

function buildPolygons(rings: readonly Ring[]): Polygon[] {
  const holes = rings.filter((ring) => computeDoubleArea(ring) < 0);
  return rings
    .filter((ring) => computeDoubleArea(ring) > 0)
    .map((outer) => [outer, ...holes.filter((hole) => isInsideRing(outer, hole[0] as Position))]);
}

function drawRoundArea({ latitude, longitude, radius, name }: RoundArea, detail: number): Ring {
  const seed = deriveSeed(MAP_SEED, `${name} ${latitude} ${longitude}`);
  const parts = 2 ** (detail + 1);
  const ring = Array.from({ length: parts }, (_, i): Position => {
    const angle = (2 * Math.PI * i) / parts;
    const reach =
      radius * (0.9 + 0.06 * drawBell(seed, Math.floor((i * 16) / parts)) * 0.5 + 0.05 * drawBell(~seed, i) * 0.5);
    return [
      roundDegrees(longitude + (reach * Math.cos(angle)) / Math.cos((latitude * Math.PI) / 180)),
      roundDegrees(latitude + reach * Math.sin(angle)),
    ];
  });
  return [...ring, ring[0] as Position];
}

/**
 * The polygons of every group, by the group's name. `groupOf` merges regions (zones into their authority, say);
 * undefined leaves a region out. Each border is made of `2^detail` pieces.
 */
export function drawRegions(
  patches: readonly Patch[],
  roundAreas: readonly RoundArea[],
  findGroup: (region: string) => string | undefined,
  detail: number,
): ReadonlyMap<string, readonly Polygon[]> {
  const groups = new Map<string, Polygon[]>();
  const add = (group: string, polygons: readonly Polygon[]) =>
    groups.set(group, [...(groups.get(group) ?? []), ...polygons]);

  for (const patch of patches) {
    const lattice = createLattice(patch, detail);
    const names = new Set(patch.rows.flatMap((row) => row.split(' ')).filter((name) => name !== '.'));
    const patchGroups = new Set([...names].map(findGroup).filter((group) => group !== undefined));
    for (const group of patchGroups)
      add(group, buildPolygons(traceRings(lattice, (name) => name !== '.' && findGroup(name) === group)));
  }
  for (const area of roundAreas) {
    const ring = drawRoundArea(area, detail);
    const group = area.name === '' ? undefined : findGroup(area.name);
    const host = area.host === undefined ? undefined : findGroup(area.host);
    if (host !== undefined && host === group) continue;
    if (host !== undefined)
      groups.set(
        host,
        (groups.get(host) ?? []).map((polygon) =>
          isInsideRing(polygon[0] as Ring, ring[0] as Position) ? [...polygon, [...ring].reverse()] : polygon,
        ),
      );
    if (group !== undefined) add(group, [[ring]]);
  }
  return groups;
}
