/** What all floors share beside its types: how a count is said. */

import { expect, it } from 'vitest';
import { formatCount } from '../../src/domain/units.ts';

//  n    of what    said
const rows: readonly (readonly [number, string, string])[] = [
  [0, 'region', '0 regions'],
  [1, 'region', '1 region'],
  [2, 'region', '2 regions'],
  [1, 'switch', '1 switch'],
  [3, 'switch', '3 switches'],
  [2, 'pass', '2 passes'],
  [1, 'more mistake', '1 more mistake'],
];
it.each(rows)('%d of %s: %s', (n, one, expected) => expect(formatCount(n, one)).toBe(expected));
