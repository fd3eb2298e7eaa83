/** Maps that are too much, for the tests of row 26. */

import type { Scripted } from '../doubles/scripted-service.ts';
import { feature, square, textOf } from '../region/texts.ts';
import { REGION } from './grid.ts';

export const asJson = { 'content-type': 'application/json' };
export const HOME = square(-125, 35, 8);

const endless: Scripted = (response) => {
  response.writeHead(200, asJson);
  response.write('{"type":"FeatureCollection","features":[');
  const block = Buffer.from(' '.repeat(1 << 20));
  const more = () => {
    while (!response.destroyed && response.write(block)) {}
    if (!response.destroyed) response.once('drain', more);
  };
  more();
};

const ringOf = (vertices: number) =>
  JSON.stringify(
    Array.from({ length: vertices }, (_, i) => [-120 + Math.cos(i / vertices) / 9, 38 + Math.sin(i / vertices) / 9]),
  );
const withRing = (ring: string): Scripted => ({
  headers: asJson,
  body: textOf(feature(REGION, [HOME])).replace(/"coordinates":\[\[\[.*?\]\]\]\]?/, `"coordinates":[[${ring}]]`),
});

//  what is odd                      the map
export const ODD_MAPS: readonly (readonly [string, () => Scripted])[] = [
  ['ten times as large as any map', () => endless],
  ['1.2 million vertices in a ring', () => withRing(ringOf(1_200_000))],
  ['a ring of two points', () => withRing('[[0,0],[1,1]]')],
  ['coordinates that are text', () => withRing('[["a","b"],["c","d"],["e","f"],["a","b"]]')],
  ['half a map', () => ({ headers: asJson, body: textOf(feature(REGION, [HOME])).slice(0, 90) })],
];
