/** Nothing is lost on the way: numbers are those of JSON.parse, packed rings come back bit for bit, the page cache gives back what was put. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonEvents, JsonReader } from '../../src/region/geojson/json-reader.ts';
import { createRingBuffer } from '../../src/region/geojson/ring-buffer.ts';
import { RING_START } from '../../src/region/index/clip.ts';
import { createPageCache } from '../../src/region/index/page-cache.ts';
import { PolygonReader } from '../../src/region/index/polygon-rings.ts';
import { createVertexDecoder, createVertexEncoder } from '../../src/region/index/vertex-codec.ts';

/** The numbers of a text, read in chunks of `size` bytes. */
function numbersIn(text: string, size: number): number[] {
  const numbers: number[] = [];
  const events: JsonEvents = {
    onOpenObject() {},
    onOpenArray() {},
    onClose: () => false,
    onKey() {},
    wantsText: () => false,
    onText() {},
    onNumber: ([number]) => numbers.push(number as number),
    onLiteral() {},
  };
  const reader = new JsonReader(events, { depth: 8, textBytes: 100 });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) reader.read(bytes.slice(at, at + size), 0);
  reader.end();
  return numbers;
}

describe('numbers', () => {
  const edges = [
    '0',
    '-0',
    '0.1',
    '-0.1',
    '180',
    '-180.0',
    '9007199254740991',
    '9007199254740993',
    '0.9007199254740993',
    '123456789.123456789',
    '-121.49358723451234',
    '1e22',
    '1e23',
    '4.35',
    '0.000001',
    '1E-7',
    '2.2250738585072011e-308',
    '5e-324',
    '0.1e1',
    '12345678901234567890',
    '0.00000000000000000000001',
    '179.99999999999997',
    '1.7976931348623157e308',
  ];
  it.each(edges)('%s', (text) => {
    for (const size of [1, 3, 100]) expect(numbersIn(`[${text}]`, size)).toEqual([JSON.parse(text)]);
  });

  it('any double in any form JSON knows', () => {
    const form = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
      fc
        .tuple(fc.integer({ min: -360, max: 360 }), fc.integer({ min: 0 }), fc.integer({ min: 0, max: 30 }))
        .map(([whole, part, zeros]) => `${whole}.${'0'.repeat(zeros)}${part}`),
      fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 25n }), fc.integer({ min: -30, max: 30 })).map(([n, e]) => `${n}e${e}`),
    );
    fc.assert(
      fc.property(fc.array(form, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 40 }), (texts, size) => {
        const text = `[${texts.join(' , ')}]`;
        expect(numbersIn(text, size)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe('gathered rings', () => {
  //  most vertices of a polygon; the first would fill an array that grows by half at an odd length: 3^13 numbers are no positions
  it.each([1_000_000, 1 << 21, 5_000, 100])('are whole up to %d vertices, and refused beyond', (most) => {
    const gatherer = createRingBuffer(most);
    const position = new Float64Array(2);
    const vertex = (x: number, y: number) => {
      position.set([x, y]);
      gatherer.addVertex(position);
    };
    gatherer.startRing();
    for (let i = 0; i < most - 1; i++) vertex((i % 360) - 180, i / most);
    vertex(-180, 0);
    gatherer.endRing();
    const { polygon } = gatherer;
    expect(polygon.vertexCount).toBe(most - 1);
    const listed = [0, 1, Math.floor(most / 2), most - 3, most - 2];
    const out = new Float64Array(2 * listed.length);
    new PolygonReader().copyListed(polygon, Uint32Array.from(listed), { from: 0, to: listed.length }, out);
    expect([...out]).toEqual(listed.flatMap((i) => [(i % 360) - 180, i / most]));
    vertex(1, 1);
    expect(() => vertex(1, 1)).toThrow(`more than ${most} vertices`);
  });
});

describe('packed rings', () => {
  const rounded = (digits: number) => (n: number) => Number(n.toFixed(digits));
  const coordinate = fc.double({ min: -180, max: 180, noNaN: true });
  const positions = (map: (n: number) => number) =>
    fc.array(fc.array(fc.tuple(coordinate.map(map), coordinate.map(map)), { minLength: 3, maxLength: 40 }), {
      minLength: 1,
      maxLength: 5,
    });
  const near = fc.tuple(coordinate, coordinate).chain(([x, y]) =>
    fc.array(
      fc.array(
        fc
          .tuple(fc.double({ min: -0.01, max: 0.01, noNaN: true }), fc.double({ min: -0.01, max: 0.01, noNaN: true }))
          .map(([dx, dy]): [number, number] => [x + dx, y + dy]),
        { minLength: 3, maxLength: 40 },
      ),
      { minLength: 1, maxLength: 4 },
    ),
  );
  const kinds = {
    'all digits': positions((n) => n),
    'near each other': near,
    '5 decimals': positions(rounded(5)),
    '7 decimals': positions(rounded(7)),
    '12 decimals': positions(rounded(12)),
    'whole degrees': positions(Math.round),
    'far too small': positions((n) => n * 1e-300),
  };
  it.each(Object.entries(kinds))('%s', (_, rings) => {
    const packer = createVertexEncoder();
    const unpack = createVertexDecoder();
    fc.assert(
      fc.property(rings, (all) => {
        const xy = Float64Array.from(all.flat(2));
        const list = Uint32Array.from(all.flatMap((ring) => ring.map((_, i) => (i === 0 ? RING_START : 0))));
        for (let i = 0; i < list.length; i++) list[i] = ((list[i] as number) | i) >>> 0;
        const back = unpack(packer.encode({ xy, list, from: 0, to: list.length }).slice());
        expect(back.to).toBe(list.length);
        expect([...back.list.subarray(0, back.to)]).toEqual([...list]);
        // -0 and 0 are the same coordinate.
        expect([...back.xy.subarray(0, xy.length)].map((n) => n + 0)).toEqual([...xy].map((n) => n + 0));
      }),
      { numRuns: 200 },
    );
  });
});

describe('the page cache', () => {
  it.each([
    [2_000, 400],
    [400_000, 60_000],
  ])('of %d bytes gives back what was put, or nothing', (capacity, longest) => {
    const step = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: longest }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ring = createPageCache(capacity);
        const put = new Map<number, { readonly length: number; readonly mark: number }>();
        for (const [i, [key, length]] of steps.entries()) {
          const mark = i % 251;
          if (ring.find(key) === undefined) {
            ring.add(key, length, (place) => ring.bytes().fill(mark, place, place + length));
            put.set(key, { length, mark });
          }
          for (const [stored, { length: size, mark: expected }] of put) {
            const place = ring.find(stored);
            if (place === undefined) continue;
            expect(place % 8).toBe(0);
            expect(
              ring
                .bytes()
                .subarray(place, place + size)
                .every((byte) => byte === expected),
            ).toBe(true);
          }
        }
      }),
    );
  });

  it('keeps a part that could not be filled out of the way', () => {
    const ring = createPageCache(2_000);
    expect(() =>
      ring.add(1, 100, () => {
        throw new Error('unreadable');
      }),
    ).toThrow('unreadable');
    expect(ring.find(1)).toBeUndefined();
    expect(ring.add(2, 100, () => {})).toBe(0);
  });
});
