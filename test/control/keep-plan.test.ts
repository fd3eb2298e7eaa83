/** A plan changes what a load does now only when that is worth the starts it adds, and a spike of one slot never is. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explainDecision } from '../../src/control/explain.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import { hours, type Instant, minutes } from '../../src/domain/units.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, daily, instantFrom, ZONE } from './control-setup.ts';

/** 20:00 in California: the car's job may begin, and must be done by 07:00. */
const START = instantFrom('2026-06-04T03:00:00Z');
const SLOT = minutes(5);
const NIGHT = 11 * 12;
const at = (slot: number) => (START + slot * SLOT) as Instant;
/** A charger without minimum times: nothing but the plan keeps it from a pause of one slot. */
const createLitheCar = () =>
  carLoad({
    goal: { need: { kind: 'time', time: hours(2) }, by: daily(7 * 60), armedBy: 'schedule' },
    ...{ minOn: minutes(0), minOff: minutes(0), maxStartsPerHour: 9, maxStartsPerDay: 20 },
  });

/** The values of the night: clean from 21:00 to 23:30, dirty else, in plateaus. */
const base = Array.from({ length: NIGHT + 12 }, (_, slot) => (slot >= 12 && slot < 42 ? 400 : 800));

type Values = readonly number[];

/** The night with an issue each slot, `valuesOf` what it says of each slot. */
function live(load: LoadConfig, valuesOf: (issue: number) => Values, issues = NIGHT) {
  const bench = new ControlBench(buildSite(load), START);
  for (let issue = 0; issue < issues; issue++) {
    bench.runUntil(at(issue));
    const values = valuesOf(issue).slice(issue);
    bench.sendSignal({ horizon: buildHorizon(at(issue), [], { values, validUntil: at(NIGHT + 12) }) });
  }
  return bench;
}

/** Within the night: by its end a load whose job is over has no signal any more. */
const listSwitches = ({ switches }: ControlBench) =>
  switches
    .filter(({ at: when, level }, i) => when < at(NIGHT) && !(i === 0 && level === 'off'))
    .map(({ at: when, level }) => `${(when - START) / SLOT} ${level}`);

const withSlot = (values: Values, slot: number, value: number) => values.map((one, i) => (i === slot ? value : one));

describe('a plan kept against a newer one', () => {
  const calm = listSwitches(live(createLitheCar(), () => base));

  it('a calm night is one run of the two hours', () => {
    expect(calm).toEqual(['12 on', '36 off']);
  });

  it.each([
    // slot  value  what
    [20, 2000, 'a peak while it runs'],
    [20, 500, 'a small peak while it runs'],
    [12, 5000, 'a peak where it begins'],
    [35, 5000, 'a peak in its last slot'],
    [60, 0, 'a dip after it is done'],
    [30, -900, 'a dip among its slots'],
  ] as const)('slot %i is %i: %s switches nothing more', (slot, value, _what) => {
    const spiked = live(createLitheCar(), (issue) => (issue === slot ? withSlot(base, slot, value) : base));
    expect(listSwitches(spiked)).toEqual(calm);
  });

  it('a peak of an hour is worth a pause', () => {
    const peak = base.map((value, slot) => (slot >= 20 && slot < 32 ? 1500 : value));
    const bench = live(createLitheCar(), (issue) => (issue >= 20 ? peak : base));
    expect(listSwitches(bench)).toEqual(['12 on', '20 off', '32 on', '48 off']);
  });

  it('says what the refused plan would have saved, until the next one', () => {
    const bench = live(createLitheCar(), (issue) => (issue === 20 ? withSlot(base, 20, 2000) : base), 21);
    const { decision, plan } = bench.state.loads[0] ?? {};
    // 7.2 kW for 5 minutes at 2,000 in place of 400 lb/MWh.
    expect(plan?.refused).toEqual({ at: at(20), starts: 1, kg: expect.closeTo(0.6 * 1.6 * 0.45359237, 9) });
    expect(bench.decisions.at(-1)?.refused).toEqual(plan?.refused);
    expect(decision && explainDecision(decision, ZONE)).toBe(
      'planned for the cleanest hours before Thu 07:00; runs until 23:00; 40 min of 2 h by Thu 07:00; ' +
        'keeps its plan, a newer one starts once more and saves 0.44 kg CO2',
    );
    bench.send({ kind: 'override', load: 'car', level: 'off', for: minutes(1), source: 'local' });
    expect(bench.decision('car').why).toBe('override');
    expect(bench.decision('car')).not.toHaveProperty('refused');
    bench.runUntil(at(21));
    bench.sendSignal({ horizon: buildHorizon(at(21), [], { values: base.slice(21), validUntil: at(NIGHT) }) });
    expect(bench.state.loads[0]?.plan?.refused).toBeUndefined();
  });

  it('a spike of one slot adds no start to a plan, whatever its size and the night', () => {
    const plateau = fc.record({ length: fc.integer({ min: 3, max: 30 }), value: fc.integer({ min: 4, max: 18 }) });
    const night = fc
      .array(plateau, { minLength: 5, maxLength: 40 })
      .map((some) => some.flatMap(({ length, value }) => Array<number>(length).fill(50 * value)))
      .map((values) => Array.from({ length: NIGHT + 12 }, (_, i) => values[i % values.length] ?? 0));
    const spike = fc.record({
      slot: fc.integer({ min: 1, max: NIGHT - 1 }),
      value: fc.integer({ min: -2000, max: 5000 }),
    });
    const countStarts = (bench: ControlBench) => listSwitches(bench).filter((one) => one.endsWith('on')).length;
    fc.assert(
      fc.property(night, spike, (values, { slot, value }) => {
        const spiked = live(createLitheCar(), (issue) => (issue === slot ? withSlot(values, slot, value) : values));
        expect(countStarts(spiked)).toBeLessThanOrEqual(countStarts(live(createLitheCar(), () => values)));
      }),
      { seed: Number(process.env.SEED ?? 16), numRuns: Number(process.env.RUNS ?? 20) },
    );
  });
});
