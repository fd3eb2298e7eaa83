/** The grid that all cells and boxes lie on: 2^22 steps a degree, so that every line of it is an exact double. */

/** 2.4e-7 degrees a step, 2.6 cm; ±360 degrees fit in 32 bits. */
export const STEPS_PER_DEGREE = 1 << 22;

/** A closed box between grid lines, in steps. */
export interface GridBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Exact for every grid line. */
export const toDegrees = (steps: number) => steps / STEPS_PER_DEGREE;
/** The grid line at or below; the product is exact, since the scale is a power of two. */
export const floorToGrid = (value: number) => Math.floor(value * STEPS_PER_DEGREE);
/** The grid line at or above. */
export const ceilToGrid = (value: number) => Math.ceil(value * STEPS_PER_DEGREE);

export const isInBox = ({ west, south, east, north }: GridBox, stepsX: number, stepsY: number) =>
  stepsX >= west && stepsX <= east && stepsY >= south && stepsY <= north;

export const EMPTY_BOX: GridBox = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity };

/** The smallest box around both. */
export const uniteBoxes = (a: GridBox, b: GridBox): GridBox => ({
  west: Math.min(a.west, b.west),
  south: Math.min(a.south, b.south),
  east: Math.max(a.east, b.east),
  north: Math.max(a.north, b.north),
});
