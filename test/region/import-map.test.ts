/** What the import makes of good and bad texts: an index, or one sentence that names the place, and the map held before unharmed. */

import { describe, expect, it } from 'vitest';
import type { Disk } from '../../src/domain/ports.ts';
import { downloadHomeMap } from '../../src/region/home-region.ts';
import { openMap } from '../../src/region/lookup.ts';
import type { ImportLimits } from '../../src/region/region-types.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { geojsonOf } from '../fixtures/region-map.ts';
import {
  createMapDocument,
  createMapText,
  feature,
  hole,
  MAP_META,
  properties,
  square,
  TWO_REGIONS,
} from './map-texts.ts';
import { importAndOpen, importText, NOW, placeAt, splitChunks } from './region-setup.ts';

/** A disk that holds the pair already. */
async function holdingPair(): Promise<MemoryDisk> {
  const disk = createMemoryDisk();
  const result = await importText(TWO_REGIONS, { disk });
  if (!result.ok) throw new Error(result.failure.message);
  return disk;
}

async function regionAt(disk: MemoryDisk, latitude: number, longitude: number): Promise<string | undefined> {
  const map = await openMap(disk, 'co2_moer');
  if (map === undefined || 'kind' in map) throw new Error('no map is held');
  return (await map.findRegion(placeAt(latitude, longitude)))?.region;
}

const swap = (text: string, from: string, to: string) => {
  if (!text.includes(from)) throw new Error(`${from} is not in the text`);
  return text.replace(from, to);
};
/** The pair with the whole geometry of EAST replaced. */
const withGeometry = (geometry: string) =>
  swap(TWO_REGIONS, JSON.stringify(feature('EAST', [square(10, 0, 10)]).geometry), geometry);
const withRing = (ring: string) => withGeometry(`{"type":"MultiPolygon","coordinates":[[${ring}]]}`);
const openSquare = JSON.stringify(square(10, 0, 10).slice(0, -1));

describe('a ring whose last position is not its first', () => {
  /** Twenty squares side by side; that at 0, 0 is OPEN and ends beside its beginning by `gap` degrees. */
  const createOpenMap = (gap: number) => {
    const closed = Array.from({ length: 19 }, (_, i) => feature(`R${i}`, [square(4 * i - 80, 20, 3)]));
    const ring = [
      [0, 0],
      [3, 0],
      [3, 3],
      [0, 3],
      [0, gap],
    ];
    return createMapText(...closed, feature('OPEN', [ring as never]));
  };
  const importOpen = async (gap: number) => {
    const disk = createMemoryDisk();
    const warnings: string[] = [];
    const log = (level: string, message: string) => {
      if (level === 'warn') warnings.push(message);
    };
    const result = await importText(createOpenMap(gap), { disk, log });
    return { disk, warnings, result };
  };

  it('is closed when the gap is that of a rounded border, with one warning', async () => {
    const { disk, warnings, result } = await importOpen(0.0009);
    expect(result).toMatchObject({ ok: true, info: { regions: 20, polygons: 20 } });
    expect(warnings).toEqual(['closed 1 ring of the map that ended beside the first position']);
    expect(await regionAt(disk, 1, 1)).toBe('OPEN');
  });

  it('leaves out its polygon alone when the gap is wide, and says so', async () => {
    const { disk, warnings, result } = await importOpen(1.5);
    expect(result).toMatchObject({ ok: true, info: { regions: 19, polygons: 19 } });
    expect(warnings).toEqual([
      'the map has 1 polygon of OPEN with a ring that is not closed (by up to 1.5 degrees): left out, so places in there lie in no region',
    ]);
    expect([await regionAt(disk, 1, 1), await regionAt(disk, 21, -79)]).toEqual([undefined, 'R0']);
  });
});

