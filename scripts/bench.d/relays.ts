/** What relays cost at rest: agents whose GPIO lines the program gridtide-lines holds, beside the same house with dry runs. */

import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildFakeLineProgram, createFakeBoard } from '../../test/platform/fake-line-program.ts';
import { type Child, house, judge, parseNodes, readMemory, sleep, startService } from './idle/house.ts';

const PAIRS = 3;
const MOST_MIB = 4;
const { nodes, positionals } = await parseNodes(process.argv.slice(2));
const IDLE_SECONDS = Number(positionals[0] ?? 60);
const [node] = nodes;
const fake = buildFakeLineProgram(process.env.GRIDTIDE_ROOT);
if (node === undefined || fake === undefined) throw new Error('there is no Node, or no C compiler');
// It is linked to libc; the one that is installed is not, and takes less.
const program = join(node.dist, `gridtide-lines-${process.arch}`);
copyFileSync(fake, program);

/** Those started by agents of this bench: they go on without them. */
const findHolders = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')[0] === program ? [Number(name)] : [];
      } catch {
        return [];
      }
    });

const service = await startService();
const boards: { remove(): void }[] = [];
const start = async (name: string, hasRelays: boolean): Promise<Child> => {
  boards.push(createFakeBoard(fake));
  const agent = node.agent(await house(name, { service: service.url, hasRelays }));
  await agent.line(/region \w+ \(/);
  return agent;
};
const dry: Child[] = [];
const wired: Child[] = [];
for (let pair = 0; pair < PAIRS; pair += 1) {
  dry.push(await start(`dry-${pair}`, false));
  wired.push(await start(`wired-${pair}`, true));
}
await sleep(IDLE_SECONDS * 1_000);

const holders = findHolders();
const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
const measure = (agents: readonly Pick<Child, 'pid'>[]) => mean(agents.map((agent) => readMemory(agent).proportional));
const [without, agent, holder] = [measure(dry), measure(wired), measure(holders.map((pid) => ({ pid })))];
console.log(
  `mean of ${PAIRS} by its share: ${without.toFixed(1)} MiB without relays, ${agent.toFixed(1)} with them and ${holder.toFixed(1)} of gridtide-lines`,
);
for (const child of [...dry, ...wired, service.child]) await child.end();
for (const pid of holders) process.kill(pid, 'SIGKILL');
for (const board of boards) board.remove();
judge([
  [`each agent with relays has a program that holds its lines`, holders.length === PAIRS],
  [`relays cost at most ${MOST_MIB} MiB`, agent + holder - without <= MOST_MIB],
]);
