/** `gridtide test`: switches one load by hand, within its guards, and reads back: through the running agent, else by opening the output itself. */

import type { Level, LoadConfig } from '../config/config.ts';
import type { Located } from '../config/sources.ts';
import { durationOf, durationText } from '../config/written.ts';
import { isSgReady, nearest } from '../control/levels.ts';
import { createSystemClock } from '../platform/clock.ts';
import { type Duration, hours, seconds } from '../units.ts';
import type { Clock } from '../world.ts';
import type { BrokerLink } from './broker-link.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { locatedConfig } from './configuration.ts';
import { STATE_ROW } from './state-directory.ts';
import { loadNamed, type Outcome, type Trial } from './trial.ts';

type Row = 'config' | 'state' | 'level' | 'for' | 'alone' | 'json';

export const spec: CommandSpec<Row> = {
  name: 'test',
  summary: 'switches one load by hand, within its guards, and reads back',
  positionals: 'LOAD',
  options: {
    level: { value: 'LEVEL', help: 'on or off; SG-Ready also block, normal, recommend', default: 'on' },
    for: { value: 'LENGTH', help: 'how long, such as 10s or 5m; at most 1h', default: '10s' },
    config: { value: 'FILE', help: 'configuration (YAML)' },
    state: STATE_ROW,
    alone: { help: 'the agent is stopped for certain: open the output here though the broker cannot tell' },
    json: { help: 'one JSON document at the end' },
  },
  notes: [
    'A running agent carries it out as an override and its minimum times hold afterwards. Without one the output',
    'is opened here, and after the time and at Ctrl-C goes back to what it was: to its fail-safe level where that',
    'cannot be told, or was running although the fail-safe level is not.',
  ],
};

const LONGEST = hours(1);

function levelOf(load: LoadConfig, said: string | undefined): Level {
  const levels: readonly Level[] = isSgReady(load) ? ['on', 'off', 'block', 'normal', 'recommend'] : ['on', 'off'];
  const level = levels.find((one) => one === said);
  if (level === undefined) throw new UsageError(`--level ${said}: "${load.name}" knows ${levels.join(', ')}`);
  return nearest(load, level);
}

function lengthOf(said: string): Duration {
  const length = durationOf(said);
  if (length === undefined || length < seconds(1) || length > LONGEST)
    throw new UsageError(`--for ${said}: expected a length from 1s to ${durationText(LONGEST)}, such as 10s`);
  return length;
}

const UNKNOWN =
  'whether the agent runs cannot be known, and two programs must not drive one output: start the broker, or stop the agent and add --alone';

/** The link to the broker, where one is configured; undefined when the person vouches that no agent runs. */
async function linkFor(config: Located, isAlone: boolean, { env, stop }: Terminal): Promise<BrokerLink | undefined> {
  if (config.mqtt === undefined) return undefined;
  const { linkToBroker } = await import('./broker-link.ts');
  const link = await linkToBroker(config, env, { purpose: 'test', stop });
  if (typeof link !== 'string') return link;
  if (!isAlone) throw new JobError(`${link}; ${UNKNOWN}`);
  return undefined;
}

async function carriedOut(trial: Trial, link: BrokerLink | undefined, terminal: Terminal): Promise<Outcome> {
  const availability = await link?.stored(`gridtide/${trial.config.device}/availability`);
  if (link !== undefined && availability === 'online') {
    const { testThroughAgent } = await import('./test-by-agent.ts');
    return testThroughAgent(trial, link, terminal);
  }
  const { testDirectly } = await import('./test-direct.ts');
  return testDirectly(trial, link, terminal);
}

export async function run(
  args: Arguments<Row>,
  terminal: Terminal,
  clock: Clock = createSystemClock(),
): Promise<number> {
  const config = await locatedConfig(args.text('config'), { env: terminal.env, state: args.text('state') });
  const load = loadNamed(config, args.positionals);
  const trial: Trial = {
    config,
    load,
    level: levelOf(load, args.text('level')),
    length: lengthOf(args.text('for') ?? ''),
    clock,
  };
  if (load.shadow) throw new JobError(`"${load.name}" is in shadow and never switched: set shadow: false first`);
  const link = await linkFor(config, args.flag('alone'), terminal);
  try {
    const outcome = await carriedOut(trial, link, terminal);
    if (args.flag('json')) terminal.out(`${JSON.stringify({ load: load.name, level: trial.level, ...outcome })}\n`);
    else terminal.out(`${outcome.words}\n`);
  } finally {
    await link?.close();
  }
  return 0;
}