describe('a text that is no map', () => {
  //  what, text, kind, words of the sentence
  const rows: readonly (readonly [string, string, string, string | RegExp])[] = [
    ['nothing', '', 'malformed', 'ends too early'],
    ['UTF-16', '\0{\0"', 'malformed', 'the text is UTF-16, expected UTF-8'],
    ['a list', '[]', 'malformed', 'expected a FeatureCollection'],
    ['a number', '12 ', 'malformed', 'expected a FeatureCollection'],
    ['an error body', '{"error":"Forbidden"}', 'malformed', '"type" is missing'],
    ['an HTML page', '<html></html>', 'malformed', '"<" stands where a value is expected'],
    ['another type', swap(TWO_REGIONS, 'FeatureCollection', 'Topology'), 'malformed', 'expected "FeatureCollection"'],
    ['no features', JSON.stringify({ type: 'FeatureCollection', meta: MAP_META }), 'malformed', 'no "features"'],
    ['an empty list of features', createMapText(), 'malformed', 'no region with an area'],
    ['features as an object', swap(createMapText(), '[]', '{}'), 'malformed', '"features" is not a list but an object'],
    [
      'features twice',
      swap(TWO_REGIONS, '"meta"', '"features":[],"meta"'),
      'malformed',
      '"features" stands there twice',
    ],
    ['text behind the end', `${TWO_REGIONS} x`, 'malformed', 'nothing more'],
    ['two documents', TWO_REGIONS + TWO_REGIONS, 'malformed', 'nothing more'],
    ['NaN', withRing('[[10,0],[20,0],[20,NaN],[10,0]]'), 'malformed', 'feature 1 (EAST)'],
    ['1e400', withRing('[[10,0],[20,0],[20,1e400],[10,0]]'), 'malformed', 'latitude beyond all doubles'],
    ['Infinity', withRing('[[10,0],[Infinity,0],[20,1],[10,0]]'), 'malformed', '"Infinity" is no JSON value'],
    [
      'a latitude of 91',
      withRing('[[10,0],[20,0],[20,91],[10,0]]'),
      'malformed',
      'latitude 91 is not within -90 to 90',
    ],
    ['a longitude of 361', withRing('[[10,0],[361,0],[20,1],[10,0]]'), 'malformed', 'longitude 361'],
    ['hexadecimal', withRing('[[10,0],[0x14,0],[20,1],[10,0]]'), 'malformed', '"0x14" is no JSON value'],
    ['a leading zero', withRing('[[10,0],[020,0],[20,1],[10,0]]'), 'malformed', '"020" is no JSON value'],
    ['a leading plus', withRing('[[10,0],[+20,0],[20,1],[10,0]]'), 'malformed', '"+20" is no JSON value'],
    ['a bare point', withRing('[[10,0],[20.,0],[20,1],[10,0]]'), 'malformed', '"20." is no JSON value'],
    ['two minus signs', withRing('[[10,0],[--2,0],[20,1],[10,0]]'), 'malformed', '"--2" is no JSON value'],
    ['a coordinate as text', withRing('[[10,0],["20",0],[20,1],[10,0]]'), 'malformed', 'coordinates hold a text'],
    ['a null position', withRing('[[10,0],null,[20,1],[10,0]]'), 'malformed', 'coordinates hold null'],
    ['an object in a ring', withRing('[[10,0],{},[20,1],[10,0]]'), 'malformed', 'coordinates hold an object'],
    ['a list in a position', withRing('[[10,0],[20,[0]],[20,1],[10,0]]'), 'malformed', 'a position holds an array'],
    ['a position of one number', withRing('[[10,0],[20],[20,1],[10,0]]'), 'malformed', 'fewer than two numbers'],
    ['an empty position', withRing('[[10,0],[],[20,1],[10,0]]'), 'malformed', 'fewer than two numbers'],
    ['a number outside a position', withRing('[[10,0],5,[20,1],[10,0]]'), 'malformed', 'outside a position'],
    ['a ring left open', withRing(openSquare), 'malformed', '1 polygon of EAST with a ring that is not closed'],
    [
      'a ring open in one axis',
      withRing('[[10,0],[20,0],[20,10],[10,1]]'),
      'malformed',
      'a ring that is not closed (by up to 1.0 degrees)',
    ],
    ['a ring of three positions', withRing('[[10,0],[20,0],[10,0]]'), 'malformed', 'a ring has 3 positions'],
    ['an empty ring', withRing(`${JSON.stringify(square(10, 0, 5))},[]`), 'malformed', 'a ring has 0 positions'],
    ['an empty ring first', withRing(`[],${JSON.stringify(square(10, 0, 5))}`), 'malformed', 'a ring is empty'],
    [
      'a point',
      withGeometry('{"type":"Point","coordinates":[10,0]}'),
      'malformed',
      'not nested as those of a MultiPolygon',
    ],
    ['a line', withGeometry('{"type":"LineString","coordinates":[[10,0],[20,0]]}'), 'malformed', 'not nested'],
    [
      'lines nested as a polygon',
      withGeometry(`{"type":"MultiLineString","coordinates":[${JSON.stringify(square(10, 0, 5))}]}`),
      'malformed',
      'its geometry is "MultiLineString"',
    ],
    [
      'a collection of geometries',
      withGeometry('{"type":"GeometryCollection","geometries":[]}'),
      'malformed',
      '"GeometryCollection"',
    ],
    [
      'a polygon that says it is many',
      withGeometry(`{"type":"MultiPolygon","coordinates":[${JSON.stringify(square(10, 0, 5))}]}`),
      'malformed',
      'not nested as those of a MultiPolygon',
    ],
    ['no coordinates', withGeometry('{"type":"MultiPolygon"}'), 'malformed', 'no "coordinates"'],
    [
      'coordinates twice',
      withGeometry('{"type":"MultiPolygon","coordinates":[],"coordinates":[]}'),
      'malformed',
      '"coordinates" stands there twice',
    ],
    ['a geometry as text', withGeometry('"x"'), 'malformed', '"geometry" is not an object but a text'],
    ['a feature that is null', swap(TWO_REGIONS, '"features":[', '"features":[null,'), 'malformed', 'feature 0'],
    [
      'a feature of another type',
      swap(TWO_REGIONS, '"type":"Feature",', '"type":"Thing",'),
      'malformed',
      'expected "Feature"',
    ],
    ['no region', swap(TWO_REGIONS, '"region":"EAST",', ''), 'malformed', 'feature 1, byte'],
    ['an empty region', swap(TWO_REGIONS, '"region":"EAST"', '"region":""'), 'malformed', 'empty name'],
    [
      'a region that is a number',
      swap(TWO_REGIONS, '"region":"EAST"', '"region":7'),
      'malformed',
      '"region" is not a text but a number',
    ],
    [
      'a region with a line break',
      swap(TWO_REGIONS, '"region":"EAST"', '"region":"EA\\nST"'),
      'malformed',
      'control character',
    ],
    [
      'a region with a terminal command',
      swap(TWO_REGIONS, '"EAST"', '"\\u009b31mEAST"'),
      'malformed',
      'control character',
    ],
    ['a region with half a pair', swap(TWO_REGIONS, '"EAST"', '"\\ud800EAST"'), 'malformed', 'a broken one'],
    ['a bad escape', swap(TWO_REGIONS, '"region":"EAST"', '"region":"EA\\qST"'), 'malformed', 'an escape'],
    ['a raw control character', swap(TWO_REGIONS, '"region":"EAST"', '"region":"EA\u0001ST"'), 'malformed', '0x1'],
    [
      'a missing comma',
      swap(TWO_REGIONS, '"signal_type"', ' "signal_type"').replace(',"features"', ' "features"'),
      'malformed',
      'expected',
    ],
    ['a comma too many', swap(TWO_REGIONS, '],"meta"', ',],"meta"'), 'malformed', 'a value is expected'],
    ['brackets crossed', '{"a":[}]', 'malformed', 'stands where'],
    [
      'a time that is none',
      swap(TWO_REGIONS, MAP_META.last_updated, 'last week'),
      'malformed',
      'expected a date of the calendar and a time with its zone',
    ],
    [
      'a day that is none',
      swap(TWO_REGIONS, MAP_META.last_updated, '2026-02-30T00:00:00Z'),
      'malformed',
      'of the calendar',
    ],
    [
      'a time without zone',
      swap(TWO_REGIONS, MAP_META.last_updated, '2026-03-01T00:00:00'),
      'malformed',
      'with its zone',
    ],
    [
      'a time that is a number',
      swap(TWO_REGIONS, `"${MAP_META.last_updated}"`, '5'),
      'malformed',
      '"last_updated" is not a text',
    ],
    [
      'a time that is none and one',
      swap(TWO_REGIONS, '"meta":{', '"meta":{"last_updated":null,'),
      'malformed',
      'stands there twice',
    ],
    ['another signal type', swap(TWO_REGIONS, 'co2_moer', 'health_damage'), 'wrong-signal', 'expected co2_moer'],
    ['deeply nested', `{"x":${'['.repeat(100_000)}`, 'too-large', 'nested more than 64 deep'],
    [
      'deeply nested behind the features',
      swap(TWO_REGIONS, '"meta":{', `"meta":{"x":${'['.repeat(100_000)}`),
      'too-large',
      /^byte \d+: the map is nested more than 64 deep$/,
    ],
    [
      'an open ring in a region of a long name',
      withRing(openSquare).replaceAll('EAST', 'E'.repeat(900)),
      'malformed',
      /^the map has 1 polygon of E{40} with a ring that is not closed/,
    ],
    [
      'a name of 2,000 bytes',
      swap(TWO_REGIONS, '"EAST"', `"${'E'.repeat(2_000)}"`),
      'too-large',
      'longer than 1000 bytes',
    ],
  ];
  it.each(rows)('%s', async (_, text, kind, words) => {
    const disk = await holdingPair();
    const files = await disk.list();
    const result = await importText(text, { disk, force: true });
    if (result.ok) expect.unreachable('the text was taken');
    expect(result.failure).toMatchObject({ kind });
    expect(result.failure.message).toMatch(words);
    expect(await regionAt(disk, 5, 5)).toBe('WEST');
    expect(await disk.list()).toEqual(files);
  });

  it('cut short at any byte', async () => {
    const disk = await holdingPair();
    const acceptedLengths: number[] = [];
    for (let length = 0; length < TWO_REGIONS.length; length++) {
      const result = await importText(TWO_REGIONS.slice(0, length), { disk, force: true }, 64);
      if (result.ok || result.failure.kind !== 'malformed') acceptedLengths.push(length);
    }
    expect(acceptedLengths).toEqual([]);
    expect(await regionAt(disk, 5, 15)).toBe('EAST');
  });

  it('a number of 100 megabytes', async () => {
    function* text() {
      yield TWO_REGIONS.slice(0, TWO_REGIONS.indexOf('[[0,0]') + 2);
      for (let i = 0; i < 100; i++) yield '1'.repeat(1_000_000);
    }
    const result = await importText(text(), { disk: createMemoryDisk() });
    expect(result).toMatchObject({ ok: false, failure: { kind: 'too-large' } });
  });
});

