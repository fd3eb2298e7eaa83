import { describe, expect, it } from 'vitest';
import {
  buildSentence,
  createClockFormat,
  findExpectedRuns,
  findHold,
  type House,
  isNight,
  type LoadDocument,
  listTimeSpans,
} from '../../src/page/browser/house-model.ts';

const HOUR = 3_600_000;
/** 19:30 of a Sunday. */
const NOW = Date.parse('2026-03-01T19:30:00Z');
const format = createClockFormat('UTC');
const at = (hours: number) => new Date(NOW + hours * HOUR).toISOString();

const load = (more: Partial<LoadDocument> = {}): LoadDocument => ({
  ...{ time: at(0), level: 'off', told: 'off', confirmed: 'off', available: true, running: false },
  ...{ why: 'dirty', text: '', override: 'auto', until: null, nextStart: null, nextEnd: null, job: null },
  ...{ energyKwh: null, energyTodayKwh: null, ...more },
});

function buildHouse(loads: Readonly<Record<string, LoadDocument>>, plans: House = {}): House {
  const names = Object.keys(loads);
  return {
    info: {
      ...{ region: null, regionFullName: null, mapLastUpdated: null, acceptsCommands: true, units: 'lb/MWh' },
      loads: names.map((name) => ({
        ...{ name, type: 'generic', levels: ['on', 'off'], powerKw: 2, onBelow: 33, offAbove: 43 },
        ...{ hasGoal: name === 'car', observeOnly: false },
      })),
    },
    ...Object.fromEntries(names.map((name) => [`loads/${name}`, loads[name]])),
    ...plans,
  };
}

const JOB = { by: at(11.5), needMinutes: 240, doneMinutes: 0, shortfallMinutes: 0 };
const PLAN: House = {
  'loads/car/plan': {
    runs: [
      { start: at(5), end: at(6) },
      { start: at(7), end: at(10) },
    ],
  },
};

describe('what the house will do', () => {
  const rows: readonly (readonly [string, Parameters<typeof load>[0], string])[] = [
    ['car', { job: JOB, why: 'plan-waits' }, 'Car runs 4 h between 00:30 and 05:30, ready by 07:00.'],
    [
      'car',
      { job: JOB, running: true, why: 'planned', nextEnd: at(1) },
      'Car runs until 20:30 and again 4 h between 00:30 and 05:30, ready by 07:00.',
    ],
    [
      'car',
      { job: { ...JOB, shortfallMinutes: 26 }, running: true, why: 'must-run' },
      'Car runs, 26 min short by 07:00.',
    ],
    ['tank', {}, 'Tank waits for cleaner hours.'],
    ['tank', { nextStart: at(4.5), nextEnd: at(5) }, 'Tank waits until 00:00.'],
    ['tank', { nextStart: at(4.5), nextIsExpected: true }, 'Tank waits for cleaner hours, expected from 00:00.'],
    ['tank', { running: true, nextEnd: at(0.5), nextIsExpected: true }, 'Tank runs, expected until 20:00.'],
    ['tank', { running: true, why: 'clean' }, 'Tank runs.'],
    ['tank', { override: 'off', why: 'override', until: at(2) }, 'Tank is off by you until 21:30.'],
    ['tank', { why: 'paused', paused: true }, 'Tank is paused by you at its fail-safe level.'],
  ];
  it.each(rows)('%s %j: %s', (name, document, sentence) => {
    const house = buildHouse({ [name]: load(document) }, PLAN);
    expect(buildSentence(house, { now: NOW, format })).toBe(sentence);
  });
});

describe('the night', () => {
  //  place                       UTC           sun
  const rows = [
    ['Sacramento', 38.5, -122, '2026-03-20T13:30:00Z', 'down'],
    ['Sacramento', 38.5, -122, '2026-03-20T15:00:00Z', 'up'],
    ['Sacramento', 38.5, -122, '2026-03-21T01:30:00Z', 'up'],
    ['Sacramento', 38.5, -122, '2026-03-21T03:00:00Z', 'down'],
    ['Tromsø in June', 69.6, 19, '2026-06-21T23:00:00Z', 'up'],
    ['Tromsø in December', 69.6, 19, '2026-12-21T11:00:00Z', 'down'],
    ['Hobart in January', -42.9, 147.3, '2026-01-01T09:00:00Z', 'up'],
  ] as const;
  it.each(rows)('%s (%d, %d) at %s: the sun is %s', (_, latitude, longitude, time, sun) =>
    expect(isNight(Date.parse(time), { latitude, longitude })).toBe(sun === 'down'),
  );
});

describe('a load that is held', () => {
  //  document                                                          until
  const rows: readonly (readonly [Parameters<typeof load>[0], number | undefined])[] = [
    [{ override: 'off', why: 'override', until: at(2) }, 2],
    [{ why: 'min-off', wantedWhy: 'clean', until: at(1) }, 1],
    [{ level: 'block', until: at(1) }, 1],
    [{ why: 'dirty', until: at(1) }, undefined],
    [{ why: 'min-off', wantedWhy: 'clean', until: at(-1) }, undefined],
    [{ why: 'power-budget', wantedWhy: 'clean' }, undefined],
  ];
  it.each(rows)('%j: for %s hours', (document, hours) => {
    const hold = findHold(buildHouse({ tank: load(document) }), 'tank', NOW);
    expect(hold).toEqual(hours === undefined ? undefined : { from: NOW, to: NOW + hours * HOUR });
  });
});

describe('runs by the forecast', () => {
  it('are those that the agent expects, but no past ones', () => {
    const expected = [
      { start: at(-4), end: at(-1) },
      { start: null, end: at(1) },
      { start: at(6.5), end: at(10.5) },
      { start: at(28.5), end: null },
    ];
    const runs = findExpectedRuns(buildHouse({}, { 'loads/tank/plan': { runs: [], expected } }), 'tank', NOW);
    expect(listTimeSpans(runs, NOW, format)).toBe('19:30–20:30, 02:00–06:00, from Tue 00:00');
    expect(findExpectedRuns(buildHouse({}, PLAN), 'car', NOW)).toEqual([]);
  });
});
