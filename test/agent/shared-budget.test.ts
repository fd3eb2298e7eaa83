/** Two chargers, one budget and the real links: the second starts when the first draws less, not when it was told to. */

import { afterEach, expect, it } from 'vitest';
import { createControlLoop } from '../../src/agent/control-loop.ts';
import { type ControlState, createInitialState, step } from '../../src/control/step.ts';
import { type Kilowatt, minutes, seconds } from '../../src/domain/units.ts';
import { buildCharger, buildIndex, buildSite, buildView, carLoad } from '../control/control-setup.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';
import { createOutputFixture, createTestOutput, type OutputFixture } from '../outputs/output-fixture.ts';

const BUDGET = 11;
const OWN_AMPS = 16;

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A charger that obeys its level at once and its current when it is let; it reports both, or its level alone. */
function createSlowCharger({ embedded }: OutputFixture, serial: string, reportsAmps: boolean) {
  const topic = (key: string) => `go-eCharger/${serial}/${key}`;
  const events = createAwaitableList<string>();
  let [isOn, amps, requestedAmps] = [false, OWN_AMPS, OWN_AMPS];
  const publish = (key: string, value: number) => embedded.publish(topic(key), `${value}`, { retain: true });
  embedded.onPublish(async (name, payload) => {
    if (name === topic('amp/set')) requestedAmps = Number(payload);
    if (name !== topic('frc/set')) return;
    isOn = payload === '2';
    events.add(`${payload} with ${requestedAmps}`);
    await publish('frc', Number(payload));
  });
  return {
    events,
    async begin() {
      await publish('frc', 1);
      if (reportsAmps) await publish('amp', amps);
    },
    async takeCurrent() {
      amps = requestedAmps;
      if (reportsAmps) await publish('amp', amps);
    },
    drawnKw: () => (isOn ? (BUDGET * amps) / OWN_AMPS : 0),
  };
}

/** The car charges with all there is, then the van wants its part. */
async function start(reportsAmps: boolean) {
  const fixture = await createOutputFixture();
  ends.push(fixture.close);
  const [car, van] = [createSlowCharger(fixture, 'car', reportsAmps), createSlowCharger(fixture, 'van', reportsAmps)];
  for (const one of [car, van]) await one.begin();
  const charger = (name: string) => {
    const { goal: _, window: __, ...bare } = carLoad({ name, output: buildCharger(name), powerKw: BUDGET as Kilowatt });
    return { ...bare, failSafe: 'off', minOn: minutes(0), minOff: minutes(0) } as const;
  };
  const site = { ...buildSite(charger('car'), charger('van')), budget: BUDGET as Kilowatt };
  const outputs = new Map(site.loads.map((load) => [load.name, createTestOutput(load, fixture)]));
  const confirmed = createAwaitableList<string>();
  const loop = createControlLoop<ControlState>({
    ...{ site, step, clock: fixture.clock, outputs },
    beforeTick() {},
    onStep: ({ event }) => event.kind === 'confirmed' && confirmed.add(`${event.load} ${event.level}`),
    onceSaved: async () => {},
    onOutputFault() {},
  });
  ends.push(async () => {
    await Promise.all([...outputs.values()].map((output) => output.close()));
    await loop.stop();
  });
  loop.start(createInitialState(site, undefined, 'other-boot'), { levels: { car: 'off', van: 'off' }, amps: {} });
  const override = (level: 'on' | 'off') =>
    loop.feed({ kind: 'override', load: 'van', level, for: minutes(60), source: 'local' });
  await confirmed.whenCount(2);
  override('off');
  loop.feed({ kind: 'signal', view: buildView({ index: buildIndex(fixture.clock.now().wall, 10) }) });
  await confirmed.whenCount(3);
  loop.feed({ kind: 'clear', load: 'van' });
  await car.events.whenCount(3);
  expect(car.events.all).toEqual(['1 with 16', '2 with 16', '2 with 10']);
  return { fixture, car, van };
}

/** Long enough for whatever the agent sends without waiting for a charger or for time: its link answers in order. */
async function settle({ broker }: OutputFixture) {
  for (let round = 0; round < 20; round += 1) await broker.publish('marker', `${round}`, { retain: false });
}

it('starts the second charger once the first reports the lower current', async () => {
  const { fixture, car, van } = await start(true);
  await settle(fixture);
  expect(car.drawnKw() + van.drawnKw()).toBeLessThanOrEqual(BUDGET);
  await car.takeCurrent();
  await van.events.whenCount(2);
  await van.takeCurrent();
  expect(van.events.all).toEqual(['1 with 16', '2 with 6']);
  expect(car.drawnKw() + van.drawnKw()).toBe(BUDGET);
});

it('waits ten seconds for the current of a charger that reports none', async () => {
  const { fixture, car, van } = await start(false);
  await settle(fixture);
  await fixture.pass(seconds(9));
  await settle(fixture);
  expect(van.events.all).toEqual(['1 with 16']);
  await car.takeCurrent();
  await fixture.pass(seconds(2));
  await van.events.whenCount(2);
});
