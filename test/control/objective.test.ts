/** What a load's objective makes of emissions and prices. */

import { describe, expect, it } from 'vitest';
import { explainDecision } from '../../src/control/explain.ts';
import {
  computeBill,
  type JobBill,
  listSlotPrices,
  priceJob,
  settleBill,
} from '../../src/control/planning/job-pricing.ts';
import { computeJobEmissions, type JobRequest, planJob } from '../../src/control/planning/schedule-job.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import type { PriceSpan, Prices } from '../../src/domain/tariff.ts';
import { addDuration, hours, type Instant, minutes } from '../../src/domain/units.ts';
import { createRandom } from '../ledger/ledger-samples.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, instantFrom, ZONE } from './control-setup.ts';

/** 18:00 local; the deadline 07:00 is 13 hours away. */
const EVENING = instantFrom('2026-06-04T01:00:00Z');
//                   18   19   20   21   22   23   00   01   02   03   04   05   06   07
const NIGHT_HOURS = [700, 700, 300, 300, 600, 600, 600, 500, 500, 500, 500, 600, 700, 700, 700, 700];
const PRICES = [0.5, 0.5, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3];

const buildPrices = (hourly: readonly number[], currency = 'USD'): Prices => ({
  currency,
  spans: hourly.map(
    (price, i): PriceSpan => ({
      from: addDuration(EVENING, hours(i)),
      to: addDuration(EVENING, hours(i + 1)),
      price,
    }),
  ),
});

function plug(over: Partial<LoadConfig>, prices: Prices | 'none' = buildPrices(PRICES)) {
  const bench = new ControlBench(buildSite(carLoad(over)), EVENING);
  bench.send({ kind: 'confirmed', load: 'car', level: 'off' });
  bench.sendSignal({ horizon: buildHorizon(EVENING, NIGHT_HOURS), ...(prices === 'none' ? {} : { prices }) });
  return bench;
}

const localHour = (at: Instant) => ((at - EVENING) / hours(1) + 18) % 24;
const plannedHours = (bench: ControlBench) =>
  bench.state.loads[0]?.plan?.runs.map(({ from, to }) => `${localHour(from)}-${localHour(to)}`).join(' ');

