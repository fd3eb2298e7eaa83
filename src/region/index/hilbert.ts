/** The order along a Hilbert curve: places near in the order are near on the map. */

const CURVE_BITS = 16;
const CURVE_SIDE = 2 ** CURVE_BITS;

/** Position of a cell on the curve through a grid of 65,536 by 65,536; both coordinates whole and below 65,536. */
export function computeHilbertPosition(x: number, y: number): number {
  let column = x;
  let row = y;
  let position = 0;
  for (let side = CURVE_SIDE / 2; side >= 1; side /= 2) {
    const right = (column & side) > 0 ? 1 : 0;
    const upper = (row & side) > 0 ? 1 : 0;
    position += side * side * ((3 * right) ^ upper);
    // Each quarter holds the curve turned, so that its end meets the next one's start.
    if (upper === 0) {
      if (right === 1) {
        column = CURVE_SIDE - 1 - column;
        row = CURVE_SIDE - 1 - row;
      }
      [column, row] = [row, column];
    }
  }
  return position;
}
