import { describe, expect, it } from 'vitest';
import {
  buildSentence,
  buildTimeline,
  createClockFormat,
  findExpectedRuns,
  type House,
  type LoadDocument,
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

/** Dirty hours around a clean night from 02:00 to 06:00 and a clean half hour at 00:00, and enough of the next day to rank them. */
function buildHouse(loads: Readonly<Record<string, LoadDocument>>, plans: House = {}): House {
  const values = Array.from({ length: 48 * 2 }, (_, i) => {
    const hour = (19.5 + i / 2) % 24;
    return (hour >= 2 && hour < 6) || hour === 0 ? 100 : 600;
  });
  const names = Object.keys(loads);
  return {
    info: {
      ...{ region: null, regionFullName: null, mapLastUpdated: null, acceptsCommands: true, units: 'lb/MWh' },
      loads: names.map((name) => ({
        ...{ name, type: 'generic', levels: ['on', 'off'], powerKw: 2, onBelow: 33, offAbove: 43 },
        ...{ hasGoal: name === 'car', observeOnly: false },
      })),
    },
    forecast: { from: at(0), periodSeconds: 1_800, units: 'lb/MWh', values },
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
    ['tank', {}, 'Tank waits for cleaner hours, expected from 00:00.'],
    ['tank', { running: true, why: 'clean' }, 'Tank runs, expected until 20:00.'],
    ['tank', { running: true, why: 'clean', onBelow: 97, offAbove: 98 }, 'Tank runs.'],
    ['tank', { onBelow: 0, offAbove: 1 }, 'Tank waits for cleaner hours.'],
    ['tank', { override: 'off', why: 'override', until: at(2) }, 'Tank is off by you until 21:30.'],
    ['tank', { why: 'paused', paused: true }, 'Tank is paused by you at its fail-safe level.'],
  ];
  it.each(rows)('%s %j: %s', (name, document, sentence) => {
    const house = buildHouse({ [name]: load(document) }, PLAN);
    expect(buildSentence(house, { now: NOW, format, timeline: buildTimeline(house) })).toBe(sentence);
  });
});

describe('runs by the forecast', () => {
  const find = (document: Partial<LoadDocument>, name = 'tank') => {
    const house = buildHouse({ [name]: load(document) });
    const [config] = house.info?.loads ?? [];
    if (config === undefined) throw new Error('the house has one load');
    const runs = findExpectedRuns(house, buildTimeline(house), config, NOW);
    return runs.map(({ from, to }) => `${format.time(from)}–${format.time(to)}`);
  };

  it('lists the clean hours ahead, as far as they can be ranked', () => {
    expect(find({})).toEqual(['00:00–00:30', '02:00–06:00', '00:00–00:30']);
  });

  it('leaves a load alone that goes by a plan, by hand, or is paused', () => {
    expect([find({}, 'car'), find({ override: 'on' }), find({ why: 'paused' })]).toEqual([[], [], []]);
  });
});