describe('a car that needs 4 h by 07:00, clean at 20-22, cheap from 23 on', () => {
  //  objective                                       hours          why
  it.each([
    [{}, '20-22 1-3', 'carbon is the default'],
    [{ objective: 'price' }, '1-5', 'the cleanest of the cheapest'],
    [{ objective: 'balanced', maxDearer: 0 }, '1-5', 'no cent above the cheapest'],
    [{ objective: 'balanced', maxDearer: 1 }, '20-22 1-3', 'a bound that never binds'],
    [{ objective: 'balanced', carbonPrice: 1_000 }, '1-5', '0.2 for 200 lb/MWh: 2,200 a tonne is too dear'],
    [{ objective: 'balanced', carbonPrice: 3_000 }, '20-22 1-3', 'it is worth 3,000'],
  ] as const satisfies readonly (readonly [Partial<LoadConfig>, string, string])[])('%j: %s, %s', (...row) => {
    const [over, planned] = row;
    expect(plannedHours(plug(over))).toBe(planned);
  });

  it('a bill bounded to 40 % above the cheapest buys what it can of the clean hours', () => {
    const bench = plug({ objective: 'balanced', maxDearer: 0.4 });
    const { bill } = bench.state.loads[0]?.job ?? {};
    expect(bill).toMatchObject({ spent: 0, cheapest: expect.closeTo(1.2, 9) });
    expect(bench.state.loads[0]?.plan?.expected).toMatchObject({ currency: 'USD', kg: expect.any(Number) });
    expect(bench.decision('car').money?.expected?.cost).toBeLessThanOrEqual(7.2 * 1.2 * 1.4);
  });
  it('prices that are all one decide nothing, but bound what the job may cost once others come', () => {
    const load = { objective: 'balanced', maxDearer: 0.05 } as const;
    const bench = plug(load, buildPrices(PRICES.map(() => 0.4)));
    expect(bench.state.loads[0]?.job?.bill).toEqual({ spent: 0, cheapest: expect.closeTo(1.6, 9) });
    expect(plannedHours(bench)).toBe('20-22 1-3');
  });
  it('prices that do not reach to now are none: carbon decides', () => {
    const { spans } = buildPrices(PRICES);
    expect(plannedHours(plug({ objective: 'price' }, { currency: 'USD', spans: spans.slice(1) }))).toBe('20-22 1-3');
    expect(plannedHours(plug({ objective: 'price' }, 'none'))).toBe('20-22 1-3');
  });
  it('prices that end are those of the day before, else the mean', () => {
    const short = buildPrices([0.5, 0.5, 0.5, 0.5, 0.5, 0.1]);
    expect(plannedHours(plug({ objective: 'price' }, short))).toBe('23-3');
  });
  it('prices that come later change the plan', () => {
    const bench = plug({ objective: 'price' }, 'none');
    bench.sendSignal({ horizon: buildHorizon(EVENING, NIGHT_HOURS), prices: buildPrices(PRICES) });
    expect(plannedHours(bench)).toBe('1-5');
  });
  it('counts what the job has cost, and keeps what it left of its bound', () => {
    const bench = plug({ objective: 'balanced', maxDearer: 0.05 });
    bench.runUntil(addDuration(EVENING, hours(14)));
    const [car] = bench.state.loads;
    expect(car?.previousJob?.bill?.spent).toBeCloseTo(1.2, 6);
    expect(car?.savedBill).toBeCloseTo(0.9 * 0.05 * 1.2, 6);
  });
  it('says what the job has cost and will', () => {
    const bench = plug({ objective: 'price' });
    expect(explainDecision(bench.decision('car'), ZONE)).toBe(
      '0.5 USD/kWh: waiting for cheaper hours; waits until Thu 01:00; 0 min of 4 h by Thu 07:00; the rest costs 8.64 USD and emits 6.5 kg CO2',
    );
    bench.runUntil(instantFrom('2026-06-04T10:00:00Z'));
    bench.send({ kind: 'tick' });
    expect(bench.decision('car').money).toMatchObject({ currency: 'USD', price: 0.3 });
    expect(bench.state.loads[0]?.job?.bill?.spent).toBeCloseTo(0.6, 6);
  });
  it('a price of nothing, and below it, is a price', () => {
    const negative = buildPrices(PRICES.map((price, i) => (i === 0 ? -0.1 : price)));
    expect(plannedHours(plug({ objective: 'price', minOff: hours(0) }, negative))).toBe('18-19 1-4');
  });
});

describe('the price of an hour whose prices change within it', () => {
  const span = (from: number, to: number, price: number): PriceSpan => ({
    from: addDuration(EVENING, minutes(from)),
    to: addDuration(EVENING, minutes(to)),
    price,
  });
  //  what it is, minutes and price of each span, the first two hours
  it.each([
    ['one after 20 minutes', [span(-60, 20, 0.6), span(20, 120, 0.3)], [0.4, 0.3]],
    ['unknown for half an hour', [span(30, 60, 0.2), span(60, 90, 0.5), span(90, 120, 0.5)], [0.2, 0.5]],
    ['a gap in the middle', [span(0, 15, 0.1), span(45, 60, 0.3)], [0.2, 0.2]],
    ['known from the second hour on', [span(-60, -30, 0.9), span(60, 120, 0.3)], [0.3, 0.3]],
    ['none known', [], [0, 0]],
  ] as const)('%s', (_, spans, expected) => {
    const prices = listSlotPrices(spans, { from: EVENING, period: hours(1) }, 2);
    for (const [i, price] of expected.entries()) expect(prices[i]).toBeCloseTo(price, 9);
  });
});

