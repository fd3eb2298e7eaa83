/** `gridtide page` as a process of its own: what hostile requests cost it in memory, and how it ends. */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startProcess } from '../doubles/running-process.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { sendHostileRequests } from './hostile-requests.ts';

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
    await sendHostileRequests(agent, port, REQUESTS);
    expect(readMemory(page.pid) - readMemory(bare.pid)).toBeLessThan(MOST_MEGABYTES_OVER_NODE);
    expect((await fetch(`http://127.0.0.1:${port}/documents.json`)).status).toBe(200);
    expect(await page.terminate()).toBe(0);
  },
);
