/** Row 81 of the fault table on the agent as a process: whoever reads its words is slow, stuck or gone, and control goes on. */

import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createFullPipe } from '../doubles/full-pipe.ts';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';
import {
  type AgentSetup,
  buildEnvironment,
  bundleAgentForTests,
  createAgentSetup,
  isOffline,
  isOnline,
  PLUG_STATE_TOPIC,
  publishOverride,
} from './agent-setup.ts';

const program = bundleAgentForTests();

/** A life of the agent whose standard output and error go where they are told. */
function runInto({ config, directory }: AgentSetup, out: number | 'pipe', before: readonly string[] = []) {
  const child = spawn(process.execPath, [...before, program.path, 'run', '--config', config], {
    stdio: ['ignore', out, out],
    env: buildEnvironment(directory),
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  afterTest(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, gone: exited };
}

async function switches({ spy }: AgentSetup, level: 'on' | 'off') {
  await publishOverride(spy, level);
  await spy.waitFor(({ topic, text }) => topic === PLUG_STATE_TOPIC && text === level);
}

describeWithMosquitto('81 the log', () => {
  it('81 nobody is left to read standard output: control goes on', async () => {
    const house = await createAgentSetup();
    const { child, gone: exited } = runInto(house, 'pipe');
    child.stdout?.destroy();
    child.stderr?.destroy();
    await house.spy.waitFor(isOnline);
    await switches(house, 'on');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await house.spy.waitFor(isOffline);
  });

  it('81 the reader of the log is stuck from the start: control goes on, and so does the end', async () => {
    const house = await createAgentSetup({ lines: 'logLevel: debug' });
    const { child, gone: exited } = runInto(house, stopAfterTest(createFullPipe()).writeEnd);
    await house.spy.waitFor(isOnline);
    await switches(house, 'on');
    house.spy.clear();
    await switches(house, 'off');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await house.spy.waitFor(isOffline);
  });

  it('81 the reader comes back: what was said meanwhile is read', async () => {
    const house = await createAgentSetup();
    const pipe = stopAfterTest(createFullPipe());
    const { child, gone: exited } = runInto(house, pipe.writeEnd);
    await house.spy.waitFor(isOnline);
    await switches(house, 'on');
    const first = JSON.parse(await pipe.waitForLine(/runs 1 load/));
    expect(first).toMatchObject({ level: 'info' });
    // Said later, it may come with a later piece.
    expect(JSON.parse(await pipe.waitForLine(/override/))).toMatchObject({ load: 'plug' });
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  });

  it('81 a fault of its own while the reader is stuck: it ends all the same, and the reason is the last line', async () => {
    const house = await createAgentSetup();
    const plugIn = join(house.directory, 'plug-in.mjs');
    await writeFile(plugIn, `process.on('SIGUSR2', () => { Promise.reject(new Error('a plug-in point broke')); });`);
    for (const isRead of [false, true]) {
      house.spy.clear();
      const pipe = stopAfterTest(createFullPipe());
      const { child, gone: exited } = runInto(house, pipe.writeEnd, ['--import', plugIn]);
      await house.spy.waitFor(isOnline);
      const over = isRead ? pipe.waitForLine(/a plug-in point broke/) : undefined;
      child.kill('SIGUSR2');
      expect(await exited).toBe(1);
      await house.spy.waitFor(isOffline);
      if (over !== undefined) expect(JSON.parse(await over)).toMatchObject({ level: 'error' });
    }
  });
});
