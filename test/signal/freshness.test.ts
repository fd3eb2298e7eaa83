/** What may drive a load, hour after hour. */

import { describe, expect, it } from 'vitest';
import { buildSignalView } from '../../src/signal/freshness.ts';
import {
  createSignalData,
  type SignalData,
  withForecast,
  withHistory,
  withLiveIndex,
} from '../../src/signal/signal-store.ts';
import { atSampleHour, buildForecast, buildHistory, buildLiveIndex, momentAt, risingValues } from './signal-samples.ts';

const OWN = { ties: 'mid', ownRegion: 'CAISO_NORTH' } as const;
const empty = createSignalData('CAISO_NORTH');
const week = (data: SignalData, days: number) =>
  withHistory(
    data,
    buildHistory(
      -24 * days,
      Array.from({ length: 24 * days }, (_, h) => h % 24),
    ),
    momentAt(0),
  ).signal;
/** 72 h of forecast generated at 0 h. */
const fetched = withForecast(empty, buildForecast(0, risingValues(72)), momentAt(0)).signal;
const both = withLiveIndex(fetched, buildLiveIndex(0, 77), momentAt(0)).signal;
const indexOnly = withLiveIndex(empty, buildLiveIndex(0, 77), momentAt(0)).signal;
const hour = 1;
const minute = 1 / 60;
/** An index beside an old forecast, and each when it came after its period. */
const closed = withLiveIndex(fetched, buildLiveIndex(10, 77), momentAt(10)).signal;
const late = withLiveIndex(fetched, buildLiveIndex(10, 77), momentAt(10 + 6 * minute)).signal;
const lateOnly = withLiveIndex(empty, buildLiveIndex(0, 77), momentAt(6 * minute)).signal;

describe('the ladder', () => {
  //  case                                       held      at             index basis        outlook basis
  const rows = [
    ['nothing known', empty, 0, undefined, undefined],
    ['fresh forecast', fetched, 0, 'fresh-forecast', 'fresh-forecast'],
    ['just fresh', fetched, 14.9 * minute, 'fresh-forecast', 'fresh-forecast'],
    ['three issues late', fetched, 15 * minute, 'ageing-forecast', 'ageing-forecast'],
    ['two days without news', fetched, 48 * hour, 'ageing-forecast', 'ageing-forecast'],
    ['18 h of pool are left', fetched, 54 * hour, 'ageing-forecast', 'ageing-forecast'],
    ['less than 18 h of pool', fetched, 54.1 * hour, undefined, 'ageing-forecast'],
    ['the last slot', fetched, 71.99 * hour, undefined, 'ageing-forecast'],
    ['the forecast has ended', fetched, 72 * hour, undefined, undefined],
    ['ended, a week archived', week(fetched, 7), 72 * hour, undefined, 'own-profile'],
    ['a week archived, a week of outage', week(empty, 7), 7 * 24, undefined, 'own-profile'],
    ['a week archived, two weeks of outage', week(empty, 7), 14 * 24, undefined, undefined],
    ['three days archived', week(empty, 3), 1, undefined, 'own-profile'],
    ['less than three days archived', week(empty, 2), 1, undefined, undefined],
    ['live index and forecast', both, 0, 'live-index', 'fresh-forecast'],
    ['its successor is on its way, forecast there', both, 6 * minute, 'live-index', 'fresh-forecast'],
    ['its successor has not come, forecast there', both, 10 * minute, 'fresh-forecast', 'fresh-forecast'],
    ['live index beside an old forecast', closed, 10 * hour, 'live-index', 'ageing-forecast'],
    ['its successor is on its way, old forecast', closed, 10 * hour + 9.9 * minute, 'live-index', 'ageing-forecast'],
    ['its successor has not come, old forecast', closed, 10 * hour + 10 * minute, 'ageing-forecast', 'ageing-forecast'],
    [
      'a live index that came too late, old forecast',
      late,
      10 * hour + 6 * minute,
      'ageing-forecast',
      'ageing-forecast',
    ],
    ['a live index that came too late, alone', lateOnly, 6 * minute, 'live-index', undefined],
    ['live index alone', indexOnly, 4.9 * minute, 'live-index', undefined],
    ['live index one period over', indexOnly, 9.9 * minute, 'live-index', undefined],
    ['live index two periods over', indexOnly, 10 * minute, undefined, undefined],
  ] as const;
  it.each(rows)('%s', (_, data, now, index, horizon) => {
    const view = buildSignalView(data, momentAt(now), OWN);
    expect([view.index?.basis, view.horizon?.basis]).toEqual([index, horizon]);
    expect(view.changesAt).toBeGreaterThan(momentAt(now).wall);
  });

  it('a live index starts loads for its own period only', () => {
    const { index } = buildSignalView(indexOnly, momentAt(6 * minute), OWN);
    expect([index?.startsUntil, index?.validUntil]).toEqual([atSampleHour(5 * minute), atSampleHour(10 * minute)]);
  });

  //  case                        own region     trusted  drives
  it.each([
    ['our own region', 'CAISO_NORTH', true, true],
    ['preview of another region', 'PSCO', true, false],
    ['region not known yet', undefined, true, false],
    ['the clock is not trusted', 'CAISO_NORTH', false, false],
  ])('%s', (_, ownRegion, trusted, drives) => {
    const view = buildSignalView(both, momentAt(0, trusted), { ties: 'mid', ownRegion });
    expect([view.index !== undefined, view.horizon !== undefined, view.rate !== undefined]).toEqual([
      drives,
      drives,
      drives,
    ]);
  });
});

