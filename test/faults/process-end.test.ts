/** Rows 62, 63, 67, 68 and 80 of the fault table on the agent as a process: restarts and ends. */

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import { startProcess } from '../doubles/running-process.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import {
  bundleAgentForTests,
  COUNT_TENTHS,
  createAgentSetup,
  isOffline,
  isOnline,
  PLUG_COMMAND_TOPIC,
  PLUG_STATE_TOPIC,
  publishOverride,
  startAgentProcess,
  terminateCounted,
} from './agent-setup.ts';

const program = bundleAgentForTests();

describeWithMosquitto('the end of the process', () => {
  it('62 a restart in the middle of an override: the plug is told nothing, and the override goes on', async () => {
    const house = await createAgentSetup({ onStop: 'hold' });
    const { spy } = house;
    const first = startAgentProcess(program, house);
    await spy.waitFor(isOnline);
    await publishOverride(spy, 'on');
    await spy.waitFor(({ topic, text }) => topic === PLUG_STATE_TOPIC && text === 'on');
    await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && JSON.parse(text).level === 'on');
    expect(await first.terminate()).toBe(0);
    spy.clear();
    startAgentProcess(program, house);
    await spy.waitFor(isOnline);
    const message = await spy.waitFor(
      ({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && /override/.test(JSON.parse(text).why),
    );
    expect(JSON.parse(message.text)).toMatchObject({ level: 'on', override: 'on' });
    expect(spy.messages.filter(({ topic, text }) => topic === PLUG_COMMAND_TOPIC && text !== 'on')).toEqual([]);
  });

  it('63 SIGTERM while a deaf plug is being switched: offline is said, the state is whole, and it is over within five seconds', async () => {
    const house = await createAgentSetup();
    const { spy } = house;
    const agent = startAgentProcess(program, house, { nodeArguments: COUNT_TENTHS });
    await spy.waitFor(isOnline);
    house.isDeaf = true;
    await publishOverride(spy, 'on');
    await spy.waitFor(({ topic, text }) => topic === PLUG_COMMAND_TOPIC && text === 'on');
    const { code, seconds } = await terminateCounted(agent);
    expect(code).toBe(0);
    expect(seconds).toBeLessThan(5);
    // The safe level is the last thing the plug is told, and the farewell comes after.
    const offline = await spy.waitFor(isOffline);
    expect(spy.messages.findLast(({ topic }) => topic === PLUG_COMMAND_TOPIC)?.text).toBe('off');
    expect(spy.messages.indexOf(offline)).toBeGreaterThan(
      spy.messages.findLastIndex(({ topic }) => topic === PLUG_COMMAND_TOPIC),
    );
    const again = startAgentProcess(program, house);
    await again.waitForLine(/runs 1 load/);
    expect(again.lines.filter((line) => /damaged|cannot be read/.test(line))).toEqual([]);
  });

  it('67 a second agent on the same state directory is refused, and so is a test behind its back; after a kill nobody is', async () => {
    const house = await createAgentSetup();
    const first = startAgentProcess(program, house);
    await house.spy.waitFor(isOnline);
    const second = startAgentProcess(program, house);
    expect(await second.exit()).toBe(1);
    expect(second.lines).toEqual([
      `gridtide run: an agent runs on ${house.state} already (process ${first.pid}), and two must not drive the same loads; stop that one first (kill ${first.pid}; the installed one: sudo systemctl stop gridtide), or give this one its own "device" in its configuration and its own --state DIR`,
    ]);
    await house.mosquitto.stop();
    const words = ['test', 'plug', '--config', house.config, '--for', '1s', '--alone'];
    const test = stopAfterTest(startProcess(process.execPath, [program.path, ...words]));
    expect(await test.exit()).toBe(1);
    expect(test.lines).toEqual([
      `gridtide test: an agent runs on ${house.state} (process ${first.pid}) and cannot be reached over MQTT, and two programs must not drive one output; stop it first`,
    ]);
    await first.stop();
    const third = startAgentProcess(program, house);
    await third.waitForLine(/runs 1 load/);
  });

  it('68 SIGKILL in the middle of switching: the last will is told, and the next life reads all it needs', async () => {
    const house = await createAgentSetup({ onStop: 'hold' });
    const { spy } = house;
    for (let life = 0; life < 5; life++) {
      spy.clear();
      const agent = startAgentProcess(program, house);
      await spy.waitFor(isOnline);
      const level = life % 2 === 0 ? 'on' : 'off';
      await publishOverride(spy, level);
      await spy.waitFor(({ topic, text }) => topic === PLUG_COMMAND_TOPIC && text === level);
      await agent.stop();
      await spy.waitFor(isOffline);
      expect(agent.lines.filter((line) => /damaged|cannot be read/.test(line))).toEqual([]);
    }
    expect((await readdir(house.state)).some((name) => name.startsWith('control.'))).toBe(true);
  });

  it('80 a rejection nobody handles: the process ends with an error, and its will says so', async () => {
    const house = await createAgentSetup();
    const plugIn = join(house.directory, 'plug-in.mjs');
    await writeFile(plugIn, `process.on('SIGUSR2', () => { Promise.reject(new Error('a plug-in point broke')); });`);
    const agent = startAgentProcess(program, house, { nodeArguments: ['--import', plugIn] });
    await house.spy.waitFor(isOnline);
    const over = agent.waitForLine(/a plug-in point broke/);
    agent.signal('SIGUSR2');
    await over;
    expect(await agent.exit()).not.toBe(0);
    await house.spy.waitFor(isOffline);
    // The service manager starts it anew; nothing stands in the way.
    house.spy.clear();
    startAgentProcess(program, house);
    await house.spy.waitFor(isOnline);
  });
});
