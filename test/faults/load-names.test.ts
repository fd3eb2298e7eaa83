/** Loads and a device called as parts of every object: each table keyed by their names holds what it is given, and nothing else. */

import { expect, it } from 'vitest';
import type { Level } from '../../src/domain/load-types.ts';
import { days, hours } from '../../src/domain/units.ts';
import { listLedgerFiles, readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import { createVirtualAgent } from './virtual-agent.ts';

const NAMES = ['constructor', '__proto__', 'valueof', 'tank'];
const formatLoad = (name: string, i: number) => `
  ${name}: {type: ev, powerKw: ${i + 1}, failSafe: off, initialLevel: off, goal: {need: 2h, by: "07:00", from: "18:00"}, output: {kind: relay, pin: ${17 + i}}}`;

const DEVICE = '__proto__';

it('a day of jobs, a restart, and their ledger', async () => {
  const home = await createVirtualAgent({
    seed: 5,
    device: DEVICE,
    loads: `loads:${NAMES.map(formatLoad).join('')}\n`,
  });
  const listDecisions = () => home.agent.snapshot().decisions.map(({ load }) => load);
  await home.start();
  expect(listDecisions()).toEqual(NAMES);
  await home.pass(hours(9));
  await home.restart();
  await home.pass(days(1));
  expect(listDecisions()).toEqual(NAMES);
  expect(home.health()).toMatchObject({ ok: true, problem: '' });
  const topics = [...home.retained.keys()].filter((topic) => topic.startsWith(`gridtide/${DEVICE}/loads/`));
  for (const name of NAMES) {
    expect(topics).toContain(`gridtide/${DEVICE}/loads/${name}`);
    const { level } = JSON.parse(home.retained.get(`gridtide/${DEVICE}/loads/${name}`) ?? '{}') as { level?: Level };
    expect(level).toMatch(/^(on|off)$/);
  }
  const totals = JSON.parse(home.retained.get(`gridtide/${DEVICE}/totals`) ?? '{}') as { loads?: object };
  expect(Object.keys(totals.loads ?? {})).toEqual(NAMES);
  await home.close();

  const jobs: string[] = [];
  for await (const { entries } of readLedgerMonths(
    home.disk,
    listLedgerFiles(await home.disk.list(), home.clock.now().wall),
  ))
    for (const entry of entries) if (entry.kind === 'job') jobs.push(entry.load);
  // One job each night, frozen once: a restart does not count it anew.
  expect(jobs.sort()).toEqual([...NAMES, ...NAMES].sort());
  expect(Object.hasOwn(Object.prototype, 'level')).toBe(false);
});
