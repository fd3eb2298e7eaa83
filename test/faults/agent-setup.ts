/** A house as processes: a broker, a plug on it that keeps its state there, and the agent made of the source, in as many lives as are wanted. */

import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { freePort, type Mosquitto, type MosquittoOptions, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, type SpiedMessage, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { type RunningProcess, startProcess } from '../doubles/running-process.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';

const LOAD_SET_TOPIC = 'gridtide/cellar/loads/plug/set';
export const PLUG_COMMAND_TOPIC = 'home/plug/set';
export const PLUG_STATE_TOPIC = 'home/plug/state';
export const AVAILABILITY_TOPIC = 'gridtide/cellar/availability';

/** The agent as a program, made once for the file that calls it. */
export function bundleAgentForTests(): { readonly path: string } {
  let program: BundledProgram | undefined;
  beforeAll(async () => {
    program = await bundleProgram(join(import.meta.dirname, '..', '..', 'src', 'main.ts'), ['onoff', 'pino-pretty']);
  });
  afterAll(() => program?.remove());
  return {
    get path() {
      return program?.path ?? '';
    },
  };
}

export interface AgentSetup {
  readonly config: string;
  readonly state: string;
  readonly directory: string;
  readonly mosquitto: Mosquitto;
  readonly spy: MqttSpy;
  /** While set, the plug keeps its state whatever it is told. */
  isDeaf: boolean;
}

export interface AgentSetupOptions {
  readonly onStop?: 'failsafe' | 'hold';
  /** Address of the signal service; nothing is there unless said otherwise. */
  readonly service?: string;
  /** Lines added to the configuration. */
  readonly lines?: string;
  /** User name and password at the service, and at a broker that wants one. */
  readonly account?: Login;
  readonly broker?: Login;
  /** Where the agent looks for its broker, when that is not where the spy is. */
  readonly brokerUrl?: string;
}

interface Login {
  readonly username: string;
  readonly password: string;
}

/** A broker that lets in the agent and the spy alone. */
const passwordProtected = (...users: readonly Login[]): MosquittoOptions => ({
  lines: ['allow_anonymous false', 'password_file DIR/passwords'],
  files: { passwords: '' },
  prepare: (directory) => {
    for (const { username, password } of users)
      execFileSync('mosquitto_passwd', ['-b', join(directory, 'passwords'), username, password]);
  },
});
const SPY_LOGIN: Login = { username: 'spy', password: 'looks-at-all' };

/** All of it is taken away after the test. */
export async function createAgentSetup({
  onStop = 'failsafe',
  service,
  lines = '',
  account = { username: 'owner', password: 'owner' },
  broker,
  brokerUrl,
}: AgentSetupOptions = {}): Promise<AgentSetup> {
  const mosquitto = stopAfterTest(
    await startMosquitto(broker === undefined ? {} : passwordProtected(broker, SPY_LOGIN)),
  );
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-cellar-'));
  afterTest(() => rm(directory, { recursive: true, force: true }));
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
    output: {kind: mqtt, preset: switch, topic: ${PLUG_COMMAND_TOPIC}, stateTopic: ${PLUG_STATE_TOPIC}}
    powerKw: 2
    minOn: 0s
    minOff: 0s
    failSafe: "off"
    onStop: ${onStop}
${lines}
`,
    { mode: 0o600 },
  );
  const spy = stopAfterTest(await startMqttSpy(mosquitto.url, broker === undefined ? {} : { ...SPY_LOGIN }));
  const setup = { config, state, directory, mosquitto, spy, isDeaf: false };
  spy.onMessage(({ topic, text }) => {
    if (topic === PLUG_COMMAND_TOPIC && !setup.isDeaf) void spy.publish(PLUG_STATE_TOPIC, text, { retain: true });
  });
  await spy.publish(PLUG_STATE_TOPIC, 'off', { retain: true });
  return setup;
}

export interface AgentRunOptions {
  /** For node, in front of the program. */
  readonly nodeArguments?: readonly string[];
  /** For the agent, behind the configuration. */
  readonly agentArguments?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export function startAgentProcess(
  program: { readonly path: string },
  { config, directory }: AgentSetup,
  { nodeArguments: before = [], agentArguments: behind = [], env = {} }: AgentRunOptions = {},
) {
  const words = [...before, program.path, 'run', '--config', config, ...behind];
  return stopAfterTest(startProcess(process.execPath, words, { ...buildEnvironment(directory), ...env }));
}

/** For node: from the SIGTERM that the agent handles to its end the process counts the tenths of a second in which it can act, or those of its processor time where they are more, and prints them. */
export const COUNT_TENTHS: readonly string[] = [
  '--import',
  `data:text/javascript,${encodeURIComponent(`let tenths = 0;
process.once('newListener', function watch(name) {
  if (name !== 'SIGTERM') return process.once('newListener', watch);
  let begun;
  process.once('SIGTERM', () => { begun = process.cpuUsage(); setInterval(() => { tenths += 1; }, 100).unref(); });
  process.once('exit', () => {
    const { user = 0, system = 0 } = begun && process.cpuUsage(begun);
    process._rawDebug('ended in ' + Math.max(tenths, Math.floor((user + system) / 1e5)));
  });
});`)}`,
];

/** SIGTERM to a process that counts: its exit code, and the seconds of its end without those for which the machine stopped it. */
export async function terminateCounted(
  agent: RunningProcess,
): Promise<{ readonly code: number | null; readonly seconds: number }> {
  const code = await agent.terminate();
  const line = agent.lines.find((one) => one.startsWith('ended in '));
  if (code !== null && line === undefined) throw new Error('the process did not count');
  return { code, seconds: Number(line?.slice('ended in '.length) ?? 0) / 10 };
}

export const buildEnvironment = (directory: string) => ({ ...process.env, RUNTIME_DIRECTORY: directory });

export const isOnline = ({ topic, text }: SpiedMessage) => topic === AVAILABILITY_TOPIC && text === 'online';
export const isOffline = ({ topic, text }: SpiedMessage) => topic === AVAILABILITY_TOPIC && text === 'offline';
export const publishOverride = (spy: MqttSpy, level: 'on' | 'off') =>
  spy.publish(LOAD_SET_TOPIC, JSON.stringify({ command: 'override', level, for: '2h' }));
