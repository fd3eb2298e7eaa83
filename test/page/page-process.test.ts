/** `gridtide page` as a process of its own: what hostile requests cost it in memory, and how it ends. */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startProcess } from '../doubles/running-process.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js');
/** Of a night, with the flags of the unit; absent: a few, without flags. */
const NIGHTLY_REQUESTS = process.env.GRIDTIDE_PAGE_REQUESTS;
const REQUESTS = Number(NIGHTLY_REQUESTS ?? 400);
const FLAGS =
  NIGHTLY_REQUESTS === undefined
    ? []
    : ['--lite-mode', '--max-semi-space-size=1', '--single-threaded-gc', '--no-addons'];
const MOST_MEGABYTES_OVER_NODE = NIGHTLY_REQUESTS === undefined ? 30 : 40;
const CONFIG = [
  'device: cellar',
  'place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}',
  'service: {url: "https://signal.example", usernameFile: none, passwordFile: none}',
  'loads: {car: {type: ev, output: {kind: dry-run}}}',
].join('\n');

const readMemory = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

const PATHS = [
  '..',
  '%2e%2e',
  '%00',
  'loads/car/set',
  '__proto__',
  'a'.repeat(5_000),
  'metrics',
  'documents.json',
  'page.js',
];
const METHODS = ['GET', 'POST', 'PUT', 'HEAD'];

function sendHostileRequest(agent: Agent, port: number, i: number): Promise<void> {
  const method = METHODS[i % METHODS.length] ?? 'GET';
  const host = i % 2 === 0 ? `127.0.0.1:${port}` : 'evil.example';
  const origin = { origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const headers = { host, ...(method === 'POST' ? origin : {}) };
    const sent = request({ agent, port, host: '127.0.0.1', method, path: `/${PATHS[i % PATHS.length]}`, headers });
    sent.on('response', (answer) => void answer.resume().on('close', () => resolve()));
    sent.on('error', () => resolve());
    sent.end(method === 'POST' ? 'x'.repeat(i % 3_000) : undefined);
  });
}

it.skipIf(process.platform !== 'linux')(
  'stays small under hostile requests, answers on, and ends in order',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gridtide-page-'));
    stopAfterTest({ stop: () => rm(folder, { recursive: true, force: true }) });
    const config = join(folder, 'gridtide.yaml');
    await writeFile(config, `${CONFIG}\n`);
    const bare = stopAfterTest(
      startProcess(process.execPath, [...FLAGS, '-e', "console.log('up'); setInterval(() => {}, 1e6)"]),
    );
    const args = ['page', '--config', config, '--state', join(folder, 'state'), '--listen', '127.0.0.1:0'];
    const page = stopAfterTest(startProcess(process.execPath, [...FLAGS, MAIN, ...args]));
    await bare.waitForLine(/up/);
    const port = Number(/:(\d+)\/$/.exec(await page.waitForLine(/^page: http/))?.[1]);
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    stopAfterTest({ stop: async () => agent.destroy() });
    const work = Array.from({ length: 20 }, async (_, start) => {
      for (let i = start; i < REQUESTS; i += 20) await sendHostileRequest(agent, port, i);
    });
    await Promise.all(work);
    expect(readMemory(page.pid) - readMemory(bare.pid)).toBeLessThan(MOST_MEGABYTES_OVER_NODE);
    expect((await fetch(`http://127.0.0.1:${port}/documents.json`)).status).toBe(200);
    expect(await page.terminate()).toBe(0);
  },
);
