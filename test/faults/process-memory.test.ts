/** Rows 25 and 26 of the fault table on the agent as it is shipped, in a process of its own: what a hostile answer costs in memory, as the kernel counts it. */

import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { formatInstant, type Instant } from '../../src/domain/units.ts';
import { createScaledClock } from '../../src/platform/system-clock.ts';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import type { ScriptedResponse } from '../doubles/scripted-service.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { createAgentSetup, startAgentProcess } from './agent-setup.ts';
import { ENDLESS_REGIONS, HOSTILE_MAPS, JSON_HEADERS } from './hostile-maps.ts';
import { type AnswerOverride, startSignalService } from './scripted-signal-service.ts';

const SPEED = 600;
const MEGABYTE = 1e6;
/** Row 25. */
const MOST_FOR_A_BODY = 20 * MEGABYTE;
/** Of the unit: MemoryMax. */
const MOST_EVER = 192 * 1024 * 1024;
/** Of each hostile body. */
const ANSWERS = 3;
const PROJECT = join(import.meta.dirname, '..', '..');
/** They decide when garbage is collected, without them a peak is chance; and under `--lite-mode` undici parses in JavaScript. */
const UNIT_FLAGS =
  /^ExecStart=.*? node ((?:--\S+ )+)/m.exec(readFileSync(join(PROJECT, 'systemd/gridtide.service'), 'utf8'))?.[1] ?? '';

/** The nightly also reads 128 MB of true regions, and all maps under every flag of the unit: without a compiler that takes minutes. */
const IS_NIGHTLY = process.env.GRIDTIDE_MAPS === 'all';
const MAPS = IS_NIGHTLY ? [...HOSTILE_MAPS, ENDLESS_REGIONS] : HOSTILE_MAPS;
const MAP_FLAGS = IS_NIGHTLY ? UNIT_FLAGS : UNIT_FLAGS.replace('--lite-mode', '');

const program = { path: join(PROJECT, 'dist', 'main.js') };
const LENGTH = 1_900_000;
const plain = (body: string): ScriptedResponse => ({ headers: JSON_HEADERS, body });

//  body                              answer, below the limit of bytes where it is no bomb
const HOSTILE_BODIES: readonly (readonly [string, ScriptedResponse])[] = [
  [
    'bombs of gzip',
    { headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(200_000_000, ' ')) },
  ],
  ['brackets', plain('['.repeat(LENGTH))],
  ['lists in lists', plain('['.repeat(LENGTH / 2) + ']'.repeat(LENGTH / 2))],
  ['objects in objects', plain('{"a":'.repeat(LENGTH / 5))],
  ['empty objects', plain(`[${'{},'.repeat(LENGTH / 3)}0]`)],
  ['numbers', plain(`[${'1,'.repeat(LENGTH / 2)}1]`)],
  ['one long name', plain(`{"${'k'.repeat(LENGTH)}":1}`)],
  ['blanks', plain(' '.repeat(LENGTH))],
];

const kilobytes = (status: string, row: string) => Number(new RegExp(`${row}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024;
async function memoryOf(pid: number) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { now: kilobytes(status, 'VmRSS'), peak: kilobytes(status, 'VmHWM') };
}
/** From here on the peak is counted anew. */
const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');

async function house(bend: AnswerOverride, flags: string) {
  const start = Date.now() as Instant;
  const clock = createScaledClock({ start, speed: SPEED });
  const grid = await startSignalService(clock, bend);
  stopAfterTest({ stop: () => grid.close() });
  const setup = await createAgentSetup({ service: grid.url });
  const agent = startAgentProcess(program, setup, {
    nodeArguments: flags.trim().split(/ +/),
    agentArguments: ['--now', formatInstant(start), '--speed', `${SPEED}`],
  });
  return { grid, spy: setup.spy, agent };
}

describeWithMosquitto('memory of the agent', () => {
  it('25 hostile bodies under the flags of the unit: each at most 20 MB more than ordinary work takes', async () => {
    let hostile: ScriptedResponse | undefined;
    let asked = 0;
    let reached = () => {};
    /** So many more answers have been given. */
    const answers = (count: number) =>
      new Promise<void>((resolve) => {
        asked = 0;
        reached = () => asked > count && resolve();
      });
    const { spy, agent } = await house(({ path }) => {
      if (!path.startsWith('/v3/')) return undefined;
      asked += 1;
      reached();
      return hostile;
    }, UNIT_FLAGS);
    await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/signal' && /"live-index"/.test(text));
    await answers(16 * ANSWERS);
    const { peak: now } = await memoryOf(agent.pid);
    const more: [string, number][] = [];
    for (const [name, answer] of HOSTILE_BODIES) {
      hostile = answer;
      await forgetPeak(agent.pid);
      await answers(ANSWERS);
      more.push([name, (await memoryOf(agent.pid)).peak - now]);
    }
    const text = more.map(([name, bytes]) => `${name} ${(bytes / MEGABYTE).toFixed(1)}`).join(', ');
    console.log(`row 25: ${Math.round(now / MEGABYTE)} MB at most in ordinary work; MB more: ${text}`);
    expect(agent.lines.filter((line) => /larger than/.test(line)).length).toBeGreaterThan(0);
    expect(more.filter(([, bytes]) => bytes > MOST_FOR_A_BODY)).toEqual([]);
  });

  it.each(MAPS)(`26 %s: the agent with ${MAP_FLAGS.trim()} stays within what its unit allows`, async (name, odd) => {
    const { agent } = await house(({ path }) => (path === '/v3/maps' ? odd() : undefined), MAP_FLAGS);
    await agent.waitForLine(/no new map/);
    const { now, peak } = await memoryOf(agent.pid);
    console.log(`row 26: ${name}: ${Math.round(peak / MEGABYTE)} MB at most, ${Math.round(now / MEGABYTE)} after`);
    expect(peak).toBeLessThanOrEqual(MOST_EVER);
  });
});
