/** `gridtide page` as a process of its own: what hostile requests cost it in memory, how it ends, and whose login it names. */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
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

async function startPage(folder: string, lines: string, flags: readonly string[], words: readonly string[]) {
  const config = join(folder, 'gridtide.yaml');
  await writeFile(config, `${lines}\n`);
  const args = ['page', '--config', config, '--state', join(folder, 'state'), '--listen', '127.0.0.1:0', ...words];
  const page = stopAfterTest(startProcess(process.execPath, [...flags, MAIN, ...args]));
  const port = Number(/:(\d+)\/$/.exec(await page.waitForLine(/^page: http/))?.[1]);
  const readDocuments = () => fetch(`http://127.0.0.1:${port}/documents.json`);
  return { page, port, readDocuments };
}

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gridtide-page-'));
  stopAfterTest({ stop: () => rm(folder, { recursive: true, force: true }) });
  return folder;
}

const readMemory = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

it.skipIf(process.platform !== 'linux')(
  'stays small under hostile requests, answers on, and ends in order',
  async () => {
    const bare = stopAfterTest(
      startProcess(process.execPath, [...FLAGS, '-e', "console.log('up'); setInterval(() => {}, 1e6)"]),
    );
    const { page, port, readDocuments } = await startPage(await createFolder(), CONFIG, FLAGS, []);
    await bare.waitForLine(/up/);
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    stopAfterTest({ stop: async () => agent.destroy() });
    await sendHostileRequests(agent, port, REQUESTS);
    expect(readMemory(page.pid) - readMemory(bare.pid)).toBeLessThan(MOST_MEGABYTES_OVER_NODE);
    expect((await readDocuments()).status).toBe(200);
    expect(await page.terminate()).toBe(0);
  },
);

describeWithMosquitto('a login of the page that the broker refuses', () => {
  it('is named by the option that gave it, not by the setting of the agent', async () => {
    const broker = stopAfterTest(await startMosquitto({ lines: ['allow_anonymous false'] }));
    const folder = await createFolder();
    const login = join(folder, 'login');
    await writeFile(login, 'page', { mode: 0o600 });
    const words = ['--mqtt-username-file', login, '--mqtt-password-file', login];
    const { readDocuments } = await startPage(folder, `${CONFIG}\nmqtt: {url: "${broker.url}"}`, [], words);
    const readProblem = async () =>
      ((await (await readDocuments()).json()) as { page: { problem: string } }).page.problem;
    await expect
      .poll(readProblem)
      .toMatch(
        /refused the user name or password \(\d+\); give or correct --mqtt-username-file and --mqtt-password-file$/,
      );
  });
});
