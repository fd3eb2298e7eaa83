import { describe, expect, it } from 'vitest';
import { createSignalLoop } from '../../src/agent/signal-loop.ts';
import { addDuration, floorTo, hours, type Instant, minutes, type Percentile } from '../../src/domain/units.ts';
import type { Forecast, LiveIndex } from '../../src/service/api/response-types.ts';
import type { Failure, Outcome } from '../../src/service/failure.ts';
import type { SignalView } from '../../src/signal/signal-view.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const PERIOD = minutes(5);

type Answers = { forecast: (now: Instant) => Failure | undefined; index: (now: Instant) => Failure | undefined };

/** A service that answers at once with a sawtooth of rates, unless told to fail. */
function setUp({ forecast, index }: Answers = { forecast: () => undefined, index: () => undefined }) {
  const clock = createVirtualClock(NOON);
  const asked: { what: 'forecast' | 'index'; region: string; at: Instant }[] = [];
  const views: SignalView[] = [];
  const failures: Failure[] = [];
  const outcome = <Value>(failure: Failure | undefined, value: Value): Promise<Outcome<Value>> =>
    Promise.resolve(failure === undefined ? { ok: true, value } : { ok: false, failure });
  const envelope = (region: string, units: string) => ({
    region,
    signalType: 'co2_moer',
    units,
    period: PERIOD,
    warnings: [],
    refusedPoints: 0,
  });
  const loop = createSignalLoop({
    service: {
      forecast: ({ region }) => {
        const now = clock.now().wall;
        asked.push({ what: 'forecast', region, at: now });
        const from = floorTo(now, PERIOD);
        const points = Array.from({ length: 864 }, (_, i) => ({
          at: addDuration(from, minutes(5 * i)),
          value: 400 + ((i * 37) % 300),
        }));
        const answer: Forecast = {
          ...envelope(region, 'lbs_co2_per_mwh'),
          generatedAt: from,
          generatedPeriod: PERIOD,
          points,
        };
        return outcome(forecast(now), answer);
      },
      signalIndex: ({ region }) => {
        const now = clock.now().wall;
        asked.push({ what: 'index', region, at: now });
        const answer: LiveIndex = {
          ...envelope(region, 'percentile'),
          point: { at: floorTo(now, PERIOD), value: 42 as Percentile },
        };
        return outcome(index(now), answer);
      },
    },
    clock,
    random: { fraction: () => 0.5 },
    signalType: 'co2_moer',
    ties: 'mid',
    phase: 0.3,
    model: undefined,
    firstWait: minutes(0),
    onView: (view) => views.push(view),
    onAnswer: (_, { failure }) => {
      if (failure) failures.push(failure);
    },
  });
  const count = (what: 'forecast' | 'index', from = NOON) =>
    asked.filter((one) => one.what === what && one.at >= from).length;
  return { clock, loop, asked, views, failures, count };
}

describe('keeping the signal fresh', () => {
  it('asks for nothing before the region is known', async () => {
    const { clock, asked } = setUp();
    await clock.runUntil(addDuration(NOON, hours(2)));
    expect(asked).toEqual([]);
  });

  it('keeps no history before the region is known', () => {
    const { loop } = setUp();
    const points = [{ at: addDuration(NOON, minutes(-5)), value: 400 }];
    const envelope = { region: 'PSCO', signalType: 'co2_moer', units: 'lbs_co2_per_mwh', period: PERIOD };
    loop.addHistory({ ...envelope, warnings: [], refusedPoints: 0, points });
    expect(loop.data()).toBeUndefined();
  });

  it('asks for index and forecast once a period, all day', async () => {
    const { clock, loop, count, views } = setUp();
    loop.setRegion('PSCO');
    await clock.runUntil(addDuration(NOON, minutes(24 * 60 + 3)));
    expect(count('forecast')).toBeGreaterThanOrEqual(289);
    expect(count('forecast')).toBeLessThanOrEqual(291);
    expect(count('index')).toBe(count('forecast'));
    expect(views.at(-1)?.index).toMatchObject({ value: 42, basis: 'live-index' });
    expect(views.at(-1)?.horizon).toMatchObject({ basis: 'fresh-forecast' });
    loop.stop();
    expect(clock.waiting()).toEqual([]);
  });

  const UNREACHABLE: Failure = { kind: 'unreachable', reason: 'no-connection', cause: 'no route' };
  //  what is wrong for the first six hours                               forecasts asked in them
  const rows: readonly (readonly [string, Failure, number, number])[] = [
    ['no network: again and again, at most every few minutes', UNREACHABLE, 72, 200],
    ['the plan has no forecast: once a day', { kind: 'not-entitled', message: 'Invalid scope.' }, 1, 1],
    ['the request is refused: once an hour', { kind: 'rejected', status: 400, message: 'no such region' }, 6, 7],
  ];
  it.each(rows)('%s', async (_, failure, fewest, most) => {
    const end = addDuration(NOON, minutes(6 * 60 - 2));
    const { clock, loop, count, views } = setUp({
      forecast: (now) => (now < end ? failure : undefined),
      index: () => undefined,
    });
    loop.setRegion('PSCO');
    await clock.runUntil(end);
    expect(count('forecast')).toBeGreaterThanOrEqual(fewest);
    expect(count('forecast')).toBeLessThanOrEqual(most);
    expect(count('index')).toBeGreaterThanOrEqual(72);
    expect(views.at(-1)?.index?.basis).toBe('live-index');
    await clock.runUntil(addDuration(NOON, hours(31)));
    expect(views.at(-1)?.horizon?.basis).toBe('fresh-forecast');
  });

  it('without any answer the view says so as soon as what it held has expired', async () => {
    const end = addDuration(NOON, hours(1));
    const fail = (now: Instant) => (now < end ? undefined : UNREACHABLE);
    const { clock, loop, views } = setUp({ forecast: fail, index: fail });
    loop.setRegion('PSCO');
    await clock.runUntil(addDuration(NOON, hours(1.5)));
    expect(views.at(-1)?.index?.basis).toBe('ageing-forecast');
    await clock.runUntil(addDuration(NOON, hours(60)));
    expect(views.at(-1)?.index).toBeUndefined(); // the pool has run below 18 hours
    await clock.runUntil(addDuration(NOON, hours(80)));
    expect(views.at(-1)?.horizon).toBeUndefined();
  });

  it('another region starts with nothing of the old one, and asks at once', async () => {
    const { clock, loop, asked, views } = setUp();
    loop.setRegion('PSCO');
    await clock.runUntil(addDuration(NOON, hours(1)));
    loop.setRegion('CAISO_NORTH');
    expect(views.at(-1)).toMatchObject({ region: 'CAISO_NORTH' });
    expect(views.at(-1)?.horizon).toBeUndefined();
    await clock.runUntil(addDuration(NOON, hours(1.01)));
    expect(asked.at(-1)?.region).toBe('CAISO_NORTH');
    expect(views.at(-1)?.horizon).toBeDefined();
  });
});
