/** A range of any length, read in pieces: the same points as in one piece, none twice, a few requests at a time. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { waitAbortable } from '../../src/domain/abortable-wait.ts';
import { type Duration, days, durationBetween, hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import type { RangeProgress, TimeRange } from '../../src/service/api/query-types.ts';
import type { Failure, Outcome } from '../../src/service/failure.ts';
import { CHUNK_STEP, splitIntoChunks } from '../../src/service/ranges/chunks.ts';
import { type RangeReaderParts, readRange } from '../../src/service/ranges/range-reader.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { NOON } from './client-fixture.ts';

const range = (start: number, end: number): TimeRange => ({ start: start as Instant, end: end as Instant });
const SLOW: Failure = { kind: 'unreachable', reason: 'deadline', cause: 'slow' };
const AWAY: Failure = { kind: 'unreachable', reason: 'no-connection', cause: 'away' };

/** What the service holds: a point each period, from 1970 on. */
function pointsIn({ start, end }: TimeRange, period: number): number[] {
  const points: number[] = [];
  for (let at = Math.ceil(start / period) * period; at <= end; at += period) points.push(at);
  return points;
}

const someRange = fc
  .tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 0, max: 400_000_000 }))
  .map(([from, length]) => range(NOON + from, NOON + from + length));

describe('the pieces of a range', () => {
  it.each([300, 600, 3_600])('joined are the whole: every point of a %i s signal once', (period) => {
    fc.assert(
      fc.property(someRange, fc.integer({ min: 300, max: 90_000 }), (whole, span) => {
        const pieces = [...splitIntoChunks(whole, () => seconds(span))];
        expect(pieces.flatMap((piece) => pointsIn(piece, period * 1_000))).toEqual(pointsIn(whole, period * 1_000));
        expect(pieces[0]?.start).toBe(whole.start);
        expect(whole.end - (pieces.at(-1)?.end ?? 0)).toBeLessThan(CHUNK_STEP);
      }),
      { numRuns: 200 },
    );
  });

  it('a day of past forecasts is never more than 288 of them: end = start + 24 h - one period', () => {
    fc.assert(
      fc.property(someRange, (whole) => {
        for (const { start, end } of splitIntoChunks(whole, () => hours(24))) {
          expect(end - start).toBeLessThanOrEqual(24 * 3_600_000 - 300_000);
          expect(pointsIn({ start, end }, 300_000).length).toBeLessThanOrEqual(288);
        }
      }),
    );
  });

  //  from                    to                      pieces
  const rows: readonly (readonly [string, string, readonly (readonly [string, string])[]])[] = [
    ['2026-03-01T00:00Z', '2026-03-01T00:00Z', [['2026-03-01T00:00Z', '2026-03-01T00:00Z']]],
    ['2026-03-01T00:00Z', '2026-03-01T23:55Z', [['2026-03-01T00:00Z', '2026-03-01T23:55Z']]],
    [
      '2026-03-01T00:00Z',
      '2026-03-02T00:00Z',
      [
        ['2026-03-01T00:00Z', '2026-03-01T23:55Z'],
        ['2026-03-02T00:00Z', '2026-03-02T00:00Z'],
      ],
    ],
    [
      '2026-03-01T00:02Z',
      '2026-03-02T12:00Z',
      [
        ['2026-03-01T00:02Z', '2026-03-01T23:55Z'],
        ['2026-03-02T00:00Z', '2026-03-02T12:00Z'],
      ],
    ],
  ];
  it.each(rows)('%s to %s in days', (from, to, expected) => {
    const pieces = [...splitIntoChunks(range(Date.parse(from), Date.parse(to)), () => hours(24))];
    expect(pieces).toEqual(expected.map(([start, end]) => range(Date.parse(start), Date.parse(end))));
  });
});

/** A reader over points each 5 minutes; `answer` may fail a piece. */
function reading(answer: (piece: TimeRange, asked: number) => Failure | undefined = () => undefined, most = days(1)) {
  const clock = createVirtualClock(NOON);
  const asked: TimeRange[] = [];
  let underWay = 0;
  let mostUnderWay = 0;
  const stopping = new AbortController();
  const reader: RangeReaderParts<readonly number[]> = {
    clock,
    random: { fraction: () => 0.5 },
    stopSignal: stopping.signal,
    maxSpan: most,
    periodOf: () => minutes(5),
    fetchChunk: async (piece): Promise<Outcome<readonly number[]>> => {
      asked.push(piece);
      mostUnderWay = Math.max(mostUnderWay, ++underWay);
      await Promise.resolve();
      underWay -= 1;
      const failure = answer(piece, asked.length);
      return failure === undefined ? { ok: true, value: pointsIn(piece, CHUNK_STEP) } : { ok: false, failure };
    },
  };
  return { clock, reader, asked, stopping, mostUnderWay: () => mostUnderWay };
}

