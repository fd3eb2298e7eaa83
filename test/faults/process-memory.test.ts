/** Rows 25 and 26 of the fault table on the agent as a process of its own: what a hostile answer costs in memory, as the kernel counts it. */

import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { formatInstant, type Instant } from '../../src/domain/units.ts';
import { createScaledClock } from '../../src/platform/system-clock.ts';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import type { ScriptedResponse } from '../doubles/scripted-service.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { bundleAgentForTests, createAgentSetup, startAgentProcess } from './agent-setup.ts';
import { ENDLESS_REGIONS, HOSTILE_MAPS, JSON_HEADERS } from './hostile-maps.ts';
import { type AnswerOverride, startSignalService } from './scripted-signal-service.ts';

const SPEED = 600;
const MEGABYTE = 1e6;
/** Row 25. */
const MOST_FOR_A_BOMB = 20 * MEGABYTE;
/** Of the unit: MemoryMax. */
const MOST_EVER = 192 * 1024 * 1024;
const BOMBS = 12;
/** Of the units: they decide when garbage is collected. Without them a peak is chance. */
const GC_FLAGS = ['--max-semi-space-size=1', '--single-threaded-gc'];

/** The nightly also reads 128 MB of true regions, which takes seconds of processor time. */
const MAPS = process.env.GRIDTIDE_MAPS === 'all' ? [...HOSTILE_MAPS, ENDLESS_REGIONS] : HOSTILE_MAPS;

const program = bundleAgentForTests();

const kilobytes = (status: string, row: string) => Number(new RegExp(`${row}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024;
async function memoryOf(pid: number) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { now: kilobytes(status, 'VmRSS'), peak: kilobytes(status, 'VmHWM') };
}
/** From here on the peak is counted anew. */
const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');

async function house(bend: AnswerOverride) {
  const start = Date.now() as Instant;
  const clock = createScaledClock({ start, speed: SPEED });
  const grid = await startSignalService(clock, bend);
  stopAfterTest({ stop: () => grid.close() });
  const setup = await createAgentSetup({ service: grid.url });
  const agent = startAgentProcess(program, setup, {
    nodeArguments: GC_FLAGS,
    agentArguments: ['--now', formatInstant(start), '--speed', `${SPEED}`],
  });
  return { grid, spy: setup.spy, agent };
}

describeWithMosquitto('memory of the agent', () => {
  it(`25 ${BOMBS} bombs of gzip: at most 20 MB more than ordinary work takes`, async () => {
    const bomb: ScriptedResponse = {
      headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.alloc(200_000_000, ' ')),
    };
    let isBad = false;
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
      return isBad ? bomb : undefined;
    });
    await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/signal' && /"live-index"/.test(text));
    await answers(4 * BOMBS);
    const { peak: now } = await memoryOf(agent.pid);
    await forgetPeak(agent.pid);
    isBad = true;
    await answers(BOMBS);
    const { peak } = await memoryOf(agent.pid);
    console.log(
      `row 25: ${Math.round(now / MEGABYTE)} MB at most in ordinary work, ${Math.round(peak / MEGABYTE)} under ${BOMBS} bombs`,
    );
    expect(agent.lines.filter((line) => /larger than/.test(line)).length).toBeGreaterThan(0);
    expect(peak - now).toBeLessThanOrEqual(MOST_FOR_A_BOMB);
  });

  it.each(MAPS)('26 %s: the agent stays within what its unit allows', async (name, odd) => {
    const { agent } = await house(({ path }) => (path === '/v3/maps' ? odd() : undefined));
    await agent.waitForLine(/no new map/);
    const { now, peak } = await memoryOf(agent.pid);
    console.log(`row 26: ${name}: ${Math.round(peak / MEGABYTE)} MB at most, ${Math.round(now / MEGABYTE)} after`);
    expect(peak).toBeLessThanOrEqual(MOST_EVER);
  });
});
