/**
 * Row 34 in full: each path alone answers wrong, in each way, for a plan with a map and one without; a load is driven all the same
 * wherever its region and a signal are to be had, and the health document says what is wrong.
 */

import { afterAll, describe, expect, it } from 'vitest';
import { hours, minutes } from '../../src/domain/units.ts';
import { type PlanName, planNames } from '../../src/reference/accounts/plans.ts';
import type { FaultName, FaultRule } from '../../src/reference/faults/fault-rules.ts';
import { type ProfileName, profileNames } from '../../src/reference/http/profile.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualAgent } from './virtual-agent.ts';

type FaultOnPath = readonly [FaultName, (number | string)?];
const FAULTS: readonly FaultOnPath[] = [
  ['401'],
  ['html-403', 0],
  ['429-bare'],
  ['503'],
  ['502-html'],
  ['captive-portal'],
  ['cut-body'],
  ['truncated-json'],
  ['empty'],
  ['empty', '{}'],
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

interface Row {
  readonly path: string;
  readonly fault: FaultName;
  readonly value?: number | string;
  readonly plan: PlanName;
  readonly profile: ProfileName;
  readonly isNew: boolean;
}

const buildRows = ([fault, value]: FaultOnPath, path: string): Row[] =>
  planNames.flatMap((plan) =>
    profileNames.flatMap((profile) =>
      [true, false].map((isNew) => ({ path, fault, ...(value === undefined ? {} : { value }), plan, profile, isNew })),
    ),
  );

const hasMap = (plan: PlanName) => plan === 'analyst' || plan === 'pro';

/**
 * Every path with every fault, for one plan with a map and one without; plan, profile and age take turns so that each combination
 * of them meets each path. With GRIDTIDE_ROWS=all the whole product.
 */
const isChosen = ({ plan, profile, isNew }: Row, turn: number): boolean => {
  if (process.env.GRIDTIDE_ROWS === 'all') return true;
  const at = planNames.indexOf(plan);
  const wanted = (turn + (hasMap(plan) ? 3 : 0)) % 8;
  return wanted >> 2 === at % 2 && profileNames.indexOf(profile) === (wanted >> 1) % 2 && isNew === (wanted % 2 === 0);
};
const rows = PATHS.flatMap((path, p) =>
  FAULTS.flatMap((fault, f) => buildRows(fault, path).filter((row) => isChosen(row, p + f))),
);

const CUTS: readonly FaultName[] = ['cut-body', 'truncated-json'];
/** A new device whose plan has no map has its region from this path alone; nothing else is without a second way. */
const isWithoutWay = ({ path, plan, isNew }: Row) => path === '/v3/region-from-loc' && !hasMap(plan) && isNew;

/** The part of the health that must name the fault; undefined where nothing that the device needs is missing. */
function findAffectedPart(row: Row): 'map' | 'service' | undefined {
  const { path, fault, plan, isNew } = row;
  // A page with 403 means the plan, and of a plan the account's own text tells.
  const isGate = fault === 'html-403';
  switch (path) {
    case '/v3/maps':
      // A cut page of a gate is still one.
      return isNew && !isGate && (hasMap(plan) || !CUTS.includes(fault)) ? 'map' : undefined;
    case '/v3/region-from-loc':
      return isWithoutWay(row) ? 'map' : undefined;
    case '/v3/signal-index':
      return 'service';
    case '/v3/forecast':
      return isGate ? undefined : 'service';
    default:
      return undefined;
  }
}

/** What a device that is hours old has on its disk. */
const oldDisks = new Map<string, MemoryDisk>();
afterAll(() => oldDisks.clear());

async function findDisk({ isNew, plan, profile }: Row): Promise<MemoryDisk> {
  if (isNew) return createMemoryDisk();
  const key = `${plan} ${profile}`;
  const known = oldDisks.get(key);
  if (known !== undefined) return known.afterPowerCut(1);
  const home = await createVirtualAgent({ seed: 5, plan, profile });
  await home.start();
  await home.pass(hours(2));
  await home.close();
  oldDisks.set(key, home.disk);
  return home.disk.afterPowerCut(1);
}

describe('34 one path alone', () => {
  it.each(rows)('$path answers with $fault $value, plan $plan, $profile, new device: $isNew', async (row) => {
    const { path, fault, value, plan, profile } = row;
    const home = await createVirtualAgent({ seed: 5, plan, profile, disk: await findDisk(row) });
    try {
      const rule: FaultRule = { fault, path, ...(value === undefined ? {} : { value }) };
      home.setFaults(rule);
      if (fault === 'hang') Object.assign(home.deadlineOverride, { ms: 100, path });
      await home.start();
      await home.pass(minutes(5));
      const { view } = home.agent.snapshot();
      const basis = view?.horizon?.basis ?? view?.index?.basis ?? 'fail-safe';
      if (isWithoutWay(row)) expect(basis).toBe('fail-safe');
      else expect(basis).not.toBe('fail-safe');

      const health = home.health();
      expect(health.basis).toBe(basis);
      const part = findAffectedPart(row);
      if (part === 'map') expect(health.problem).toMatch(/^map: .*(CAISO_NORTH stays in use|fail-safe level)$/);
      if (part === 'service')
        expect(health.problem).toMatch(path === '/v3/forecast' ? /no forecast: / : /no live index: /);
      // One path's 429 holds back the others for a while, and that is said of them.
      if (part === undefined && fault !== '429-bare') expect(health.problem).toBe('');
      if (path === '/v3/forecast' && fault === 'html-403') expect(health.plan).toContain('not included: the forecast');
      expect(health.ok).toBe(health.problem === '');

      const warnings = home.logEntries.filter(({ level }) => level === 'warn').map(({ message }) => message);
      expect([...warnings, health.problem].filter((text) => /user name|password|credentials/.test(text))).toEqual([]);
      expect(home.requests.filter((request) => request.path === '/login').length).toBeLessThanOrEqual(5);
    } finally {
      await home.close();
    }
  });
});

it.each(['/v3/maps', '/v3/forecast'])(
  '34 %s alone refuses every token for a day: at most 60 logins, and the others go on',
  async (path) => {
    const home = await createVirtualAgent({ seed: 5, plan: 'analyst' });
    home.setFaults({ fault: '401', path });
    await home.start();
    await home.pass(hours(24));
    expect(home.countRequests('/login')).toBeLessThanOrEqual(60);
    const { basis, problem } = home.health();
    expect(basis).toBe(path === '/v3/maps' ? 'fresh-forecast' : 'live-index');
    expect(problem).toContain(`${path} alone refuses a token that other paths accept`);
    await home.close();
  },
);
