/** A data model pinned in the configuration, over its phases (specification 3 and 9), seen on the whole agent. */

import { afterEach, expect, it } from 'vitest';
import { hours, minutes } from '../../src/domain/units.ts';
import { createVirtualAgent, type VirtualAgent } from './virtual-agent.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

/** On 2 March 2026 of the reference service's timetable. */
const rows = [
  { pinned: '2026-03-01', phase: 'preview', used: '2026-03-01', says: undefined },
  { pinned: '2025-03-01', phase: 'default', used: '2025-03-01', says: undefined },
  { pinned: '2024-03-01', phase: 'discontinued', used: '2025-03-01', says: /2024-03-01 has made no new data since/ },
  { pinned: '2021-09-09', phase: 'unknown', used: '2025-03-01', says: /knows no model 2021-09-09 here/ },
] as const;

async function pinnedTo(model: string): Promise<VirtualAgent> {
  const home = await createVirtualAgent({ seed: 3, service: `, model: "${model}"` });
  undo.push(() => home.close());
  await home.start();
  await home.pass(minutes(20));
  return home;
}

it.each(rows)('pinned to $pinned ($phase): $used is asked, and what is not used is said once', async (row) => {
  const home = await pinnedTo(row.pinned);
  expect(home.agent.snapshot().view?.horizon).toMatchObject({ basis: 'fresh-forecast', model: row.used });
  // The list of models is asked for again after a day, which the other rows see.
  await home.pass(hours(row.phase === 'preview' ? 2 : 26));
  const warnings = home.warningsAbout('service:model');
  expect(warnings).toHaveLength(row.says === undefined ? 0 : 1);
  if (row.says !== undefined) expect(warnings[0]).toMatch(row.says);
  expect(home.agent.snapshot().view?.horizon).toMatchObject({ basis: 'fresh-forecast', model: row.used });
  // A model that is refused says nothing of the region.
  expect(home.countRequests('/v3/maps') + home.countRequests('/v3/region-from-loc')).toBe(2);
});

it('a pinned model that is discontinued while the agent runs: noticed within a day, the default from then on', async () => {
  const home = await createVirtualAgent({ seed: 3, start: '2026-04-13T06:00:00Z', service: ', model: "2025-03-01"' });
  undo.push(() => home.close());
  await home.start();
  await home.pass(hours(2));
  expect(home.agent.snapshot().view?.horizon?.model).toBe('2025-03-01');
  await home.pass(hours(46));
  expect(home.warningsAbout('service:model')[0]).toMatch(/2025-03-01 has made no new data since 2026-04-/);
  expect(home.agent.snapshot().view?.horizon).toMatchObject({ basis: 'fresh-forecast', model: '2026-03-01' });
});
