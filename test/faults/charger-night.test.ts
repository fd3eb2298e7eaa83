/** The night on which a car charged in the evening peak while the agent believed it off: the whole agent, a go-e charger, virtual time. */

import { expect, it } from 'vitest';
import { createAgent } from '../../src/agent/agent.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { addDuration, hours, type Instant, inHours, minutes } from '../../src/domain/units.ts';
import { listLedgerFiles, readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import { computeTotalsByMonth } from '../../src/ledger/load-totals.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { createDemoWorld } from '../../src/simulation/demo-world.ts';
import { startEmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import { CHARGER } from './scripted-charger.ts';
import { type Session, simulateGoe } from './simulated-goe.ts';

const OWNER = { username: 'owner', password: 'clean-grid-1' };
const TIMEZONE = 'America/Los_Angeles';
/** 18:00 in Los Angeles. */
const EVENING = Date.parse('2026-03-03T02:00:00Z') as Instant;
/** By the configuration; the car draws less. */
const CONFIGURED_KW = 7.2;
const DRAWN_KW = 6.8;

const startNight = async ({ armedBy = 'schedule', roomKwh = 100 } = {}) => {
  const clock = createVirtualClock(EVENING);
  const reference = await createReferenceService({
    seed: 7,
    clock: () => clock.now().wall,
    accounts: [{ ...OWNER, plan: 'pro' }],
  });
  afterTest(() => reference.close());
  const { url } = await reference.listen();
  const broker = await startEmbeddedBroker();
  afterTest(() => broker.close());
  const read = parseConfig(`
device: garage
place: {latitude: 38.5, longitude: -122.0, timezone: ${TIMEZONE}}
service: {url: "${url}", usernameFile: username, passwordFile: password}
mqtt: {url: "${broker.url}"}
loads:
  car:
    type: ev
    powerKw: ${CONFIGURED_KW}
    goal: {need: 4h, by: "07:00", armedBy: ${armedBy}}
    failSafe: off
    initialLevel: off
    output: {kind: mqtt, preset: go-e, topic: ${CHARGER}}
`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const charger = await simulateGoe({ broker, clock, powerKw: DRAWN_KW, roomKwh });
  const documents: Record<string, unknown>[] = [];
  const problems: string[] = [];
  broker.onPublish(async (topic, payload) => {
    if (topic === 'gridtide/garage/loads/car') documents.push(JSON.parse(payload));
    if (topic === 'gridtide/garage/health') problems.push(JSON.parse(payload).parts.outputs.problem ?? '');
  });
  const secrets = { read: async (path: string) => (path === 'username' ? OWNER.username : OWNER.password) };
  const world = createDemoWorld({ clock, seed: 7, secrets, log: () => {} });
  await import('../../src/region/import-map.ts');
  const agent = createAgent({ config: read.config, world, version: 'test' });
  await clock.runUntilDone(agent.start());

  const readTotal = async () => {
    const months = readLedgerMonths(world.disk, listLedgerFiles(await world.disk.list()));
    const { totals } = await computeTotalsByMonth(months, { timezone: TIMEZONE, by: 'all', now: clock.now().wall });
    return totals[0];
  };
  return {
    charger,
    documents,
    problems,
    readTotal,
    runUntil: (hour: number) => clock.runUntil(addDuration(EVENING, hours(hour - 18))),
    stop: () => clock.runUntilDone(agent.stop()),
    reasons: () => [...new Set(documents.map(({ why }) => why))],
  };
};

type Night = Awaited<ReturnType<typeof startNight>>;

const lengthOf = (sessions: readonly Session[]) =>
  sessions.reduce((sum, { from, to }) => sum + inHours((to - from) as never), 0);

/** What `report` says is what the meter counted, and says so. */
async function expectTruth({ charger, readTotal, problems }: Night): Promise<void> {
  const total = await readTotal();
  expect((total?.energy ?? 0) / charger.energy()).toBeCloseTo(1, 2);
  expect(total?.metered).toBeCloseTo(total?.energy ?? 0, 5);
  expect(problems.filter((problem) => problem !== '')).toEqual([]);
}

const limit = { timeout: 300_000 };

it(
  'the car charges at the hours of the plan and no other, and what is claimed is what its meter counted',
  limit,
  async () => {
    const night = await startNight();
    const { charger, documents } = night;
    await night.runUntil(18 + 19 / 60);
    await charger.plugIn();
    await night.runUntil(32);
    await night.stop();

    expect(lengthOf(charger.sessions)).toBeCloseTo(4, 1);
    // Each session lies within what was decided.
    const levelAt = (at: Instant) => documents.findLast(({ time }) => Date.parse(String(time)) <= at)?.level;
    for (const { from, to } of charger.sessions) {
      expect(levelAt(addDuration(from, minutes(1)))).toBe('on');
      expect(levelAt(addDuration(to, minutes(-1)))).toBe('on');
    }
    expect(documents.some(({ told, confirmed }) => told === 'off' && confirmed === 'other')).toBe(true);
    await expectTruth(night);
  },
);

it('a car that is full ends its job, and only then: a charger shows "complete" after each pause', limit, async () => {
  const night = await startNight({ roomKwh: 10 });
  await night.runUntil(19);
  await night.charger.plugIn();
  await night.runUntil(32);
  await night.stop();

  expect(night.charger.energy()).toBeCloseTo(10, 1);
  expect(night.reasons()).toContain('vehicle-full');
  expect(night.documents.findLast(({ why }) => why === 'vehicle-full')).toMatchObject({ level: 'off' });
  await expectTruth(night);
});

it('while the car is away nothing runs and nothing is claimed; back in time it gets the rest', limit, async () => {
  const night = await startNight();
  const { charger } = night;
  await night.runUntil(20);
  await charger.plugIn();
  await night.runUntil(24 + 3);
  await charger.unplug();
  const before = charger.energy();
  await night.runUntil(24 + 3.5);
  expect(night.documents.at(-1)).toMatchObject({ why: 'vehicle-away', vehicle: 'away' });
  expect((await night.readTotal())?.energy ?? 0).toBeLessThanOrEqual(before + 0.01);
  await night.runUntil(24 + 4);
  await charger.plugIn();
  await night.runUntil(24 + 7.5);
  await night.stop();

  const wasAway = ({ from, to }: Session) => to > EVENING + hours(9) && from < EVENING + hours(10);
  expect(charger.sessions.filter(wasAway)).toEqual([]);
  expect(lengthOf(charger.sessions)).toBeCloseTo(Math.min(4, before / DRAWN_KW + 3), 1);
  await expectTruth(night);
});

it('armed by its plug: a car gets its energy by the next deadline, an empty place nothing', limit, async () => {
  const night = await startNight({ armedBy: 'plug' });
  await night.runUntil(20);
  expect(night.documents.at(-1)).toMatchObject({ why: 'vehicle-away', job: null });
  await night.charger.plugIn();
  await night.runUntil(20.5);
  expect(night.documents.at(-1)?.job).toMatchObject({ needMinutes: 240 });
  await night.runUntil(32);
  await night.charger.unplug();
  await night.runUntil(33);
  expect(night.documents.at(-1)).toMatchObject({ why: 'vehicle-away', job: null });
  await night.stop();
  expect(lengthOf(night.charger.sessions)).toBeCloseTo(4, 1);
  await expectTruth(night);
});
