/** `gridtide run`: the agent for real, in the foreground, until told to stop. Puts its world together; decides nothing of loads. */

import { createAgent } from '../agent.ts';
import { isLoopback } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import type { Located } from '../config/sources.ts';
import { bootName } from '../platform/boot.ts';
import { createBrokers } from '../platform/broker.ts';
import { createScaledClock, createSystemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import { createFailsafeFile } from '../platform/failsafe-file.ts';
import { createHost } from '../platform/host.ts';
import { createHttp } from '../platform/http.ts';
import { createLog, type Logging } from '../platform/log.ts';
import { liveIn } from '../platform/own-zone.ts';
import { createSystemRandom } from '../platform/random.ts';
import { createSecrets } from '../platform/secrets.ts';
import { otherAgentOn, takeFor } from '../platform/sole.ts';
import { hours, type Instant, milliseconds, seconds } from '../units.ts';
import type { Clock, Http, World } from '../world.ts';
import { allAsked, timeAsked } from './asked.ts';
import { authorityIn } from './authority.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { locatedConfig } from './configuration.ts';
import { STATE_ROW } from './state-directory.ts';
import { VERSION } from './version.ts';

type Row = 'config' | 'state' | 'now' | 'speed';

export const spec: CommandSpec<Row> = {
  name: 'run',
  summary: 'the agent, in the foreground',
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

const usesPins = ({ loads }: Config) => loads.some(({ output: { kind } }) => kind === 'relay' || kind === 'sg-ready');

/** Undefined for real time. Throws `UsageError` where accelerated time could do harm. */
function accelerationOf(args: Arguments<Row>, config: Config): Acceleration | undefined {
  const { start, speed } = allAsked({
    start: () => timeAsked(args, 'now'),
    speed: () => args.number('speed', { from: 0.001, to: 100_000 }),
  });
  if (start === undefined && speed === undefined) return undefined;
  const mistakes: string[] = [];
  // Faster from when on? A service that stands elsewhere in time would be joined by chance.
  if (start === undefined) mistakes.push('--speed goes with --now TIME');
  if (!isLoopback(new URL(config.service.url)))
    mistakes.push(`--now and --speed are for a loopback service; service.url is ${config.service.url}`);
  if (usesPins(config)) mistakes.push('--now and --speed never drive GPIO lines; use dry-run or mqtt outputs');
  if (start === undefined || mistakes.length > 0) throw new UsageError(...mistakes);
  return { start, speed: speed ?? 1 };
}

/** Two programs started one after the other do not share a clock: ours joins the service's, where it answers. */
async function joined(http: Http, url: string, { start, speed }: Acceleration): Promise<Clock> {
  const before = performance.now();
  const answer = await http.request({
    method: 'GET',
    url: `${url}/`,
    headers: {},
    deadline: seconds(5),
    maxBytes: 65_536,
  });
  const half = milliseconds(((performance.now() - before) / 2) * speed);
  const now = 'date' in answer && answer.date !== undefined ? ((answer.date + half) as Instant) : start;
  const isNear = Math.abs(now - start) < hours(24 * 31);
  return { ...createScaledClock({ start: isNear ? now : start, speed }), speed };
}

async function certificateOf({ service: { ca } }: Config): Promise<{ readonly ca?: string }> {
  if (ca === undefined) return {};
  const text = await authorityIn(ca);
  if (text === undefined)
    throw new UsageError(`service.ca: ${ca} cannot be read, or holds no certificate: expected PEM`);
  return { ca: text };
}

interface Surroundings {
  readonly world: World;
  readonly logging: Logging;
}

async function worldOf(config: Located, args: Arguments<Row>, terminal: Terminal): Promise<Surroundings> {
  const { env } = terminal;
  const acceleration = accelerationOf(args, config);
  const http = createHttp(await certificateOf(config));
  const machine = createSystemClock();
  const clock = acceleration === undefined ? machine : await joined(http, config.service.url, acceleration);
  const logging = await createLog({
    level: config.logLevel,
    interactive: terminal.interactive,
    now: () => clock.now().wall,
  });
  const random = createSystemRandom();
  const world: World = {
    clock,
    random,
    http,
    disk: createDisk(config.state),
    ...(env.RUNTIME_DIRECTORY === undefined ? {} : { scratch: createDisk(env.RUNTIME_DIRECTORY) }),
    broker: createBrokers({ clock: machine, random }),
    failsafe: createFailsafeFile(env.RUNTIME_DIRECTORY),
    host: createHost(env),
    log: logging.log,
    secrets: createSecrets({
      credentials: env.CREDENTIALS_DIRECTORY,
      // A user name is no secret, and as a common word it would hide half the log.
      conceal: (text, path) => {
        if (path === config.service.passwordFile || path === config.mqtt?.passwordFile) logging.conceal(text);
      },
    }),
    boot: acceleration === undefined ? bootName(env.RUNTIME_DIRECTORY) : undefined,
    // onoff is an optional dependency with a compiled part: loaded for those who have lines to drive.
    ...(usesPins(config) ? { pins: (await import('../platform/pins.ts')).createPins() } : {}),
  };
  return { world, logging };
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const config = await locatedConfig(args.text('config'), { env: terminal.env, state: args.text('state') });
  liveIn(config.place.timezone);
  const { world, logging } = await worldOf(config, args, terminal);
  const other = await otherAgentOn(world.disk);
  if (other !== undefined)
    throw new JobError(
      `an agent runs on ${config.state} already (process ${other}), and two must not drive the same loads; stop that one first, or give this one its own "device" and --state`,
    );
  // Not waited for: the loads come first.
  void takeFor(world.disk);
  // Through the log, which hides secrets and waits for no reader.
  terminal.crashed?.((error) => {
    logging.log('error', `gridtide ends on a fault of its own: ${messageOf(error)}; started anew it goes on`, {
      err: error,
    });
    logging.flush();
  });
  const agent = createAgent({ config, world, version: VERSION });
  const told = aborted(terminal.stop);
  try {
    // A start that waits, for a broker or a device, is not waited for.
    await Promise.race([told, agent.start()]);
  } catch (error) {
    await agent.stop();
    logging.flush();
    throw error instanceof Error ? new JobError(`the agent could not start: ${error.message}`) : error;
  }
  await told;
  await agent.stop();
  logging.flush();
  return 0;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
