/** Rows 62, 63, 68, 80 and 81 of the fault table on the agent as a process: restarts, ends, and a reader of its words who has gone. */

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWithMosquitto, freePort, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type Spy, startSpy } from '../doubles/mqtt-spy.ts';
import { startProcess } from '../doubles/process.ts';
import { makeProgram, type Program } from '../doubles/program.ts';

const SET = 'gridtide/cellar/loads/plug/set';
const COMMAND = 'home/plug/set';
const STATE = 'home/plug/state';
const AVAILABILITY = 'gridtide/cellar/availability';

let program: Program;
beforeAll(async () => {
  program = await makeProgram(join(import.meta.dirname, '..', '..', 'src', 'main.ts'), ['onoff', 'pino-pretty']);
});
afterAll(() => program.remove());

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

interface Cellar {
  readonly config: string;
  readonly state: string;
  readonly directory: string;
  readonly spy: Spy;
}

/** Configuration, broker and a plug that keeps its state on the broker until `isDeaf`; the service it names is not there. */
async function cellar(plug: { isDeaf: boolean }, onStop: 'failsafe' | 'hold' = 'failsafe'): Promise<Cellar> {
  const mosquitto: Mosquitto = await startMosquitto();
  undo.push(() => mosquitto.stop());
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-end-'));
  undo.push(() => rm(directory, { recursive: true, force: true }));
  const state = join(directory, 'state');
  const config = join(directory, 'gridtide.yaml');
  await writeFile(join(directory, 'word'), 'owner', { mode: 0o600 });
  await writeFile(
    config,
    `
device: cellar
state: ${state}
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:${await freePort()}", usernameFile: ${directory}/word, passwordFile: ${directory}/word}
mqtt: {url: "${mosquitto.url}"}
loads:
  plug:
    type: generic
    output: {kind: mqtt, preset: switch, topic: ${COMMAND}, stateTopic: ${STATE}}
    powerKw: 2
    minOn: 0s
    minOff: 0s
    failSafe: "off"
    onStop: ${onStop}
`,
    { mode: 0o600 },
  );
  const spy = await startSpy(mosquitto.url);
  undo.push(() => spy.stop());
  spy.each(({ topic, text }) => {
    if (topic === COMMAND && !plug.isDeaf) void spy.publish(STATE, text, { retain: true });
  });
  await spy.publish(STATE, 'off', { retain: true });
  return { config, state, directory, spy };
}

function run({ config, directory }: Cellar, before: readonly string[] = []) {
  const agent = startProcess(process.execPath, [...before, program.path, 'run', '--config', config], {
    ...process.env,
    RUNTIME_DIRECTORY: directory,
  });
  undo.push(() => agent.stop());
  return agent;
}

const isOnline = ({ topic, text }: { topic: string; text: string }) => topic === AVAILABILITY && text === 'online';
const turn = (spy: Spy, level: 'on' | 'off') =>
  spy.publish(SET, JSON.stringify({ command: 'override', level, for: '2h' }));
const turnOn = (spy: Spy) => turn(spy, 'on');

describeWithMosquitto('the end of the process', () => {
  it('62 a restart in the middle of an override: the plug is told nothing, and the override goes on', async () => {
    const house = await cellar({ isDeaf: false }, 'hold');
    const { spy } = house;
    const first = run(house);
    await spy.until(isOnline);
    await turnOn(spy);
    await spy.until(({ topic, text }) => topic === STATE && text === 'on');
    await spy.until(({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && JSON.parse(text).level === 'on');
    expect(await first.terminate()).toBe(0);
    spy.clear();
    run(house);
    await spy.until(isOnline);
    const told = await spy.until(
      ({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && /override/.test(JSON.parse(text).why),
    );
    expect(JSON.parse(told.text)).toMatchObject({ level: 'on', override: 'on' });
    expect(spy.heard.filter(({ topic, text }) => topic === COMMAND && text !== 'on')).toEqual([]);
  }, 30_000);

  it('63 SIGTERM while a deaf plug is being switched: offline is said, the state is whole, and it is over within five seconds', async () => {
    const plug = { isDeaf: false };
    const house = await cellar(plug);
    const { spy } = house;
    const agent = run(house);
    await spy.until(isOnline);
    plug.isDeaf = true;
    await turnOn(spy);
    await spy.until(({ topic, text }) => topic === COMMAND && text === 'on');
    const from = performance.now();
    const code = await agent.terminate();
    const took = performance.now() - from;
    expect(code).toBe(0);
    expect(took).toBeLessThan(5_000);
    // The safe level is the last thing the plug is told, and the farewell comes after.
    const offline = await spy.until(({ topic, text }) => topic === AVAILABILITY && text === 'offline');
    expect(spy.heard.findLast(({ topic }) => topic === COMMAND)?.text).toBe('off');
    expect(spy.heard.indexOf(offline)).toBeGreaterThan(spy.heard.findLastIndex(({ topic }) => topic === COMMAND));
    const again = run(house);
    await again.line(/runs 1 load/);
    expect(again.lines.filter((line) => /damaged|cannot be read/.test(line))).toEqual([]);
  }, 30_000);

  it('68 SIGKILL in the middle of switching: the last will is told, and the next life reads all it needs', async () => {
    const house = await cellar({ isDeaf: false }, 'hold');
    const { spy } = house;
    for (let life = 0; life < 5; life++) {
      spy.clear();
      const agent = run(house);
      await spy.until(isOnline);
      const level = life % 2 === 0 ? 'on' : 'off';
      await turn(spy, level);
      await spy.until(({ topic, text }) => topic === COMMAND && text === level);
      await agent.stop();
      await spy.until(({ topic, text }) => topic === AVAILABILITY && text === 'offline');
      expect(agent.lines.filter((line) => /damaged|cannot be read/.test(line))).toEqual([]);
    }
    expect((await readdir(house.state)).some((name) => name.startsWith('control.'))).toBe(true);
  }, 30_000);

  it('80 a rejection nobody handles: the process ends with an error, and its will says so', async () => {
    const house = await cellar({ isDeaf: false });
    const plugIn = join(house.directory, 'plug-in.mjs');
    await writeFile(plugIn, `process.on('SIGUSR2', () => { Promise.reject(new Error('a plug-in point broke')); });`);
    const agent = run(house, ['--import', plugIn]);
    await house.spy.until(isOnline);
    const over = agent.line(/a plug-in point broke/);
    agent.signal('SIGUSR2');
    await over;
    expect(await agent.exit()).not.toBe(0);
    await house.spy.until(({ topic, text }) => topic === AVAILABILITY && text === 'offline');
    // The service manager starts it anew; nothing stands in the way.
    house.spy.clear();
    run(house);
    await house.spy.until(isOnline);
  }, 30_000);

  it('81 nobody is left to read standard output: control goes on', async () => {
    const house = await cellar({ isDeaf: false });
    const { spy } = house;
    const child = spawn(process.execPath, [program.path, 'run', '--config', house.config], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, RUNTIME_DIRECTORY: house.directory },
    });
    const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
    undo.push(async () => {
      child.kill('SIGKILL');
      await gone;
    });
    child.stdout.destroy();
    child.stderr.destroy();
    await spy.until(isOnline);
    await turnOn(spy);
    await spy.until(({ topic, text }) => topic === STATE && text === 'on');
    child.kill('SIGTERM');
    expect(await gone).toBe(0);
    await spy.until(({ topic, text }) => topic === AVAILABILITY && text === 'offline');
  }, 30_000);
});
