/** `gridtide run`: runs the agent in the foreground with the real adapters until a signal stops it. */

import { createAgent } from '../../agent/agent.ts';
import type { Config } from '../../config/config.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { isLoopback } from '../../domain/loopback.ts';
import type { Clock, Http, Ports } from '../../domain/ports.ts';
import { hours, type Instant, milliseconds, seconds } from '../../domain/units.ts';
import { readBootId } from '../../platform/boot-id.ts';
import { createFailsafeFile } from '../../platform/failsafe-file.ts';
import { createFileDisk } from '../../platform/file-disk.ts';
import { createHttp } from '../../platform/http-client.ts';
import { createBrokerFactory } from '../../platform/mqtt-broker.ts';
import { createLogging, type Logging } from '../../platform/pino-log.ts';
import { setProcessTimezone } from '../../platform/process-timezone.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets, findSecretProblems } from '../../platform/secret-files.ts';
import { findOtherAgent, registerAgent } from '../../platform/single-instance.ts';
import { createScaledClock, createSystemClock } from '../../platform/system-clock.ts';
import { createSystemdHost } from '../../platform/systemd.ts';
import { holdsCertificate } from '../shared/ca-file.ts';
import {
  type Arguments,
  type CommandSpec,
  errorMessage,
  JobError,
  type Terminal,
  UsageError,
} from '../shared/command.ts';
import { parseAllFlags, parseTimeFlag } from '../shared/flag-parsers.ts';
import { listConfiguredFiles, loadConfigWithPaths } from '../shared/load-configuration.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import { VERSION } from '../shared/version.ts';

type Row = 'config' | 'state' | 'now' | 'speed';

export const spec: CommandSpec<Row> = {
  name: 'run',
  positionals: '',
  options: {
    config: { value: 'FILE', help: 'configuration (YAML); gridtide init writes one' },
    state: STATE_ROW,
    now: { value: 'TIME', help: 'start the clock here; only against a loopback service, without GPIO' },
    speed: { value: 'X', help: 'how many times faster than real time; with --now' },
  },
};

interface Acceleration {
  readonly start: Instant;
  readonly speed: number;
}

const usesGpio = ({ loads }: Config) => loads.some(({ output: { kind } }) => kind === 'relay' || kind === 'sg-ready');

/** Undefined for real time. Throws `UsageError` where accelerated time could switch real loads. */
function parseAcceleration(args: Arguments<Row>, config: Config): Acceleration | undefined {
  const { start, speed } = parseAllFlags({
    start: () => parseTimeFlag(args, 'now'),
    speed: () => args.number('speed', { from: 0.001, to: 100_000 }),
  });
  if (start === undefined && speed === undefined) return undefined;
  const mistakes: string[] = [];
  if (start === undefined) mistakes.push('--speed needs --now TIME');
  if (!isLoopback(new URL(config.service.url).hostname))
    mistakes.push(`--now and --speed need a loopback service; service.url is ${config.service.url}`);
  if (usesGpio(config)) mistakes.push('--now and --speed never drive GPIO lines; use dry-run or mqtt outputs');
  if (start === undefined || mistakes.length > 0) throw new UsageError(...mistakes);
  return { start, speed: speed ?? 1 };
}

/** The agent and the reference service start at different moments, so the agent adopts the service's clock where it answers. */
async function joinServiceClock(http: Http, url: string, { start, speed }: Acceleration): Promise<Clock> {
  const before = performance.now();
  const answer = await http.request({
    method: 'GET',
    url: `${url}/`,
    headers: {},
    deadline: seconds(5),
    maxBytes: 65_536,
  });
  const halfRoundTrip = milliseconds(((performance.now() - before) / 2) * speed);
  const now = 'date' in answer && answer.date !== undefined ? ((answer.date + halfRoundTrip) as Instant) : start;
  const isNear = Math.abs(now - start) < hours(24 * 31);
  return { ...createScaledClock({ start: isNear ? now : start, speed }), speed };
}

