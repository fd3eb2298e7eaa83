/** Row 34: answers at the bounds of the specification. The agent holds and stores little, says what is wrong, and reads what it wrote. */

import { afterEach, expect, it } from 'vitest';
import { days, hours, minutes } from '../../src/domain/units.ts';
import type { Basis } from '../../src/signal/signal-view.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { type AnswerOverride, type ServiceBody, scriptedJson, startSignalService } from './scripted-signal-service.ts';
import { createVirtualAgent, START, type VirtualAgent } from './virtual-agent.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

async function startHouse(override: AnswerOverride): Promise<VirtualAgent> {
  const clock = createVirtualClock(START);
  const service = await startSignalService(clock, override);
  undo.push(() => service.close());
  const home = await createVirtualAgent({ seed: 1, clock, url: service.url });
  undo.push(() => home.close());
  await home.start();
  return home;
}

/** Changes the answers of some paths. */
const changeAnswers =
  (paths: readonly string[], change: (body: ServiceBody) => void): AnswerOverride =>
  ({ path }, _, usual) => {
    if (!paths.includes(path)) return undefined;
    const body = usual();
    change(body);
    return scriptedJson(body);
  };
const FORECAST = ['/v3/forecast'];
const INDEX = ['/v3/signal-index'];
const DATA = [...FORECAST, ...INDEX, '/v3/historical'];
const LAST_INSTANT = '9999-12-31T23:55:00+00:00';
const setPeriod = (body: ServiceBody) => Object.assign(body.meta, { data_point_period_seconds: 1 });
const findLargestFile = async ({ disk }: VirtualAgent) => {
  const sizes = await Promise.all((await disk.list()).map(async (name) => (await disk.read(name))?.length ?? 0));
  return Math.max(...sizes);
};

//  the service                                    answers                                        basis             what is said
const rows: readonly (readonly [string, AnswerOverride, Basis, RegExp])[] = [
  [
    'a period of 1 s everywhere',
    changeAnswers(DATA, setPeriod),
    'fail-safe',
    /no live index: .* valid for 1 s each; expected at least 60 s/,
  ],
  [
    'a period of 1 s of the forecast',
    changeAnswers(FORECAST, setPeriod),
    'live-index',
    /^service: no forecast: .* valid for 1 s each/,
  ],
  [
    'a period of 1 s of the index',
    changeAnswers(INDEX, setPeriod),
    'fresh-forecast',
    /^service: no live index: .* valid for 1 s/,
  ],
  [
    'a forecast made in the year 9999',
    changeAnswers(FORECAST, ({ meta }) => Object.assign(meta, { generated_at: LAST_INSTANT })),
    'live-index',
    /^service: no forecast: .*9999/,
  ],
  [
    'a forecast for the year 9999',
    changeAnswers(FORECAST, (body) => Object.assign(body, { data: [{ point_time: LAST_INSTANT, value: 1 }] })),
    'live-index',
    /^service: no forecast: .* no value of the next days/,
  ],
  [
    'an index of the year 9999',
    changeAnswers(INDEX, ({ data }) => Object.assign(data[0] ?? {}, { point_time: LAST_INSTANT })),
    'fresh-forecast',
    /^service: no live index: .*9999/,
  ],
  [
    'a forecast whose last point is of the year 9999',
    changeAnswers(FORECAST, ({ data }) => void data.push({ point_time: LAST_INSTANT, value: 1 })),
    'fresh-forecast',
    /^$/,
  ],
  [
    'a model of the year 9999',
    changeAnswers(DATA, ({ meta }) => Object.assign(meta, { model: { date: '9999-12-31' } })),
    'fresh-forecast',
    /^$/,
  ],
];

it.each(rows)('34 %s', async (_, override, basis, problem) => {
  const home = await startHouse(override);
  await home.pass(hours(7));
  const judge = () => {
    const health = home.health();
    expect(health.basis).toBe(basis);
    expect(health.problem).toMatch(problem);
    expect(health.ok).toBe(health.problem === '');
  };
  judge();
  expect(await findLargestFile(home)).toBeLessThan(200_000);
  await home.restart();
  await home.pass(minutes(10));
  judge();
  expect(home.logEntries.filter(({ message }) => /stored|saved/.test(message))).toEqual([]);
});

it('34 a last point of the year 9999 makes no forecast last: three days after the service has gone, nothing drives', async () => {
  let isGone = false;
  const addPoint = changeAnswers(FORECAST, ({ data }) => void data.push({ point_time: LAST_INSTANT, value: 1 }));
  const home = await startHouse((...asked) => (isGone ? scriptedJson({}, 503) : addPoint(...asked)));
  isGone = true;
  await home.pass(days(4));
  expect(home.health()).toMatchObject({ basis: 'fail-safe', ok: false });
});
