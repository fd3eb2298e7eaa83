/**
 * An attack on `gridtide page`: 10,000 hostile requests beside clients that never finish one. Measures the loop lag of the agent with
 * the page attacked and, for the work that the attackers themselves take from the machine, with a bare server attacked; and the
 * memory of the page over bare Node.
 */

import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { sendHostileRequests } from '../../test/page/hostile-requests.ts';
import {
  type Child,
  house,
  judge,
  median,
  node,
  readMemory,
  readUnitFlags,
  sleep,
  start,
  startBroker,
  startService,
} from './idle/house.ts';

const REQUESTS = Number(process.argv[2] ?? 10_000);
const ROUNDS = 5;
const SLOW_CLIENTS = 100;
const CALM_SECONDS = 10;
const MOST_MEGABYTES = 40;
/** Between two equal rounds on a busy machine it differs as much. */
const MOST_LAG_RATIO = 1.25;
const MAIN = join(process.env.GRIDTIDE_DIST ?? 'dist', 'main.js');
const LAG = join(process.env.GRIDTIDE_BENCH ?? '', 'page', 'lag.child.js');
const BARE_SERVER = `const server = require('node:http').createServer((asked, answer) => {
  asked.resume();
  answer.writeHead(404).end();
}).listen(0, '127.0.0.1', () => console.log('port', server.address().port));`;

interface Lag {
  readonly mean: number;
  readonly p99: number;
}

/** Each call gives the lag since the last one. */
function createLagReader(agent: Child): () => Promise<Lag> {
  let count = 0;
  return async () => {
    process.kill(agent.pid, 'SIGUSR2');
    const line = await agent.line(new RegExp(`^lag ${++count} `));
    return JSON.parse(line.slice(line.indexOf('{')));
  };
}

/** Half a request each, never finished and never read. */
function connectSlowClients(port: number): readonly Socket[] {
  return Array.from({ length: SLOW_CLIENTS }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /documents.json HTTP/1.1\r\nhost: 127.');
    return socket;
  });
}

async function attack(port: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const slow = connectSlowClients(port);
  await sendHostileRequests(agent, port, REQUESTS / ROUNDS);
  for (const socket of slow) socket.destroy();
  agent.destroy();
}

const portOf = async (child: Child, pattern: RegExp) => Number(/(\d+)\/?$/.exec(await child.line(pattern))?.[1]);

const broker = await startBroker();
const service = await startService();
const config = await house('attacked', { service: service.url, broker: broker.url });
const flags = readUnitFlags();
const agent = start(process.execPath, [...flags, '--import', LAG, MAIN, 'run', '--config', config]);
await agent.line(/region \w+ \(/);
const page = start(process.execPath, [...flags, MAIN, 'page', '--config', config, '--listen', '127.0.0.1:0']);
const pagePort = await portOf(page, /^page: http/);
const server = node('-e', BARE_SERVER);
const serverPort = await portOf(server, /^port/);
const bare = node('-e', 'setInterval(() => {}, 60_000)');
await sleep(CALM_SECONDS * 1_000);

const phases = {
  calm: () => sleep(CALM_SECONDS * 1_000),
  'a bare server attacked': () => attack(serverPort),
  'the page attacked': () => attack(pagePort),
};
const lags = new Map<string, Lag[]>(Object.keys(phases).map((name) => [name, []]));
const readLag = createLagReader(agent);
for (let round = 0; round < ROUNDS; round++)
  for (const [name, run] of Object.entries(phases)) {
    await readLag();
    await run();
    lags.get(name)?.push(await readLag());
  }
const means = new Map<string, number>();
for (const [name, list] of lags) {
  const [mean, p99] = [median(list.map((lag) => lag.mean)), median(list.map((lag) => lag.p99))];
  means.set(name, mean);
  console.log(`loop lag of the agent, ${name}: mean ${mean.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
}
const megabytes = ((readMemory(page).peak - readMemory(bare).peak) * 1_048_576) / 1e6;
console.log(`the page at its peak, over bare Node: ${megabytes.toFixed(1)} MB`);
for (const child of [page, agent, server, bare, service.child, broker.child]) await child.end();
const ratio = (means.get('the page attacked') ?? Number.NaN) / (means.get('a bare server attacked') ?? Number.NaN);
console.log(`loop lag with the page attacked: ${ratio.toFixed(2)} times that with a bare server attacked`);
judge([
  [`loop lag at most ${MOST_LAG_RATIO} times that beside an attack on another server`, ratio <= MOST_LAG_RATIO],
  [`the page at most ${MOST_MEGABYTES} MB over bare Node`, megabytes <= MOST_MEGABYTES],
]);
