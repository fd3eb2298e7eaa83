/** Which position of the 40-pin header carries which GPIO number. */

/** Lines 0 and 1 belong to the identity chip of an add-on board. */
export const FIRST_LINE = 2;
const POSITIONS: readonly number[] = [
  3, 5, 7, 29, 31, 26, 24, 21, 19, 23, 32, 33, 8, 10, 36, 11, 12, 35, 38, 40, 15, 16, 18, 22, 37, 13,
];
export const LAST_LINE = FIRST_LINE + POSITIONS.length - 1;

/** Both names of a line, since people count the positions. */
export const formatHeaderLine = (line: number) => `GPIO ${line} = header pin ${POSITIONS[line - FIRST_LINE] ?? 'none'}`;

/** The line at a position of the header; undefined for a supply, a ground and the identity lines. */
export function findLineAtPosition(position: number): number | undefined {
  const index = POSITIONS.indexOf(position);
  return index < 0 ? undefined : FIRST_LINE + index;
}
