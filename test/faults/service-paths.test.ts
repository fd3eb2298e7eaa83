/** Row 34 in full: each path alone answers wrong, in each way; a load is driven all the same wherever its region and a signal are to be had. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hours, minutes } from '../../src/domain/units.ts';
import type { PlanName } from '../../src/reference/accounts/plans.ts';
import type { FaultName, FaultRule } from '../../src/reference/faults/fault-rules.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualAgent } from './virtual-agent.ts';

const FAULTS: readonly (readonly [FaultName, (number | undefined)?])[] = [
  ['html-403', 0],
  ['429-bare'],
  ['503'],
  ['502-html'],
  ['captive-portal'],
  ['cut-body'],
  ['truncated-json'],
  ['hang'],
];
const PATHS = [
  '/v3/my-access',
  '/v3/maps',
  '/v3/region-from-loc',
  '/v3/signal-index',
  '/v3/forecast',
  '/v3/historical',
];
const PLANS: readonly PlanName[] = ['basic', 'analyst'];

/** What a device that is hours old has on its disk. */
const oldDisks = new Map<PlanName, MemoryDisk>();
beforeAll(async () => {
  for (const plan of PLANS) {
    const home = await createVirtualAgent({ seed: 5, plan });
    await home.start();
    await home.pass(hours(2));
    await home.close();
    oldDisks.set(plan, home.disk);
  }
}, 60_000);
afterAll(() => oldDisks.clear());

/** A new device whose plan has no map has its region from this path alone; nothing else is without a second way. */
const isWithoutWay = (path: string, plan: PlanName, isNew: boolean) =>
  path === '/v3/region-from-loc' && plan === 'basic' && isNew;

const rows = PATHS.flatMap((path) =>
  FAULTS.flatMap(([fault, value]) =>
    PLANS.flatMap((plan) => [true, false].map((isNew) => [path, fault, value, plan, isNew] as const)),
  ),
);

describe('34 one path alone', () => {
  it.each(rows)(
    '%s answers with %s (%s), plan %s, new device: %s',
    async (path, fault, value, plan, isNew) => {
      const disk = isNew ? createMemoryDisk() : oldDisks.get(plan)?.afterPowerCut(1);
      const home = await createVirtualAgent({ seed: 5, plan, ...(disk && { disk }) });
      try {
        const rule: FaultRule = { fault, path, ...(value === undefined ? {} : { value }) };
        home.setFaults(rule);
        if (fault === 'hang') Object.assign(home.deadlineOverride, { ms: 100, path });
        await home.start();
        await home.pass(minutes(5));
        const { view } = home.agent.snapshot();
        const basis = view?.horizon?.basis ?? view?.index?.basis ?? 'fail-safe';
        if (isWithoutWay(path, plan, isNew)) expect(basis).toBe('fail-safe');
        else expect(basis).not.toBe('fail-safe');
        const warnings = home.logEntries.filter(({ level }) => level === 'warn').map(({ message }) => message);
        expect(warnings.filter((text) => /user name|password|credentials/.test(text))).toEqual([]);
        if (basis === 'fail-safe') expect(warnings).not.toEqual([]);
      } finally {
        await home.close();
      }
    },
    30_000,
  );
});
