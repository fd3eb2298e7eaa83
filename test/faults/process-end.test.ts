/** Rows 62, 63, 67, 68 and 80 of the fault table on the agent as a process: restarts and ends. */

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { kept } from '../doubles/kept.ts';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import { startProcess } from '../doubles/process.ts';
import { agentProgram, COMMAND, isOffline, isOnline, openCellar, runAgent, STATE, turn } from './cellar.ts';

const program = agentProgram();

describeWithMosquitto('the end of the process', () => {
  it('62 a restart in the middle of an override: the plug is told nothing, and the override goes on', async () => {
    const house = await openCellar({ onStop: 'hold' });
    const { spy } = house;
    const first = runAgent(program, house);
    await spy.until(isOnline);
    await turn(spy, 'on');
    await spy.until(({ topic, text }) => topic === STATE && text === 'on');
    await spy.until(({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && JSON.parse(text).level === 'on');
    expect(await first.terminate()).toBe(0);
    spy.clear();
    runAgent(program, house);
    await spy.until(isOnline);
    const told = await spy.until(
      ({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && /override/.test(JSON.parse(text).why),
    );
    expect(JSON.parse(told.text)).toMatchObject({ level: 'on', override: 'on' });
    expect(spy.heard.filter(({ topic, text }) => topic === COMMAND && text !== 'on')).toEqual([]);
  }, 30_000);

  it('63 SIGTERM while a deaf plug is being switched: offline is said, the state is whole, and it is over within five seconds', async () => {
    const house = await openCellar();
    const { spy } = house;
    const agent = runAgent(program, house);
    await spy.until(isOnline);
    house.isDeaf = true;
    await turn(spy, 'on');
    await spy.until(({ topic, text }) => topic === COMMAND && text === 'on');
    const from = performance.now();
    const code = await agent.terminate();
    const took = performance.now() - from;
    expect(code).toBe(0);
    expect(took).toBeLessThan(5_000);
    // The safe level is the last thing the plug is told, and the farewell comes after.
    const offline = await spy.until(isOffline);
    expect(spy.heard.findLast(({ topic }) => topic === COMMAND)?.text).toBe('off');
    expect(spy.heard.indexOf(offline)).toBeGreaterThan(spy.heard.findLastIndex(({ topic }) => topic === COMMAND));
    const again = runAgent(program, house);
    await again.line(/runs 1 load/);
    expect(again.lines.filter((line) => /damaged|cannot be read/.test(line))).toEqual([]);
  }, 30_000);

  it('67 a second agent on the same state directory is refused, and so is a test behind its back; after a kill nobody is', async () => {
    const house = await openCellar();
    const first = runAgent(program, house);
    await house.spy.until(isOnline);
    const second = runAgent(program, house);
    expect(await second.exit()).toBe(1);
    expect(second.lines).toEqual([
      `gridtide run: an agent runs on ${house.state} already (process ${first.pid}), and two must not drive the same loads; stop that one first, or give this one its own "device" and --state`,
    ]);
    await house.mosquitto.stop();
    const words = ['test', 'plug', '--config', house.config, '--for', '1s', '--alone'];
    const test = kept(startProcess(process.execPath, [program.path, ...words]));
    expect(await test.exit()).toBe(1);
    expect(test.lines).toEqual([
      `gridtide test: an agent runs on ${house.state} (process ${first.pid}) and is not reached over MQTT, and two programs must not drive one output; stop it first`,
    ]);
    await first.stop();
    const third = runAgent(program, house);
    await third.line(/runs 1 load/);
  }, 30_000);

  it('68 SIGKILL in the middle of switching: the last will is told, and the next life reads all it needs', async () => {
    const house = await openCellar({ onStop: 'hold' });
    const { spy } = house;
    for (let life = 0; life < 5; life++) {
      spy.clear();
      const agent = runAgent(program, house);
      await spy.until(isOnline);
      const level = life % 2 === 0 ? 'on' : 'off';
      await turn(spy, level);
      await spy.until(({ topic, text }) => topic === COMMAND && text === level);
      await agent.stop();
      await spy.until(isOffline);
      expect(agent.lines.filter((line) => /damaged|cannot be read/.test(line))).toEqual([]);
    }
    expect((await readdir(house.state)).some((name) => name.startsWith('control.'))).toBe(true);
  }, 30_000);

  it('80 a rejection nobody handles: the process ends with an error, and its will says so', async () => {
    const house = await openCellar();
    const plugIn = join(house.directory, 'plug-in.mjs');
    await writeFile(plugIn, `process.on('SIGUSR2', () => { Promise.reject(new Error('a plug-in point broke')); });`);
    const agent = runAgent(program, house, { before: ['--import', plugIn] });
    await house.spy.until(isOnline);
    const over = agent.line(/a plug-in point broke/);
    agent.signal('SIGUSR2');
    await over;
    expect(await agent.exit()).not.toBe(0);
    await house.spy.until(isOffline);
    // The service manager starts it anew; nothing stands in the way.
    house.spy.clear();
    runAgent(program, house);
    await house.spy.until(isOnline);
  }, 30_000);
});