async function collect(range: TimeRange, bench: ReturnType<typeof reading>, options?: Parameters<typeof readRange>[2]) {
  const points: number[] = [];
  let failure: Failure | undefined;
  const read = (async () => {
    for await (const outcome of readRange(range, bench.reader, options)) {
      if (outcome.ok) points.push(...outcome.value);
      else failure = outcome.failure;
    }
  })();
  await bench.clock.runUntil((NOON + days(30)) as Instant);
  await read;
  return { points, failure };
}

const WEEK = range(NOON, NOON + days(7));

describe('reading a range', () => {
  it('gives every point once and in order, never more under way than allowed', async () => {
    for (const inFlight of [1, 2, 5]) {
      const bench = reading();
      expect((await collect(WEEK, bench, { inFlight })).points).toEqual(pointsIn(WEEK, CHUNK_STEP));
      expect(bench.mostUnderWay()).toBe(inFlight);
      expect(bench.asked.length).toBe(8);
    }
  });

  it('is lazy: who takes one piece has asked for no more than may be under way', async () => {
    const bench = reading();
    for await (const outcome of readRange(WEEK, bench.reader, { inFlight: 2 })) {
      expect(outcome.ok).toBe(true);
      break;
    }
    expect(bench.asked.length).toBe(2);
  });

  it('halves what is too slow until it comes through, and loses nothing', async () => {
    const bench = reading(({ start, end }) => (end - start > hours(5) ? SLOW : undefined));
    const { points, failure } = await collect(WEEK, bench, { inFlight: 1 });
    expect(failure).toBe(undefined);
    expect(points).toEqual(pointsIn(WEEK, CHUNK_STEP));
  });

  /** Seconds that a service needs for a piece, by its days; the deadline is 30 s. */
  const createSlowReading = (secondsFor: (days: number, asked: number) => number) => {
    const bench = reading(undefined, days(32));
    const { fetchChunk } = bench.reader;
    const slow: Partial<RangeReaderParts<readonly number[]>> = {
      fetchChunk: async (piece) => {
        const needed = secondsFor((piece.end - piece.start) / days(1), bench.asked.length);
        const answer = await fetchChunk(piece);
        await waitAbortable({
          clock: bench.clock,
          wait: seconds(Math.min(30, needed)),
          name: 'answer',
          signal: bench.stopping.signal,
        });
        return needed > 30 ? { ok: false, failure: SLOW } : answer;
      },
    };
    const daysRequested = () => bench.asked.map(({ start, end }) => Math.round((end - start) / days(1)));
    return { bench: { ...bench, reader: { ...bench.reader, ...slow } }, daysAsked: daysRequested };
  };
  const YEAR = range(NOON, NOON + days(365));

  it('a service that takes 180 s for a month and 11 s for ten days meets its deadline once, and is then asked for what takes 8 s', async () => {
    const { bench, daysAsked: daysRequested } = createSlowReading((days) => 0.17 * days ** 2);
    const began = bench.clock.now().wall;
    let ended = began;
    const options = { inFlight: 1, onProgress: () => (ended = bench.clock.now().wall) };
    expect((await collect(YEAR, bench, options)).points).toEqual(pointsIn(YEAR, CHUNK_STEP));
    expect(daysRequested().filter((days) => 0.17 * days ** 2 > 30)).toEqual([32]);
    expect(
      daysRequested()
        .slice(1, -1)
        .every((days) => 0.17 * days ** 2 < 15),
    ).toBe(true);
    expect(durationBetween(began, ended)).toBeLessThan(minutes(9));
  });

  it('an answer that nears its deadline shortens the next before one is lost, and a quick service is asked for whole months again', async () => {
    // Slower and slower for 5 requests, then as quick as ever.
    const { bench, daysAsked: daysRequested } = createSlowReading((days, asked) =>
      asked < 5 ? days * (0.5 + asked * 0.2) : 0.1,
    );
    expect((await collect(YEAR, bench, { inFlight: 1 })).failure).toBe(undefined);
    const [first, second, ...rest] = daysRequested();
    expect([first, second]).toEqual([32, 16]);
    expect(Math.min(...daysRequested().slice(0, 6))).toBe(7);
    expect(rest.slice(5, -1)).toContain(32);
  });

  it('is never asked for more at once than the caller wants', async () => {
    const bench = reading();
    await collect(WEEK, bench, { maxSpan: hours(6) });
    expect(Math.max(...bench.asked.map(({ start, end }) => end - start))).toBe(hours(6) - CHUNK_STEP);
  });

  it('tells where to go on from: the first time that was not handed over, also within a piece', async () => {
    const edge = NOON + days(2) + hours(7);
    const bench = reading(({ start, end }) => {
      if (end - start > hours(12)) return SLOW;
      return start >= edge ? { kind: 'rejected', status: 400, message: 'x' } : undefined;
    });
    let next: Instant | undefined;
    const { points } = await collect(WEEK, bench, { inFlight: 1, onProgress: (progress) => (next = progress.next) });
    expect(points).toEqual(pointsIn(range(NOON, (next ?? NOON) - 1), CHUNK_STEP));
    expect(next).toBeGreaterThan(NOON + days(2));
  });

  it('after a body that was too large it never asks for as much again', async () => {
    const bench = reading(({ start, end }) =>
      end - start > hours(5) ? { kind: 'unreachable', reason: 'too-large', cause: 'x' } : undefined,
    );
    expect((await collect(WEEK, bench, { inFlight: 1 })).points).toEqual(pointsIn(WEEK, CHUNK_STEP));
    const large = bench.asked.filter(({ start, end }) => end - start > hours(5));
    expect(large.length).toBeLessThanOrEqual(3);
  });

  it('any service that is slow, throttled or away now and then gives the same points', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 2_000 }),
        fc.array(
          fc.constantFrom<Failure | undefined>(SLOW, AWAY, { kind: 'throttled', retryAfter: seconds(9) }, undefined),
          {
            minLength: 5,
            maxLength: 40,
          },
        ),
        async (length, script) => {
          const whole = range(NOON, NOON + minutes(5 * length));
          // Troubles end with the script: none is met five times in a row.
          const bench = reading((_, asked) => (asked % 3 === 0 ? undefined : script[asked]), hours(12));
          const { points, failure } = await collect(whole, bench);
          if (failure === undefined) expect(points).toEqual(pointsIn(whole, CHUNK_STEP));
          else expect(points).toEqual(pointsIn(whole, CHUNK_STEP).slice(0, points.length));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('a service that is away for good ends it after five tries, with what came before', async () => {
    const bench = reading(({ start }) => (start > NOON + days(2) ? AWAY : undefined));
    const { points, failure } = await collect(WEEK, bench, { inFlight: 1 });
    expect(failure).toEqual(AWAY);
    expect(points.length).toBe(3 * 288);
    expect(bench.asked.length).toBe(3 + 5);
  });

  it('an address where nothing ever answered is not tried again', async () => {
    const bench = reading(() => AWAY);
    expect((await collect(WEEK, bench, { inFlight: 1 })).failure).toEqual(AWAY);
    expect(bench.asked.length).toBe(1);
  });

  it('a gate ends it at once', async () => {
    const bench = reading(() => ({ kind: 'not-entitled', message: 'Invalid scope.' }));
    expect(await collect(WEEK, bench, { inFlight: 1 })).toEqual({
      points: [],
      failure: { kind: 'not-entitled', message: 'Invalid scope.' },
    });
    expect(bench.asked.length).toBe(1);
  });

  it('tells how far it is and why it waits', async () => {
    const seen: RangeProgress[] = [];
    const bench = reading((_, asked) => (asked === 2 ? AWAY : undefined));
    await collect(range(NOON, NOON + days(2) - 1), bench, {
      inFlight: 1,
      onProgress: (progress) => seen.push(progress),
    });
    expect(
      seen.map(({ done, requests, waiting }) => [Math.round(done / hours(1)), requests, waiting?.failure.kind]),
    ).toEqual([
      [24, 1, undefined],
      [24, 2, 'unreachable'],
      [48, 3, undefined],
    ]);
  });

  it('is stopped in the middle of a wait', async () => {
    const bench = reading(() => ({ kind: 'server-error', status: 503, message: 'x' }));
    const read = (async () => {
      for await (const outcome of readRange(WEEK, bench.reader)) return outcome;
      return undefined;
    })();
    await bench.clock.waitUntilIdle();
    expect(bench.clock.waiting()).toContain('retry');
    bench.stopping.abort();
    expect(await read).toEqual({ ok: false, failure: { kind: 'stopped' } });
    expect(bench.clock.waiting()).toEqual([]);
  });

  it('refuses a signal finer than the cuts, rather than losing points', async () => {
    const bench = reading();
    const fine = { ...bench, reader: { ...bench.reader, periodOf: (): Duration => minutes(1) } };
    expect((await collect(WEEK, fine)).failure).toMatchObject({ kind: 'invalid-response' });
  });
});