describe('the view', () => {
  it.each([
    ['strict', 0],
    ['mid', 100 / 48],
    ['weak', 100 / 24],
  ] as const)('ties count %s', (ties, value) =>
    expect(buildSignalView(fetched, momentAt(0), { ...OWN, ties }).index?.value).toBeCloseTo(value, 12),
  );

  it('tells the rate of now in pounds, and none in another unit', () => {
    expect(buildSignalView(fetched, momentAt(2.5), OWN).rate).toEqual({
      value: 300,
      at: atSampleHour(2.5),
      until: atSampleHour(2.5 + 5 * minute),
    });
    const dollars = withForecast(empty, buildForecast(0, [1, 2], { units: 'usd' }), momentAt(0)).signal;
    expect(buildSignalView(dollars, momentAt(0), OWN).rate).toBeUndefined();
  });

  it('begins at the present slot and continues a short forecast with the own profile', () => {
    const short = withForecast(week(empty, 7), buildForecast(0, [100, 200, 300]), momentAt(0)).signal;
    const { horizon } = buildSignalView(short, momentAt(1.55), OWN);
    expect([horizon?.from, horizon?.values[0], horizon?.profileFrom]).toEqual([
      atSampleHour(1.5),
      200,
      atSampleHour(3),
    ]);
    expect(horizon?.values.length).toBe(48 * 12);
    expect(buildSignalView(fetched, momentAt(0), OWN).horizon?.profileFrom).toBeUndefined();
  });

  it('and does so after two months away, though the old forecast had gone on for a while', () => {
    const before = withForecast(week(empty, 7), buildForecast(0, [100, 200, 300]), momentAt(0)).signal;
    const away = 24 * 60;
    const back = withForecast(before, buildForecast(away, [100, 200, 300]), momentAt(away)).signal;
    expect(buildSignalView(back, momentAt(away), OWN).horizon?.values.length).toBe(48 * 12);
  });

  it('a gap is unknown, never filled from its neighbours', () => {
    const whole = buildForecast(0, risingValues(24));
    const gap = { ...whole, points: whole.points.filter((_, i) => i !== 5) };
    const view = buildSignalView(withForecast(empty, gap, momentAt(0)).signal, momentAt(0.45), OWN);
    expect([view.rate, view.index, view.horizon?.values[0]]).toEqual([undefined, undefined, Number.NaN]);
  });

  it('flat values are called flat', () => {
    const flat = withForecast(empty, buildForecast(0, new Array<number>(24).fill(500)), momentAt(0)).signal;
    expect(buildSignalView(flat, momentAt(0), OWN).index).toMatchObject({ value: 50, flat: true });
    const beside = (hour: number) =>
      buildSignalView(withLiveIndex(flat, buildLiveIndex(hour, 7), momentAt(hour)).signal, momentAt(hour), OWN);
    expect(beside(0).index).toMatchObject({ value: 7, flat: true });
    // What an old forecast calls flat may not be by now.
    expect(beside(1).index).toMatchObject({ value: 7, flat: false });
  });

  it('with an archive of percentiles alone it orders slots and gives no rate', () => {
    let data = empty;
    for (let h = -72; h < 0; h += 1 / 12)
      data = withLiveIndex(data, buildLiveIndex(h, ((h % 24) + 24) % 24), momentAt(h)).signal;
    const view = buildSignalView(data, momentAt(1), OWN);
    expect([view.horizon?.basis, view.horizon?.units, view.rate]).toEqual([
      'own-profile',
      'stretched-percentile',
      undefined,
    ]);
  });

  it('nothing changes before changesAt', () => {
    for (const data of [fetched, both, indexOnly, week(fetched, 7)])
      for (let t = 0; t < 80; t += 0.71) {
        const view = buildSignalView(data, momentAt(t), OWN);
        const last = (view.changesAt - atSampleHour(0) - 1) / 3_600_000;
        const { changesAt: _, ...before } = view;
        const { changesAt: __, ...after } = buildSignalView(data, momentAt(last), OWN);
        expect(after).toEqual(before);
      }
  });
});