async function readServiceCa(
  { service: { ca } }: Config,
  credentials: string | undefined,
): Promise<{ readonly ca?: string }> {
  if (ca === undefined) return {};
  const text = await createSecrets({ credentials }).read(ca);
  if (text === undefined || !holdsCertificate(text))
    throw new UsageError(`service.ca: ${ca} cannot be read, or holds no certificate: expected PEM`);
  return { ca: text };
}

interface AgentWorld {
  readonly world: Ports;
  readonly logging: Logging;
}

async function createAgentWorld(config: LocatedConfig, args: Arguments<Row>, terminal: Terminal): Promise<AgentWorld> {
  const { env } = terminal;
  const acceleration = parseAcceleration(args, config);
  const http = createHttp(await readServiceCa(config, env.CREDENTIALS_DIRECTORY));
  const systemClock = createSystemClock();
  const clock =
    acceleration === undefined ? systemClock : await joinServiceClock(http, config.service.url, acceleration);
  const logging = await createLogging({
    level: config.logLevel,
    interactive: terminal.interactive,
    now: () => clock.now().wall,
  });
  const random = createSystemRandom();
  const world: Ports = {
    clock,
    random,
    http,
    disk: createFileDisk(config.state),
    ...(env.RUNTIME_DIRECTORY === undefined ? {} : { scratch: createFileDisk(env.RUNTIME_DIRECTORY) }),
    broker: createBrokerFactory({ clock: systemClock, random }),
    failsafe: createFailsafeFile(env.RUNTIME_DIRECTORY),
    serviceManager: createSystemdHost(env),
    log: logging.log,
    secrets: createSecrets({
      credentials: env.CREDENTIALS_DIRECTORY,
      // A user name is not secret, and hiding a common word would hide half the log.
      onRead: (text, path) => {
        if (path === config.service.passwordFile || path === config.mqtt?.passwordFile) logging.hideSecret(text);
      },
    }),
    bootId: acceleration === undefined ? readBootId(env.RUNTIME_DIRECTORY) : undefined,
    // onoff is an optional dependency with a compiled part: imported only for loads on GPIO lines.
    ...(usesGpio(config) ? { pins: (await import('../../platform/gpio-lines.ts')).createPins() } : {}),
  };
  return { world, logging };
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const config = await loadConfigWithPaths(args.text('config'), terminal, { state: args.text('state') });
  const problems = await findSecretProblems(listConfiguredFiles(config), terminal.env.CREDENTIALS_DIRECTORY);
  if (problems.length > 0) throw new UsageError(...problems.map(({ at, text }) => `${at}: ${text}`));
  setProcessTimezone(config.place.timezone);
  const { world, logging } = await createAgentWorld(config, args, terminal);
  const otherAgent = await findOtherAgent(world.disk);
  if (otherAgent !== undefined)
    throw new JobError(
      `an agent runs on ${config.state} already (process ${otherAgent}), and two must not drive the same loads; stop that one first, or give this one its own "device" and --state`,
    );
  // Not awaited: the loads come first.
  void registerAgent(world.disk);
  // Through the log, which hides secrets and does not wait for its reader.
  terminal.onCrash?.((error) => {
    logging.log('error', `gridtide ends because of an internal error: ${errorMessage(error)}; a restart continues`, {
      err: error,
    });
    logging.flush();
  });
  const agent = createAgent({ config, world, version: VERSION });
  const stopped = whenAborted(terminal.stop);
  try {
    // A stop does not wait for a start that waits for a broker or a device.
    await Promise.race([stopped, agent.start()]);
  } catch (error) {
    await agent.stop();
    logging.flush();
    throw error instanceof Error ? new JobError(`the agent could not start: ${error.message}`) : error;
  }
  await stopped;
  await agent.stop();
  logging.flush();
  return 0;
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
