/** A house as processes: a broker, a plug on it that keeps its state there, and the agent made of the source, in as many lives as are wanted. */

import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { afterwards, kept } from '../doubles/kept.ts';
import { freePort, type Mosquitto, type MosquittoOptions, startMosquitto } from '../doubles/mosquitto.ts';
import { type Heard, type Spy, startSpy } from '../doubles/mqtt-spy.ts';
import { startProcess } from '../doubles/process.ts';
import { makeProgram, type Program } from '../doubles/program.ts';

export const SET = 'gridtide/cellar/loads/plug/set';
export const COMMAND = 'home/plug/set';
export const STATE = 'home/plug/state';
export const AVAILABILITY = 'gridtide/cellar/availability';

/** The agent as a program, made once for the file that calls it. */
export function agentProgram(): { readonly path: string } {
  let program: Program | undefined;
  beforeAll(async () => {
    program = await makeProgram(join(import.meta.dirname, '..', '..', 'src', 'main.ts'), ['onoff', 'pino-pretty']);
  });
  afterAll(() => program?.remove());
  return {
    get path() {
      return program?.path ?? '';
    },
  };
}

export interface Cellar {
  readonly config: string;
  readonly state: string;
  readonly directory: string;
  readonly mosquitto: Mosquitto;
  readonly spy: Spy;
  /** While set, the plug keeps its state whatever it is told. */
  isDeaf: boolean;
}

export interface CellarOptions {
  readonly onStop?: 'failsafe' | 'hold';
  /** Address of the signal service; nothing is there unless said otherwise. */
  readonly service?: string;
  /** Lines added to the configuration. */
  readonly lines?: string;
  /** User name and password at the service, and at a broker that wants one. */
  readonly account?: Words;
  readonly broker?: Words;
  /** Where the agent looks for its broker, when that is not where the spy is. */
  readonly brokerUrl?: string;
}

export interface Words {
  readonly username: string;
  readonly password: string;
}

/** A broker that lets in the agent and the spy alone. */
const guarded = (...users: readonly Words[]): MosquittoOptions => ({
  lines: ['allow_anonymous false', 'password_file DIR/passwords'],
  files: { passwords: '' },
  prepare: (directory) => {
    for (const { username, password } of users)
      execFileSync('mosquitto_passwd', ['-b', join(directory, 'passwords'), username, password]);
  },
});
const SPY: Words = { username: 'spy', password: 'looks-at-all' };

/** All of it is taken away after the test. */
export async function openCellar({
  onStop = 'failsafe',
  service,
  lines = '',
  account = { username: 'owner', password: 'owner' },
  broker,
  brokerUrl,
}: CellarOptions = {}): Promise<Cellar> {
  const mosquitto = kept(await startMosquitto(broker === undefined ? {} : guarded(broker, SPY)));
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-cellar-'));
  afterwards(() => rm(directory, { recursive: true, force: true }));
  const state = join(directory, 'state');
  const config = join(directory, 'gridtide.yaml');
  const files = {
    username: account.username,
    password: account.password,
    'broker-username': broker?.username ?? '',
    'broker-password': broker?.password ?? '',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text, { mode: 0o600 });
  const login =
    broker === undefined
      ? ''
      : `, usernameFile: ${directory}/broker-username, passwordFile: ${directory}/broker-password`;
  await writeFile(
    config,
    `
device: cellar
state: ${state}
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${service ?? `http://127.0.0.1:${await freePort()}`}", usernameFile: ${directory}/username, passwordFile: ${directory}/password}
mqtt: {url: "${brokerUrl ?? mosquitto.url}"${login}}
loads:
  plug:
    type: generic
    output: {kind: mqtt, preset: switch, topic: ${COMMAND}, stateTopic: ${STATE}}
    powerKw: 2
    minOn: 0s
    minOff: 0s
    failSafe: "off"
    onStop: ${onStop}
${lines}
`,
    { mode: 0o600 },
  );
  const spy = kept(await startSpy(mosquitto.url, broker === undefined ? {} : { ...SPY }));
  const cellar = { config, state, directory, mosquitto, spy, isDeaf: false };
  spy.each(({ topic, text }) => {
    if (topic === COMMAND && !cellar.isDeaf) void spy.publish(STATE, text, { retain: true });
  });
  await spy.publish(STATE, 'off', { retain: true });
  return cellar;
}

export interface Life {
  /** For node, in front of the program. */
  readonly before?: readonly string[];
  /** For the agent, behind the configuration. */
  readonly behind?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export function runAgent(
  program: { readonly path: string },
  { config, directory }: Cellar,
  { before = [], behind = [], env = {} }: Life = {},
) {
  const words = [...before, program.path, 'run', '--config', config, ...behind];
  return kept(startProcess(process.execPath, words, { ...environmentOf(directory), ...env }));
}

export const environmentOf = (directory: string) => ({ ...process.env, RUNTIME_DIRECTORY: directory });

export const isOnline = ({ topic, text }: Heard) => topic === AVAILABILITY && text === 'online';
export const isOffline = ({ topic, text }: Heard) => topic === AVAILABILITY && text === 'offline';
export const turn = (spy: Spy, level: 'on' | 'off') =>
  spy.publish(SET, JSON.stringify({ command: 'override', level, for: '2h' }));
