/** What a start costs beside bare Node: processor time until the agent has decided, with nothing on disk and with what the last life left there. */

import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type BenchedNode,
  type Child,
  findRuntimeDirectory,
  house,
  judge,
  median,
  parseNodes,
  readCpu,
  startBroker,
  startService,
} from './idle/house.ts';

/** Times bare Node 20, the oldest that is supported; later ones start themselves in a third of the time, and are told only. */
const MOST_FIRST = 1.9;
const MOST_BY_SIGNAL = 2.5;
/** A decision for a reason, with its reason; the level of the start is none. */
const FIRST = /"why":/;
const BY_SIGNAL = /"why":"(?!boot|no-data|untrusted-clock)/;
const CODE_CACHE = /code cache .* is (not )?used/;

/** Milliseconds of processor time when the line has come. */
async function cpuAt(child: Child, line: RegExp): Promise<number> {
  await child.line(line);
  return readCpu(child);
}

interface Round {
  readonly bare: number;
  readonly first: number;
  readonly warm: number;
  readonly cold: number;
}

const { nodes, positionals } = await parseNodes(process.argv.slice(2));
const rounds = Number(positionals[0] ?? 15);
const broker = await startBroker();
const service = await startService();
const config = await house('start', { service: service.url, broker: broker.url });
const talkative = await house('talkative', { service: service.url, logLevel: 'debug' });

async function measureRound(node: BenchedNode): Promise<Round> {
  const bare = node.bare('-e', 'console.log("here"); setInterval(() => {}, 60_000)');
  const bareCpu = await cpuAt(bare, /here/);
  await bare.end();
  for (const left of [join(dirname(config), 'state'), findRuntimeDirectory(config)])
    await rm(left, { recursive: true, force: true });
  const fresh = node.agent(config);
  const cold = await cpuAt(fresh, BY_SIGNAL);
  await fresh.end();
  const agent = node.agent(config);
  const first = await cpuAt(agent, FIRST);
  const warm = await cpuAt(agent, BY_SIGNAL);
  await agent.end();
  return { bare: bareCpu, first, warm, cold };
}

async function tellCodeCache(node: BenchedNode): Promise<void> {
  const agent = node.agent(talkative);
  await agent.line(FIRST);
  const line = agent.lines.find((one) => CODE_CACHE.test(one));
  console.log(`${node.name}: ${line === undefined ? 'there is no code cache' : JSON.parse(line).msg}`);
  await agent.end();
}

const results = new Map<BenchedNode, Round[]>(nodes.map((node) => [node, []]));
// Each Node in turn, so that a busy minute of the machine meets all of them.
for (let round = 0; round < rounds; round++)
  for (const [node, measured] of results) measured.push(await measureRound(node));
for (const node of nodes) await tellCodeCache(node);
await service.child.end();
await broker.child.end();

const least = (values: readonly number[]) => Math.min(...values);

/** The ratio of the least of all rounds: what else runs on the machine only ever adds processor time, to bare Node as to the agent. */
function tell(name: string, words: string, measured: readonly Round[], of: (round: Round) => number): number {
  const [spent, bare] = [measured.map(of), measured.map((round) => round.bare)];
  const ratio = least(spent) / least(bare);
  const ratios = measured.map((round) => of(round) / round.bare).sort((a, b) => a - b);
  console.log(
    `${name}, ${words}: ${ratio.toFixed(2)} times bare Node (${least(spent).toFixed(0)} of ${least(bare).toFixed(0)} ms of processor time, the least of ${measured.length} rounds; medians ${median(spent).toFixed(0)} of ${median(bare).toFixed(0)} ms; within one round ${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)} times)`,
  );
  return ratio;
}

const bars = [...results].flatMap(([{ name }, measured]) => {
  const first = tell(name, 'first decision', measured, (round) => round.first);
  const warm = tell(name, 'by the signal, from what is on disk', measured, (round) => round.warm);
  tell(name, 'by the signal, with login, map and forecast fetched', measured, (round) => round.cold);
  if (!name.startsWith('v20.')) return [];
  return [
    [`${name}: first decision within ${MOST_FIRST} times bare Node`, first <= MOST_FIRST] as const,
    [`${name}: by the signal from disk within ${MOST_BY_SIGNAL} times`, warm <= MOST_BY_SIGNAL] as const,
  ];
});
for (const [{ name }, measured] of results)
  console.log(`${name}: ${measured.length} starts without state, ${measured.length} decisions by the signal`);
judge(bars);
