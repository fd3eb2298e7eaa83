/** What an agent at rest costs beside bare Node: memory after two minutes, its peak; then a service day at high speed: requests, bytes, device writes. */

import { connect, createServer } from 'node:net';
import { formatCount } from '../../src/domain/units.ts';
import { createLoopImage } from '../../test/faults/loop-image.ts';
import {
  type BenchedNode,
  type Child,
  house,
  judge,
  type Memory,
  parseNodes,
  readCpu,
  readMemory,
  readSwitches,
  sleep,
  startBroker,
  startChargers,
  startNodeRed,
  startService,
} from './idle/house.ts';

const { nodes, positionals, nodeRed } = await parseNodes(process.argv.slice(2));
const IDLE_SECONDS = Number(positionals[0] ?? 120);
const SPEED = 1440;
/** Times bare Node, by the major version of Node. */
const MOST: Readonly<Record<string, { readonly idle: number; readonly peak: number }>> = {
  v20: { idle: 1.45, peak: 1.55 },
  v22: { idle: 1.45, peak: 1.55 },
  v24: { idle: 1.7, peak: 1.7 },
  v26: { idle: 1.7, peak: 1.7 },
};
const MOST_SWITCHES = 10;
const MOST_DEVICE_MIB = 1.8;
const REQUEST = /^(GET|POST) \S+ HTTP\/1\.1\r$/gm;
const DAY_START = '2026-03-02T20:00:00Z';

interface IdleCost {
  readonly name: string;
  readonly agent: Memory;
  readonly bare: Memory;
  readonly switchesPerMinute: number;
  readonly cpuPerMinute: number;
}

async function startIdle(node: BenchedNode, service: string, broker: string) {
  const config = await house(`idle-${node.name.replaceAll('.', '-')}`, { service, broker });
  const agent = node.agent(config);
  const bare = node.bare('-e', 'setInterval(() => {}, 60_000)');
  await agent.line(/region \w+ \(/);
  return { node, agent, bare };
}

/** Over the second half of the wait. */
async function countActivity(agent: Child, seconds: number) {
  const [switches, cpu] = [readSwitches(agent), readCpu(agent)];
  await sleep(seconds * 1_000);
  const perMinute = 60 / seconds;
  return {
    switchesPerMinute: (readSwitches(agent) - switches) * perMinute,
    cpuPerMinute: (readCpu(agent) - cpu) * perMinute,
  };
}

/** Every Node at the same time, so that all meet the same machine. */
async function measureIdle(): Promise<readonly IdleCost[]> {
  const broker = await startBroker();
  const chargers = await startChargers(broker.url);
  const service = await startService();
  const started = [];
  for (const node of nodes) started.push(await startIdle(node, service.url, broker.url));
  const peer = nodeRed === undefined ? undefined : await startNodeRed(nodeRed);
  await sleep(IDLE_SECONDS * 500);
  const costs = await Promise.all(
    started.map(async ({ node, agent, bare }) => {
      const activity = await countActivity(agent, IDLE_SECONDS / 2);
      return { name: node.name, agent: readMemory(agent), bare: readMemory(bare), ...activity };
    }),
  );
  if (peer !== undefined) tellMemory('node-red', readMemory(peer));
  await chargers.close();
  const children = [...started.flatMap(({ agent, bare }) => [agent, bare]), service.child, broker.child];
  for (const child of peer === undefined ? children : [...children, peer]) await child.end();
  return costs;
}

/** Counts what passes between agent and service, both ways, headers included. */
async function meter(url: string) {
  let [bytes, requests] = [0, 0];
  const server = createServer((near) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (from === near) requests += chunk.toString('latin1').match(REQUEST)?.length ?? 0;
      });
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, counts: () => ({ bytes, requests }), close: () => server.close() };
}

/** The image's own counters where an image can be mounted; undefined elsewhere. */
async function cardOf() {
  try {
    const image = await createLoopImage(64);
    await image.mount();
    return image;
  } catch (error) {
    console.log(`device bytes are not measured: they want root, ext4 and a loop device (${error})`);
    return undefined;
  }
}

async function dayCost(firstNode: BenchedNode) {
  const fast = ['--now', DAY_START, '--speed', String(SPEED)];
  const service = await startService(...fast, '--seed', '7');
  const wire = await meter(service.url);
  const card = await cardOf();
  const file = await house('day', { service: wire.url, ...(card === undefined ? {} : { state: card.directory }) });
  const agent = firstNode.agent(file, ...fast);
  await agent.line(/region \w+ \(/);
  // The first day brings the map; the second is a day like any other.
  const day = () => sleep(86_400_000 / SPEED);
  const written = () => card?.bytesWritten() ?? Number.NaN;
  await day();
  const first = { ...wire.counts(), card: written(), lines: agent.lines.length };
  await day();
  const both = { ...wire.counts(), card: written(), lines: agent.lines.length };
  for (const child of [agent, service.child]) await child.end();
  wire.close();
  await card?.remove();
  return { first, both };
}

type Counts = Awaited<ReturnType<typeof dayCost>>['both'];
const difference = (a: Counts, b: Counts): Counts => ({
  bytes: b.bytes - a.bytes,
  requests: b.requests - a.requests,
  card: b.card - a.card,
  lines: b.lines - a.lines,
});

const MIB = 1_048_576;
const tellMemory = (name: string, { resident, proportional, own, peak }: Memory) =>
  console.log(
    `${name}: ${resident.toFixed(1)} MiB resident, ${proportional.toFixed(1)} by its share, ${own.toFixed(1)} its own, ${peak.toFixed(1)} at most`,
  );

const costs = await measureIdle();
const bars: (readonly [string, boolean])[] = [];
for (const { name, agent, bare, switchesPerMinute, cpuPerMinute } of costs) {
  tellMemory(`${name}, bare`, bare);
  tellMemory(`${name}, agent after ${IDLE_SECONDS} s`, agent);
  const [idle, peak] = [agent.resident / bare.resident, agent.peak / bare.peak];
  console.log(
    `${name}: ${idle.toFixed(2)} times bare Node at rest (${(agent.resident - bare.resident).toFixed(1)} MiB more), ${peak.toFixed(2)} at most, ${switchesPerMinute.toFixed(1)} context switches and ${cpuPerMinute.toFixed(1)} ms of processor time a minute`,
  );
  const most = MOST[name.split('.')[0] ?? ''];
  if (most !== undefined) {
    bars.push([`${name}: at rest at most ${most.idle} times bare Node`, idle <= most.idle]);
    bars.push([`${name}: peak at most ${most.peak} times`, peak <= most.peak]);
  }
  bars.push([`${name}: at most ${MOST_SWITCHES} context switches a minute`, switchesPerMinute <= MOST_SWITCHES]);
}

const [firstNode] = nodes;
if (firstNode === undefined) throw new Error('no Node to measure');
const { first, both } = await dayCost(firstNode);
const tell = (name: string, { bytes, requests, card, lines }: Counts) =>
  console.log(
    `${name}: ${formatCount(requests, 'request')}, ${(bytes / 1024).toFixed(0)} KiB over the wire, ${(card / MIB).toFixed(2)} MiB to the device, ${formatCount(lines, 'log line')}`,
  );
const second = difference(first, both);
tell('first service day, with the map', first);
tell('second service day', second);
judge([
  ...bars,
  [
    `at most ${MOST_DEVICE_MIB} MiB a day written to the device`,
    Number.isNaN(second.card) || second.card <= MOST_DEVICE_MIB * MIB,
  ],
]);