describe('limits', () => {
  const rows: readonly (readonly [string, Partial<ImportLimits>, string])[] = [
    ['bytes', { sourceBytes: 100 }, 'larger than 100 bytes'],
    ['features', { features: 1 }, 'more than 1 features'],
    ['pieces', { pieces: 1 }, 'more than 1 pieces'],
    ['bytes of the index', { indexBytes: 64 }, 'the index of the map is larger than 64 bytes'],
  ];
  it.each(rows)('%s', async (_, limits, words) => {
    const disk = await holdingPair();
    const result = await importText(TWO_REGIONS, { disk, force: true, limits });
    expect(result).toMatchObject({ ok: false, failure: { kind: 'too-large' } });
    expect(result.ok ? '' : result.failure.message).toContain(words);
    expect(await regionAt(disk, 5, 5)).toBe('WEST');
  });

  it('vertices of a polygon', async () => {
    const ring = Array.from({ length: 10_000 }, (_, i) => [i / 1_000, Math.sin(i) * 40]);
    const text = createMapText(feature('A', [[...ring, [9.999, -50], ring[0] ?? []]]));
    const limits = { polygonVertices: 9_000 };
    const result = await importText(text, { disk: createMemoryDisk(), limits });
    expect(result).toMatchObject({ ok: false, failure: { kind: 'too-large' } });
  });

  it('vertices of a part that no cut makes smaller', async () => {
    // From corner to corner and back: both halves of any cell hold every line. Two million of them took half a gigabyte.
    const lines = Array.from({ length: 65_600 }, (_, i) => (i % 2 === 0 ? [i * 1e-5, -80] : [100 - i * 1e-5, 80]));
    const disk = await holdingPair();
    const result = await importText(createMapText(feature('A', [[...lines, lines[0] ?? []]])), { disk, force: true });
    expect(result).toMatchObject({ ok: false, failure: { kind: 'too-large' } });
    expect(result.ok ? '' : result.failure.message).toContain('more than 65536 vertices that cannot be divided');
    expect(await regionAt(disk, 5, 5)).toBe('WEST');
  });
});

