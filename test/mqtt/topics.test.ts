/** The table of topics against the page, the tree on a broker, and the documents in each unit. */

import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { formatRate, type RateUnit } from '../../src/domain/rate-units.ts';
import { type Duration, type Instant, minutes } from '../../src/domain/units.ts';
import { buildLoadPayload } from '../../src/mqtt/payloads.ts';
import { formatTopicReference, TOPICS, type TopicRow } from '../../src/mqtt/topics.ts';
import { buildForecastPayload, buildPlanPayload, buildTotalsPayload } from '../../src/mqtt/watcher-payloads.ts';
import type { Horizon } from '../../src/signal/signal-view.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { buildMonitorConfig, sampleDecision, startMonitorFixture } from './monitor-fixture.ts';

const NOON = Date.parse('2026-03-01T20:00:00Z') as Instant;
const at = (minute: number) => (NOON + minute * 60_000) as Instant;

const horizon = (values: readonly number[], more: Partial<Horizon> = {}): Horizon => ({
  basis: 'fresh-forecast',
  from: NOON,
  period: minutes(5),
  values,
  units: 'lbs_co2_per_mwh',
  generatedAt: at(-1),
  validUntil: at(60),
  ...more,
});

const PLAN = {
  paused: false,
  thresholds: undefined,
  job: {
    ...{ by: at(900), from: at(0), need: minutes(240), done: 0 as Duration, starts: 0 },
    forcedByDeadline: false,
    source: 'schedule' as const,
  },
  plan: {
    ...{ generatedAt: at(-1), fromProfile: false, by: at(900), madeAt: at(1), doneWhenMade: 0 as Duration },
    ...{ runs: [{ from: at(60), to: at(300) }], cost: 1, optimalityGap: 0 },
  },
};

const NO_TOTALS = { at: at(1), validUntil: at(720), today: '2026-03-01', since: undefined, spans: [] };

describe('the table of topics', () => {
  it('is docs/topics.md: gridtide init --topics > docs/topics.md', async () => {
    const page = await readFile(new URL('../../docs/topics.md', import.meta.url), 'utf8');
    expect(page).toBe(formatTopicReference());
  });
});

describeWithMosquitto('the tree on a broker with MQTT 5', () => {
  const publishAll = async () => {
    const { url } = stopAfterTest(await startMosquitto());
    const house = stopAfterTest(startMonitorFixture(url));
    const { monitor } = house;
    for (const load of ['car', 'heating']) monitor.publishControl(load, PLAN);
    monitor.publishForecast(horizon([500]), 'CAISO_NORTH');
    monitor.publishHistory({
      ...{ region: 'CAISO_NORTH', units: 'lbs_co2_per_mwh', from: NOON, period: minutes(5), values: [500] },
    });
    monitor.publishPrices({ currency: 'EUR', spans: [{ from: NOON, to: at(60), price: 0.3 }] });
    monitor.publishTotals(NO_TOTALS);
    monitor.publishCounters({ requests: 3, logins: 1 });
    const first = stopAfterTest(await startMqttSpy(url));
    await first.waitFor(({ topic, text }) => topic.endsWith('/availability') && text === 'online');
    return { ...house, url };
  };

  it('is what the rows say: each topic, retained or not', async () => {
    const { url } = await publishAll();
    const late = stopAfterTest(await startMqttSpy(url, { protocolVersion: 5 }, ['gridtide/#']));
    await late.waitFor(({ topic }) => topic.endsWith('/totals'));
    await late.waitFor(({ topic }) => topic.endsWith('/signal'));
    const rows = Object.values<TopicRow>(TOPICS).filter(({ retention }) => retention !== 'no');
    const stored = late.messages.filter(({ retained }) => retained).map(({ topic }) => topic);
    const wanted = rows.flatMap(({ path }) =>
      path.includes('<load>') ? ['car', 'heating'].map((load) => path.replace('<load>', load)) : [path],
    );
    expect(new Set(stored)).toEqual(new Set(wanted.map((path) => `gridtide/cellar/${path}`)));
  });

  it('answers a watcher from one subscription: level, told, next start, reason, forecast, saved', async () => {
    const { url } = await publishAll();
    const late = stopAfterTest(await startMqttSpy(url));
    await late.waitFor(({ topic }) => topic.endsWith('/totals'));
    const read = (path: string) => JSON.parse(late.lastText(`gridtide/cellar/${path}`) ?? 'null');
    expect(read('loads/car')).toMatchObject({
      ...{ level: 'on', told: null, text: 'index 21: clean enough to run', powerKw: 7.2, energyTodayKwh: 0 },
      ...{ paused: false, onBelow: 33, offAbove: 43 },
    });
    expect(read('loads/car/plan').runs).toEqual([
      { start: '2026-03-01T21:00:00+00:00', end: '2026-03-02T01:00:00+00:00', kw: 7.2 },
    ]);
    expect(read('forecast')).toMatchObject({ units: 'lb/MWh', values: [500], validUntil: expect.any(String) });
    expect(read('prices')).toEqual({
      ...{ currency: 'EUR', validUntil: '2026-03-01T21:00:00+00:00' },
      spans: [{ start: '2026-03-01T20:00:00+00:00', end: '2026-03-01T21:00:00+00:00', price: 0.3 }],
    });
    expect(read('totals').today).toMatchObject({ energyKwh: 0, savedKg: 0 });
  });

  it('answers a command on its response topic too, with its correlation data, but never on a topic of agents', async () => {
    const { url } = await publishAll();
    const { connectAsync } = await import('mqtt');
    const client = await connectAsync(url, { protocolVersion: 5 });
    const answers: { topic: string; correlation: string | undefined }[] = [];
    const answered = new Promise<void>((resolve) =>
      client.on('message', (topic, _, { properties }) => {
        answers.push({ topic, correlation: properties?.correlationData?.toString() });
        if (topic === 'replies/me') resolve();
      }),
    );
    await client.subscribeAsync(['replies/me', 'gridtide/cellar/availability'], { qos: 1, rh: 2 });
    const send = (responseTopic: string) =>
      client.publishAsync('gridtide/cellar/loads/car/set', '{"command":"clear"}', {
        properties: { responseTopic, correlationData: Buffer.from('7') },
      });
    await send('gridtide/cellar/availability');
    await send('replies/me');
    await answered;
    await client.endAsync(true);
    expect(answers).toEqual([{ topic: 'replies/me', correlation: '7' }]);
  });
});