describe('the account of a bounded bill', () => {
  const NIGHTS = 60;
  const { spans } = buildPrices(PRICES);

  /** A night of chance with a need of 4 h and the tariff above. */
  function drawNight(draw: () => number): JobRequest {
    const horizon = buildHorizon(
      EVENING,
      NIGHT_HOURS.map((rate) => rate * (0.6 + 0.8 * draw())),
    );
    return {
      ...{ horizon, now: EVENING, from: EVENING, by: addDuration(EVENING, hours(13)), remaining: hours(4) },
      ...{ minOn: hours(0), minOff: hours(0), startCost: 0, maxStarts: 4, running: false, age: hours(1) },
    };
  }
  /** What the nights cost above the cheapest, and emit, when each is planned by the pricing of `price`. */
  function sumNights(
    nights: readonly JobRequest[],
    price: (night: JobRequest) => JobRequest['pricing'],
    settle: (spent: number) => void = () => {},
  ) {
    let [paid, emitted] = [0, 0];
    for (const night of nights) {
      const pricing = price(night);
      const runs = planJob(pricing === undefined ? night : { ...night, pricing })?.runs ?? [];
      const spent = computeBill(runs, night.horizon, spans);
      settle(spent);
      paid += spent;
      emitted += computeJobEmissions(night.horizon, runs, carLoad({}).powerKw);
    }
    return { above: paid / (NIGHTS * 4 * 0.3) - 1, emitted };
  }

  it.each([0.02, 0.05, 0.1])(
    'a bill up to %d dearer: kept over all nights, in each by five more at most, for half of the carbon or more that one weight chosen afterwards saves',
    (maxDearer) => {
      const draw = createRandom(16);
      const nights = Array.from({ length: NIGHTS }, () => drawNight(draw));
      const load = carLoad({ objective: 'balanced', maxDearer });
      let saved = 0;
      let bill: JobBill = { spent: 0 };
      const kept = sumNights(
        nights,
        (night) => {
          const planAt = (pricing: JobRequest['pricing']) => planJob(pricing ? { ...night, pricing } : night);
          const hoursOf = { horizon: night.horizon, spans, planAt, isKnown: false, from: EVENING, to: night.by, saved };
          const priced = priceJob({ kind: 'bounded', maxDearer }, { spent: 0 }, hoursOf);
          bill = priced.bill;
          return priced.pricing;
        },
        (spent) => {
          const { cheapest = 0 } = bill;
          const ofNight = 0.9 * maxDearer * cheapest;
          expect(spent).toBeLessThanOrEqual(cheapest + saved + 6 * ofNight + 1e-9);
          saved = settleBill(saved, load, { ...bill, spent });
        },
      );
      const fixed = [1e7, 6000, 5000, 4000, 3000, 2500, 2000, 1500, 1000, 500].map((worth) =>
        sumNights(nights, () => ({ spans, worth })),
      );
      const best = fixed.filter(({ above }) => above <= maxDearer).reduce((a, b) => (b.emitted < a.emitted ? b : a));
      const byPrice = fixed[0]?.emitted ?? 0;
      expect(kept.above).toBeLessThanOrEqual(maxDearer);
      expect(byPrice - kept.emitted).toBeGreaterThan(0.5 * (byPrice - best.emitted));
    },
  );
  it('a job that costs nothing leaves the account as it is', () => {
    const load = carLoad({ objective: 'balanced', maxDearer: 0.02 });
    expect(settleBill(0.5, load, { spent: 0, cheapest: 0 })).toBe(0.5);
    expect(settleBill(-0.5, load, { spent: 0, cheapest: 0 })).toBe(-0.5);
  });
  it('holds at most the bounds of 60 jobs', () => {
    const load = carLoad({ objective: 'balanced', maxDearer: 0.02 });
    let saved = 0;
    for (let job = 0; job < 100; job++) saved = settleBill(saved, load, { spent: 1, cheapest: 1 });
    expect(saved).toBeCloseTo(60 * 0.9 * 0.02, 9);
  });
});
