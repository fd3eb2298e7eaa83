/** Maps that are too much, for the tests of row 26. */

import type { ScriptedResponse } from '../doubles/scripted-service.ts';
import { createMapText, feature, square } from '../region/map-texts.ts';
import { REGION } from './scripted-signal-service.ts';

export const JSON_HEADERS = { 'content-type': 'application/json' };
export const HOME = square(-125, 35, 8);

const endlessMap: ScriptedResponse = (response) => {
  response.writeHead(200, JSON_HEADERS);
  response.write('{"type":"FeatureCollection","features":[');
  const block = Buffer.from(' '.repeat(1 << 20));
  const more = () => {
    while (!response.destroyed && response.write(block)) {}
    if (!response.destroyed) response.once('drain', more);
  };
  more();
};

const formatRing = (vertices: number) =>
  JSON.stringify(
    Array.from({ length: vertices }, (_, i) => [-120 + Math.cos(i / vertices) / 9, 38 + Math.sin(i / vertices) / 9]),
  );
const withRing = (ring: string): ScriptedResponse => ({
  headers: JSON_HEADERS,
  // Newer than the map in use, which an equal time would leave in peace.
  body: createMapText(feature(REGION, [HOME]))
    .replace('2026-03-01', '2026-03-20')
    .replace(/"coordinates":\[\[\[.*?\]\]\]\]?/, `"coordinates":[[${ring}]]`),
});

//  what is odd                      the map
export const HOSTILE_MAPS: readonly (readonly [string, () => ScriptedResponse])[] = [
  ['ten times as large as any map', () => endlessMap],
  ['1.2 million vertices in a ring', () => withRing(formatRing(1_200_000))],
  ['a ring of two points', () => withRing('[[0,0],[1,1]]')],
  ['coordinates that are text', () => withRing('[["a","b"],["c","d"],["e","f"],["a","b"]]')],
  ['half a map', () => ({ headers: JSON_HEADERS, body: createMapText(feature(REGION, [HOME])).slice(0, 90) })],
];
