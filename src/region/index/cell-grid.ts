/** The grid that all cells and boxes lie on: 2^22 steps a degree, so that every line of it is an exact double. Decides nothing else. */

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
