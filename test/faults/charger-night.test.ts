/** The night on which a car charged in the evening peak while the agent believed it off: the whole agent, a scripted go-e, virtual time. */

import { expect, it } from 'vitest';
import { createAgent } from '../../src/agent/agent.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { addDuration, hours, type Instant, inHours, minutes } from '../../src/domain/units.ts';
import { listLedgerFiles, readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { createDemoWorld } from '../../src/simulation/demo-world.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import { CHARGER } from './scripted-charger.ts';

const OWNER = { username: 'owner', password: 'clean-grid-1' };
/** 18:00 in Los Angeles. */
const EVENING = Date.parse('2026-03-03T02:00:00Z') as Instant;
const POWER_KW = 7.2;

/** It charges in neutral, and falls to neutral when a car is plugged in. */
async function simulateGoe(broker: EmbeddedBroker, clock: VirtualClock) {
  let frc = '0';
  let isPlugged = false;
  let since: Instant | undefined;
  const sessions: { readonly from: Instant; readonly to: Instant }[] = [];
  const setState = async (next: { readonly frc: string; readonly isPlugged: boolean }) => {
    ({ frc, isPlugged } = next);
    const now = clock.now().wall;
    const isCharging = isPlugged && frc !== '1';
    if (since !== undefined && !isCharging && now > since) sessions.push({ from: since, to: now });
    since = isCharging ? (since ?? now) : undefined;
    await broker.publish(`${CHARGER}/frc`, frc, { retain: true });
  };
  broker.onPublish(async (topic, payload) => {
    if (topic === `${CHARGER}/frc/set`) await setState({ frc: payload, isPlugged });
  });
  await setState({ frc: '0', isPlugged: false });
  return {
    sessions,
    /** Resolves when the agent has answered the fall to neutral; the clock stands still meanwhile. */
    async plugIn() {
      await setState({ frc: '0', isPlugged: true });
      while (frc === '0') await new Promise((turn) => setImmediate(turn));
    },
  };
}

const startNight = async () => {
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
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${url}", usernameFile: username, passwordFile: password}
mqtt: {url: "${broker.url}"}
loads:
  car: {type: ev, powerKw: ${POWER_KW}, goal: {need: 4h, by: "07:00"}, failSafe: off, initialLevel: off, output: {kind: mqtt, preset: go-e, topic: ${CHARGER}}}
`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const charger = await simulateGoe(broker, clock);
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
  return { clock, charger, documents, problems, agent, world };
};

it('the car charges at the hours of the plan and no other, and what is claimed is what it drew', {
  timeout: 240_000,
}, async () => {
  const { clock, charger, documents, problems, agent, world } = await startNight();
  await clock.runUntil(addDuration(EVENING, minutes(19)));
  await charger.plugIn();
  await clock.runUntil(addDuration(EVENING, hours(14)));
  await clock.runUntilDone(agent.stop());

  const charged = charger.sessions.reduce((sum, { from, to }) => sum + inHours((to - from) as never), 0);
  expect(charged).toBeCloseTo(4, 1);
  expect(problems.filter((problem) => problem !== '')).toEqual([]);
  // Each session lies within what was decided.
  const levelAt = (at: Instant) => documents.findLast(({ time }) => Date.parse(String(time)) <= at)?.level;
  for (const { from, to } of charger.sessions) {
    expect(levelAt(addDuration(from, minutes(1)))).toBe('on');
    expect(levelAt(addDuration(to, minutes(-1)))).toBe('on');
  }
  expect(documents.some(({ told, confirmed }) => told === 'off' && confirmed === 'other')).toBe(true);

  let claimed = 0;
  for await (const { entries } of readLedgerMonths(world.disk, listLedgerFiles(await world.disk.list())))
    for (const entry of entries) if (entry.kind === 'slot') claimed += entry.energy;
  expect(claimed / (charged * POWER_KW)).toBeCloseTo(1, 2);
});
