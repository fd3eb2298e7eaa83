/** What a start costs beside bare Node: CPU until the agent has decided, with nothing on disk and with what the last life left there. */

import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Child, cpu, gridtide, house, judge, median, node, startBroker, startService } from './idle/house.ts';

const ROUNDS = Number(process.argv[2] ?? 7);
const MOST = 4;
/** A decision for a reason, with its reason; the level of the start is none. */
const FIRST = /"why":/;
const BY_SIGNAL = /"why":"(?!boot|no-data|untrusted-clock)/;

/** CPU milliseconds when the line has come; the kernel counts in steps of 10, so medians of several rounds are compared. */
async function cpuAt(child: Child, line: RegExp): Promise<number> {
  await child.line(line);
  return cpu(child);
}

const broker = await startBroker();
const service = await startService();
const config = await house('start', { service: service.url, broker: broker.url });
const state = join(dirname(config), 'state');
const costs = { bare: [], first: [], cold: [], warm: [] } as Record<'bare' | 'first' | 'cold' | 'warm', number[]>;

for (let round = 0; round < ROUNDS; round++) {
  const bare = node('-e', 'console.log("here"); setInterval(() => {}, 60_000)');
  costs.bare.push(await cpuAt(bare, /here/));
  await bare.end();

  await rm(state, { recursive: true, force: true });
  for (const life of ['cold', 'warm'] as const) {
    const agent = gridtide('run', '--config', config);
    const first = await cpuAt(agent, FIRST);
    if (life === 'warm') costs.first.push(first);
    costs[life].push(await cpuAt(agent, BY_SIGNAL));
    await agent.end();
  }
}
await service.child.end();
await broker.child.end();

const bare = median(costs.bare);
const tell = (what: string, spent: readonly number[]) =>
  console.log(`${what}: ${median(spent)} ms of CPU, ${(median(spent) / bare).toFixed(1)} times bare Node (${bare} ms)`);
tell('first decision', costs.first);
tell('first decision by the signal, from what is on disk', costs.warm);
tell('first decision by the signal, with login, map and forecast fetched', costs.cold);
judge([[`first decision within ${MOST} times the CPU of bare Node`, median(costs.first) <= MOST * bare]]);
