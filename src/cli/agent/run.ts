/** `gridtide run`: runs the agent in the foreground with the real adapters until a signal stops it. */

import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../domain/loopback.ts';
import type { Clock, Http } from '../../domain/ports.ts';
import { hours, type Instant, milliseconds, seconds } from '../../domain/units.ts';
import { createHttp } from '../../platform/http-client.ts';
import { adoptFirstTimezone } from '../../platform/process-timezone.ts';
import { createSecrets, findSecretProblems } from '../../platform/secret-files.ts';
import { createScaledClock } from '../../platform/system-clock.ts';
import { holdsCertificate } from '../shared/ca-file.ts';
import { type Arguments, type CommandSpec, type Terminal, UsageError } from '../shared/command.ts';
import { parseClockFlag } from '../shared/flag-parsers.ts';
import { listConfiguredFiles, loadConfigWithPaths } from '../shared/load-configuration.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import { runAgent } from './agent-process.ts';
import { usesGpio } from './open-gpio.ts';

export const spec = {
  name: 'run',
  positionals: '',
  options: {
    config: { value: 'FILE', help: 'configuration (YAML); gridtide init writes one' },
    state: STATE_ROW,
    now: { value: 'TIME', help: 'start the clock here; only against a loopback service, without GPIO' },
    speed: {
      value: 'X',
      range: { from: 0.001, to: 100_000 },
      help: 'how many times faster than real time; with --now',
    },
  },
  notes: [
    'Ctrl-C leaves each load at its fail-safe level (failSafe): a car and a tank may then run, other loads are off or normal,',
    'unless configured otherwise. A device with a release goes back to its own rules. onStop: hold keeps the present level.',
    'It goes on when nobody reads its log any more.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

interface Acceleration {
  readonly start: Instant;
  readonly speed: number;
}

/** Undefined for real time. Throws `UsageError` where accelerated time could switch real loads. */
function parseAcceleration(args: Arguments<Row>, config: Config): Acceleration | undefined {
  const [start, speed] = [parseClockFlag(args, 'now'), args.number('speed')];
  if (start === undefined && speed === undefined) return undefined;
  const mistakes: string[] = [];
  if (start === undefined) mistakes.push('--speed needs --now TIME');
  const { url } = config.service;
  if (url === undefined || !isLoopback(new URL(url).hostname))
    mistakes.push(`--now and --speed need a loopback service; service.url is ${url ?? 'not given'}`);
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

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  adoptFirstTimezone();
  const config = await loadConfigWithPaths(args.text('config'), terminal, { state: args.text('state') });
  const problems = await findSecretProblems(listConfiguredFiles(config), terminal.env.CREDENTIALS_DIRECTORY);
  if (problems.length > 0) throw new UsageError(...problems.map(({ at, text }) => `${at}: ${text}`));
  const acceleration = parseAcceleration(args, config);
  const http = createHttp(await readServiceCa(config, terminal.env.CREDENTIALS_DIRECTORY));
  const { url = '' } = config.service;
  const clock = acceleration && (await joinServiceClock(http, url, acceleration));
  return runAgent(config, { http, clock }, terminal);
}
