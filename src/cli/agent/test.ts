/** `gridtide test`: switches one load by hand, within its guards, and reads back: through the running agent, else by opening the output itself. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import { formatDuration, parseDuration } from '../../domain/duration-text.ts';
import { isSgReady, toSupportedLevel } from '../../domain/levels.ts';
import type { Level, LoadConfig } from '../../domain/load-types.ts';
import type { Clock } from '../../domain/ports.ts';
import { type Duration, hours, seconds } from '../../domain/units.ts';
import { buildTopics } from '../../mqtt/topics.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import type { BrokerLink } from './broker-link.ts';
import { findLoad, type LoadTest, type LoadTestResult } from './load-test.ts';

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

const MAX_LENGTH = hours(1);

function parseLevelFlag(load: LoadConfig, said: string | undefined): Level {
  const levels: readonly Level[] = isSgReady(load) ? ['on', 'off', 'block', 'normal', 'recommend'] : ['on', 'off'];
  const level = levels.find((one) => one === said);
  if (level === undefined) throw new UsageError(`--level ${said}: "${load.name}" knows ${levels.join(', ')}`);
  return toSupportedLevel(load, level);
}

function parseLengthFlag(said: string): Duration {
  const length = parseDuration(said);
  if (length === undefined || length < seconds(1) || length > MAX_LENGTH)
    throw new UsageError(`--for ${said}: expected a length from 1s to ${formatDuration(MAX_LENGTH)}, such as 10s`);
  return length;
}

const AGENT_UNKNOWN =
  'whether the agent runs cannot be known, and two programs must not drive one output: start the broker, or stop the agent and add --alone';

/** The link to the broker, where one is configured; undefined when the person vouches that no agent runs. */
async function connectUnlessAlone(
  config: LocatedConfig,
  isAlone: boolean,
  { env, stop }: Terminal,
): Promise<BrokerLink | undefined> {
  if (config.mqtt === undefined) return undefined;
  const { openBrokerLink: linkToBroker } = await import('./broker-link.ts');
  const link = await linkToBroker(config, env, { purpose: 'test', stop });
  if (typeof link !== 'string') return link;
  if (!isAlone) throw new JobError(`${link}; ${AGENT_UNKNOWN}`);
  return undefined;
}

async function runLoadTest(
  loadTest: LoadTest,
  link: BrokerLink | undefined,
  terminal: Terminal,
): Promise<LoadTestResult> {
  const availability = await link?.readRetained(buildTopics(loadTest.config).availability);
  if (link !== undefined && availability === 'online') {
    const { testThroughAgent } = await import('./test-by-agent.ts');
    return testThroughAgent(loadTest, link, terminal);
  }
  const { testDirectly } = await import('./test-direct.ts');
  return testDirectly(loadTest, link, terminal);
}

export async function run(
  args: Arguments<Row>,
  terminal: Terminal,
  clock: Clock = createSystemClock(),
): Promise<number> {
  const config = await loadConfigWithPaths(args.text('config'), { env: terminal.env, state: args.text('state') });
  const load = findLoad(config, args.positionals);
  const loadTest: LoadTest = {
    config,
    load,
    level: parseLevelFlag(load, args.text('level')),
    length: parseLengthFlag(args.text('for') ?? ''),
    clock,
  };
  if (load.observeOnly)
    throw new JobError(`"${load.name}" has observeOnly: true and is never switched: set observeOnly: false first`);
  const link = await connectUnlessAlone(config, args.flag('alone'), terminal);
  try {
    const outcome = await runLoadTest(loadTest, link, terminal);
    if (args.flag('json')) terminal.out(`${JSON.stringify({ load: load.name, level: loadTest.level, ...outcome })}\n`);
    else terminal.out(`${outcome.words}\n`);
  } finally {
    await link?.close();
  }
  return 0;
}