describe('a text that is a map in another dress', () => {
  const geometryFirst = (region: string, ring: ReturnType<typeof square>) => ({
    geometry: { coordinates: [[ring]], type: 'MultiPolygon' },
    properties: properties(region),
    type: 'Feature',
  });
  //  what, text
  const rows: readonly (readonly [string, string])[] = [
    [
      'meta first',
      JSON.stringify({
        meta: MAP_META,
        type: 'FeatureCollection',
        features: createMapDocument(feature('WEST', [square(0, 0, 10)])).features,
      }),
    ],
    [
      'type last, coordinates before it',
      JSON.stringify({
        features: [geometryFirst('WEST', square(0, 0, 10))],
        meta: MAP_META,
        type: 'FeatureCollection',
      }),
    ],
    ['a byte order mark', `\ufeff${TWO_REGIONS}`],
    ['spread over lines', JSON.stringify(JSON.parse(TWO_REGIONS), null, 3).replaceAll('\n', '\r\n\t ')],
    ['heights', createMapText(feature('WEST', [square(0, 0, 10).map((position) => [...position, 250, 7])]))],
    [
      'a Polygon',
      createMapText({
        type: 'Feature',
        properties: properties('WEST'),
        geometry: { type: 'Polygon', coordinates: [square(0, 0, 10)] },
      }),
    ],
    [
      'boxes that are wrong',
      swap(TWO_REGIONS, '"type":"Feature"', '"bbox":[170,80,-170,85],"type":"Feature"').replace(
        '"features"',
        '"bbox":[1,2,3],"features"',
      ),
    ],
    [
      'members nobody asked for',
      swap(
        TWO_REGIONS,
        '"meta"',
        `"crs":{"a":[[1,{"b":"}]\\""}],null,true,1e5]},"${'k'.repeat(3_000)}":"${'x'.repeat(5_000)}","meta"`,
      ),
    ],
    ['escapes in names', swap(TWO_REGIONS, '"WEST"', '"\\u0057\\u0045ST"')],
    ['numbers with exponents', createMapText(feature('WEST', [square(0, 0, 10)])).replaceAll('10,', '1E+1,')],
    ['an empty polygon beside', createMapText(feature('WEST', [], [square(0, 0, 10)]))],
    [
      'a null geometry beside',
      createMapText(
        { type: 'Feature', properties: properties('NONE'), geometry: null },
        feature('WEST', [square(0, 0, 10)]),
      ),
    ],
    ['no meta', JSON.stringify({ type: 'FeatureCollection', features: [feature('WEST', [square(0, 0, 10)])] })],
    [
      'no time of its own, and no signal',
      createMapText(feature('WEST', [square(0, 0, 10)])).replace(
        /"meta":.*/,
        '"meta":{"last_updated":null,"signal_type":null}}',
      ),
    ],
    ['no full name', TWO_REGIONS.replaceAll(/,"region_full_name":"[^"]*"/g, '')],
  ];
  it.each(rows)('%s', async (_, text) => {
    for (const size of [65_536, 7, 1]) {
      const map = await importAndOpen(text, size);
      expect((await map.findRegion(placeAt(5, 5)))?.region).toBe('WEST');
      expect(await map.findRegion(placeAt(-5, 5))).toBeUndefined();
    }
  });

  it('the same index, however the text is cut into chunks', async () => {
    const indexes: Uint8Array[] = [];
    for (const size of [1, 2, 3, 17, 65_536]) {
      const disk = createMemoryDisk();
      await importText(TWO_REGIONS, { disk }, size);
      indexes.push((await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0));
    }
    expect(
      indexes.every((index) => index.length > 0 && Buffer.compare(index, indexes[0] ?? new Uint8Array(0)) === 0),
    ).toBe(true);
  });
});

describe('maps that are hard on an index', () => {
  it('20,000 islands in one feature', async () => {
    const islands = Array.from({ length: 20_000 }, (_, i) => [square((i % 200) * 0.5, Math.floor(i / 200) * 0.5, 0.2)]);
    const map = await importAndOpen(createMapText(feature('A', ...islands), feature('B', [square(-50, 0, 10)])));
    const found = await Promise.all(
      [placeAt(10.1, 10.1), placeAt(10.3, 10.3), placeAt(49.6, 99.6), placeAt(5, -45)].map(map.findRegion),
    );
    expect(found.map((one) => one?.region)).toEqual(['A', undefined, 'A', 'B']);
  });

  it('100,000 holes in one polygon', async () => {
    const holes = Array.from({ length: 100_000 }, (_, i) =>
      hole((i % 400) * 0.1 + 0.03, Math.floor(i / 400) * 0.1 + 0.03, 0.04),
    );
    const map = await importAndOpen(createMapText(feature('A', [square(0, 0, 40), ...holes])));
    const places = [
      placeAt(0.05, 0.05),
      placeAt(0.03, 0.05),
      placeAt(0.01, 0.05),
      placeAt(24.95, 39.95),
      placeAt(24.99, 39.99),
      placeAt(30, 20),
      placeAt(41, 20),
    ];
    const found = await Promise.all(places.map(map.findRegion));
    expect(found.map((one) => one?.region)).toEqual([undefined, 'A', 'A', undefined, 'A', 'A', undefined]);
  });

  it('20,000 long teeth side by side, and as many rays from one point', async () => {
    const comb = Array.from({ length: 20_000 }, (_, i) => [i * 1e-4, i % 2 === 0 ? 0 : 30]);
    const star = Array.from({ length: 20_000 }, (_, i) => {
      const turn = (i / 20_000) * 2 * Math.PI;
      const far = i % 2 === 0 ? 20 : 1e-6;
      return [-60 + Math.cos(turn) * far, Math.sin(turn) * far];
    });
    const closed = (ring: number[][]) => [...ring, ring[0] ?? []];
    const map = await importAndOpen(
      createMapText(feature('COMB', [closed([...comb, [1.9999, -1], [0, -1]])]), feature('STAR', [closed(star)])),
    );
    // The text gives 40,000 vertices; the index must not multiply them.
    expect(map.info.pieces).toBeLessThan(5_000);
    expect(map.info.bytes).toBeLessThan(5_000_000);
    const places = [
      placeAt(29.9, 1.0001),
      placeAt(29.9, 1.0002),
      placeAt(-0.5, 1),
      placeAt(0, -60),
      placeAt(0, -50),
      placeAt(19, -60 + 0.003),
    ];
    const found = await Promise.all(places.map(map.findRegion));
    expect(found.map((one) => one?.region)).toEqual(['COMB', undefined, 'COMB', 'STAR', 'STAR', undefined]);
  });
});

describe('trouble beside the text', () => {
  it('a source that ends badly', async () => {
    const disk = await holdingPair();
    async function* chunks() {
      yield new TextEncoder().encode(TWO_REGIONS.slice(0, 200));
      throw new Error('connection reset');
    }
    const result = await importText('', { disk, chunks: chunks() });
    expect(result).toMatchObject({ ok: false, failure: { kind: 'source' } });
    expect(result.ok ? '' : result.failure.message).toContain('connection reset');
    expect(await regionAt(disk, 5, 5)).toBe('WEST');
  });

  it.each(['full', 'read-only', 'io'] as const)('a disk that is %s', async (kind) => {
    const disk = await holdingPair();
    disk.failWrites(kind);
    const result = await importText(TWO_REGIONS, { disk, force: true });
    expect(result).toMatchObject({ ok: false, failure: { kind: 'disk', failure: { kind } } });
    expect(await regionAt(disk, 5, 5)).toBe('WEST');
  });

  it('a stop in the middle', async () => {
    const disk = await holdingPair();
    const stop = new AbortController();
    const result = await importText(
      TWO_REGIONS,
      { disk, force: true, stop: stop.signal, onProgress: () => stop.abort() },
      100,
    );
    expect(result).toMatchObject({ ok: false, failure: { kind: 'stopped' } });
    expect(await regionAt(disk, 5, 5)).toBe('WEST');
  });
});

describe('a map against the one held', () => {
  const later = (text: string) => swap(text, MAP_META.last_updated, '2026-04-01T00:00:00Z');
  const home = placeAt(5, 5);

  it('is not written again while its time is the same', async () => {
    const disk = await holdingPair();
    const before = await disk.read('map.co2_moer.idx');
    expect(await importText(TWO_REGIONS, { disk })).toMatchObject({ ok: true, unchanged: true });
    expect(await disk.read('map.co2_moer.idx')).toEqual(before);
  });

  it.each([
    ['a relay', true, { ok: false, failure: { kind: 'source' } }],
    ['the service itself', undefined, { ok: true, unchanged: false }],
  ] as const)('is kept or replaced when an older one comes from %s', async (_, isRelayed, result) => {
    const disk = createMemoryDisk();
    await importText(later(TWO_REGIONS), { disk });
    const value = { chunks: splitChunks(TWO_REGIONS), ...(isRelayed && { isRelayed }) };
    const service = { map: async () => ({ ok: true, value }) as const };
    const outcome = await downloadHomeMap(service, { disk, signalType: 'co2_moer', now: NOW });
    expect(outcome).toMatchObject({ ok: true, value: result });
    expect(await importText(later(TWO_REGIONS), { disk })).toMatchObject({ unchanged: isRelayed ?? false });
  });

  it('lets others have their turn while the index held is looked through', async () => {
    const text = [...geojsonOf({ seed: 5, columns: 12, rows: 12, regions: 20, depth: 7 })].join('');
    const disk = createMemoryDisk();
    await importText(text, { disk });
    const runs: number[] = [0];
    const watched: Disk = {
      ...disk,
      open: async (name) => {
        const file = await disk.open(name);
        if (file === undefined) return undefined;
        return {
          ...file,
          read: (offset, length) => {
            runs.push(0);
            return file.read(offset, length);
          },
          readNow: (target, offset) => {
            runs.push((runs.pop() ?? 0) + target.length);
            return file.readNow(target, offset);
          },
        };
      },
    };
    expect(await importText(text, { disk: watched })).toMatchObject({ ok: true, unchanged: true });
    const bytes = (await disk.read('map.co2_moer.idx'))?.length ?? 0;
    expect(runs.reduce((sum, run) => sum + run, 0)).toBeGreaterThan(bytes / 2);
    // The pieces of a page at one go, all of 128 vertices at most.
    expect(Math.max(...runs)).toBeLessThan(64 * 128 * 16);
    expect(bytes).toBeGreaterThan(2 * 64 * 128 * 16);
  });

  it('leaves the stream at once when meta stands first and nothing is new', async () => {
    const disk = await holdingPair();
    let left = false;
    async function* chunks() {
      try {
        yield new TextEncoder().encode(`{"meta":${JSON.stringify(MAP_META)},"features":[`);
        yield new TextEncoder().encode(`${JSON.stringify(feature('A', [square(0, 0, 1)]))},`);
        yield new TextEncoder().encode('this is never read');
      } finally {
        left = true;
      }
    }
    expect(await importText('', { disk, chunks: chunks() })).toMatchObject({ ok: true, unchanged: true });
    expect(left).toBe(true);
  });

  it('resolves a home that is new although the map is not', async () => {
    const disk = await holdingPair();
    const result = await importText(TWO_REGIONS, { disk, homePlace: home });
    expect(result).toMatchObject({ ok: true, unchanged: true, change: 'first', home: { region: 'WEST' } });
  });

  it('is refused when it lost more than half of the regions, unless forced', async () => {
    const disk = createMemoryDisk();
    const many = Array.from({ length: 10 }, (_, i) => feature(`R${i}`, [square(i * 2, 0, 1)]));
    await importText(createMapText(...many), { disk });
    const few = later(createMapText(...many.slice(0, 4)));
    const refused = await importText(few, { disk });
    expect(refused).toMatchObject({ ok: false, failure: { kind: 'suspicious' } });
    expect(await regionAt(disk, 0.5, 18.5)).toBe('R9');
    expect(await importText(few, { disk, force: true })).toMatchObject({ ok: true, info: { regions: 4 } });
    expect(
      await importText(later(createMapText(...many.slice(0, 2))).replace('04-01', '05-01'), { disk }),
    ).toMatchObject({
      ok: true,
    });
  });

  it('is refused when the own place is in no region any more; forced, the old region stays in use', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    const withoutWest = later(
      createMapText(feature('EAST', [square(10, 0, 10)]), feature('NORTH', [square(0, 20, 10)])),
    );
    const refused = await importText(withoutWest, { disk, homePlace: home });
    expect(refused).toMatchObject({ ok: false, failure: { kind: 'suspicious' } });
    expect(refused.ok ? '' : refused.failure.message).toContain('WEST');
    const forced = await importText(withoutWest, { disk, homePlace: home, force: true });
    expect(forced).toMatchObject({ ok: true, change: 'vanished', home: { region: 'WEST' } });
  });

  it('proposes another region for the own place and keeps the old one', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    const moved = later(createMapText(feature('SOUTH', [square(0, 0, 10)]), feature('EAST', [square(10, 0, 10)])));
    const result = await importText(moved, { disk, homePlace: home });
    expect(result).toMatchObject({
      ok: true,
      change: 'changed',
      home: { region: 'WEST', proposed: { region: 'SOUTH', regionFullName: 'Region SOUTH' } },
    });
  });
});
