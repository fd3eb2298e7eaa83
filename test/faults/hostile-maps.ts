/** Maps that are too much, for the tests of row 26. */

import type { ScriptedResponse } from '../doubles/scripted-service.ts';
import { createMapText, feature, square } from '../region/map-texts.ts';
import { REGION } from './scripted-signal-service.ts';

export const JSON_HEADERS = { 'content-type': 'application/json' };
export const HOME = square(-125, 35, 8);

const formatRing = (vertices: number) =>
  JSON.stringify(
    Array.from({ length: vertices }, (_, i) => [-120 + Math.cos(i / vertices) / 9, 38 + Math.sin(i / vertices) / 9]),
  );
/** A map that goes on until its reader ends it: the block of each number, one after another. */
const endlessMap =
  (createBlock: (number: number) => string): ScriptedResponse =>
  (response) => {
    response.writeHead(200, JSON_HEADERS);
    response.write('{"type":"FeatureCollection","features":[');
    let number = 0;
    const writeMore = () => {
      while (!response.destroyed && response.write(createBlock(number++))) {}
      if (!response.destroyed) response.once('drain', writeMore);
    };
    writeMore();
  };
const spaces = ' '.repeat(1 << 20);
const wideRing = formatRing(2_000).replace(/^\[(\[[^\]]*\]).*\]$/, (ring, first) => `${ring.slice(0, -1)},${first}]`);
const createRegion = (number: number) =>
  `${number === 0 ? '' : ','}{"type":"Feature","properties":{"region":"R${number}","region_full_name":"Region ${number}"},"geometry":{"type":"MultiPolygon","coordinates":[[${wideRing}]]}}`;

const withRing = (ring: string): ScriptedResponse => ({
  headers: JSON_HEADERS,
  // Newer than the map in use, which an equal time would leave in peace.
  body: createMapText(feature(REGION, [HOME]))
    .replace('2026-03-01', '2026-03-20')
    .replace(/"coordinates":\[\[\[.*?\]\]\]\]?/, `"coordinates":[[${ring}]]`),
});

//  what is odd                      the map
export const HOSTILE_MAPS: readonly (readonly [string, () => ScriptedResponse])[] = [
  ['endless spaces', () => endlessMap(() => spaces)],
  ['1.2 million vertices in a ring', () => withRing(formatRing(1_200_000))],
  ['a ring of two points', () => withRing('[[0,0],[1,1]]')],
  ['coordinates that are text', () => withRing('[["a","b"],["c","d"],["e","f"],["a","b"]]')],
  ['half a map', () => ({ headers: JSON_HEADERS, body: createMapText(feature(REGION, [HOME])).slice(0, 90) })],
];
/** Ends only at the limit of bytes. Each attempt takes seconds of processor time, so one test asks for it. */
export const ENDLESS_REGIONS = ['endless regions', () => endlessMap(createRegion)] as const;
