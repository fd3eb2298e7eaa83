/** What an agent at rest costs beside bare Node: memory after two minutes, its peak; then a service day at high speed: requests, bytes, device writes. */

import { connect, createServer } from 'node:net';
import { formatCount } from '../../src/domain/units.ts';
import { createLoopImage } from '../../test/faults/loop-image.ts';
import { gridtide, house, judge, node, readMemory, sleep, startBroker, startService } from './idle/house.ts';

const IDLE_SECONDS = Number(process.argv[2] ?? 120);
const SPEED = 1440;
const MOST_IDLE = 1.7;
const MOST_PEAK = 2;
const REQUEST = /^(GET|POST) \S+ HTTP\/1\.1\r$/gm;
const DAY_START = '2026-03-02T20:00:00Z';

async function idleCost() {
  const broker = await startBroker();
  const service = await startService();
  const agent = gridtide('run', '--config', await house('idle', { service: service.url, broker: broker.url }));
  const bare = node('-e', 'setInterval(() => {}, 60_000)');
  await agent.line(/region \w+ \(/);
  await sleep(IDLE_SECONDS * 1_000);
  const [a, b] = [readMemory(agent), readMemory(bare)];
  const cost = { idle: a.resident, most: a.peak, bareIdle: b.resident, barePeak: b.peak };
  for (const child of [agent, bare, service.child, broker.child]) await child.end();
  return cost;
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

async function dayCost() {
  const fast = ['--now', DAY_START, '--speed', String(SPEED)];
  const service = await startService(...fast, '--seed', '7');
  const wire = await meter(service.url);
  const card = await cardOf();
  const file = await house('day', { service: wire.url, ...(card === undefined ? {} : { state: card.directory }) });
  const agent = gridtide('run', '--config', file, ...fast);
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
const ratio = (a: number, b: number) =>
  `${(a / b).toFixed(2)} times bare Node (${a.toFixed(1)} of ${b.toFixed(1)} MiB)`;

const { idle, most, bareIdle, barePeak } = await idleCost();
console.log(`resident after ${IDLE_SECONDS} s: ${ratio(idle, bareIdle)}`);
console.log(`resident at most: ${ratio(most, barePeak)}`);

const { first, both } = await dayCost();
const tell = (name: string, { bytes, requests, card, lines }: Counts) =>
  console.log(
    `${name}: ${formatCount(requests, 'request')}, ${(bytes / 1024).toFixed(0)} KiB over the wire, ${(card / MIB).toFixed(2)} MiB to the device, ${formatCount(lines, 'log line')}`,
  );
const second = difference(first, both);
tell('first service day, with the map', first);
tell('second service day', second);

judge([
  [`idle memory at most ${MOST_IDLE} times bare Node`, idle <= MOST_IDLE * bareIdle],
  [`peak memory at most ${MOST_PEAK} times bare Node`, most <= MOST_PEAK * barePeak],
  [`at most 4 MiB a day written to the device`, Number.isNaN(second.card) || second.card <= 4 * MIB],
]);