describe('the documents of those who watch', () => {
  //  unit                 583.4 lb/MWh
  const rows: readonly (readonly [RateUnit, number, string])[] = [
    ['lb/MWh', 583.4, '583 lb/MWh'],
    ['g/kWh', 264.6, '265 g/kWh'],
    ['kg/MWh', 264.6, '265 kg/MWh'],
  ];
  it.each(rows)('say a rate in %s as %d', (unit, value, text) => {
    const { units, values } = buildForecastPayload(horizon([583.4, Number.NaN]), undefined, unit);
    expect([units, values]).toEqual([unit, [value, null]]);
    expect(formatRate(583.4, unit)).toBe(text);
  });

  it('keep the unit of another signal', () =>
    expect(buildForecastPayload(horizon([1], { units: 'stretched-percentile' }), undefined, 'g/kWh')).toMatchObject({
      units: 'stretched-percentile',
      values: [1],
    }));

  it('show no plan of a job that is over', () =>
    expect(buildPlanPayload('car', { ...PLAN, job: { ...PLAN.job, by: at(2000) } }, 7.2).runs).toEqual([]));

  it('name the next run of a load without a goal as expected, also of one that runs already', () => {
    const [, load] = buildMonitorConfig('mqtt://127.0.0.1').loads;
    if (load === undefined) throw new Error('the second load has no goal');
    const control = {
      ...{ job: undefined, plan: undefined, paused: false, thresholds: undefined },
      expected: [{ to: at(30) }, { from: at(240) }],
    };
    expect(buildPlanPayload('heating', control, 3).expected).toEqual([
      { start: null, end: '2026-03-01T20:30:00+00:00', kw: 3 },
      { start: '2026-03-02T00:00:00+00:00', end: null, kw: 3 },
    ]);
    const decision = sampleDecision({ load: 'heating', at: NOON, level: 'recommend' });
    expect(buildLoadPayload(decision, '', { unit: 'g/kWh', load, control })).toMatchObject({
      ...{ nextStart: '2026-03-02T00:00:00+00:00', nextEnd: '2026-03-01T20:30:00+00:00', nextIsExpected: true },
    });
  });

  it('sum the day, the month and all of it', () => {
    const total = (span: string, load: string, saved: number) => ({
      ...{ load, span, energy: 2, priced: 2, emitted: 1, instead: 1 + saved, saved, baselines: [], models: [] },
      ...{ settledShare: 0.5, imputedShare: 0, restated: 0, jobs: 0, starts: 1 },
    });
    const spans = [
      { ...total('2026-02-28', 'car', 4), bill: { energy: 2, paid: 1, instead: 1.5, currency: 'EUR' } },
      { ...total('2026-03-01', 'car', 1), bill: { energy: 2, paid: 0.4, instead: 0.7, currency: 'USD' } },
      total('2026-03-01', 'heating', 0.5),
    ] as unknown as Parameters<typeof buildTotalsPayload>[0]['spans'];
    const made = buildTotalsPayload({ ...NO_TOTALS, spans }, ['car', 'heating']);
    expect([made.today.savedKg, made.month.savedKg, made.all.savedKg]).toEqual([1.5, 1.5, 5.5]);
    expect(made.loads.car?.all).toMatchObject({ energyKwh: 4, savedKg: 5, settledShare: 0.5, starts: 2 });
    // Of two currencies the newest: sums of both are none.
    const bill = { currency: 'USD', energyKwh: 2, paid: 0.4, instead: 0.7, saved: 0.3 };
    expect([made.all.bill, made.today.bill, made.loads.heating?.all.bill]).toEqual([bill, bill, null]);
    expect(made.days).toEqual([
      { day: '2026-02-28', energyKwh: 2, kg: 1, savedKg: 4 },
      { day: '2026-03-01', energyKwh: 4, kg: 2, savedKg: 1.5 },
    ]);
  });
});
