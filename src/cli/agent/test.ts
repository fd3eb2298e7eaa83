/** `gridtide test`: switches one load by hand within its limits and reads it back, through the running agent or else directly. */

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

export const spec = {
  name: 'test',
  positionals: 'LOAD',
  options: {
    level: { value: 'LEVEL', help: 'on or off; SG-Ready also block, normal, recommend', default: 'on' },
    for: { value: 'LENGTH', help: 'how long, such as 10s or 5m; at most 1h', default: '10s' },
    config: { value: 'FILE', help: 'configuration (YAML)' },
    state: STATE_ROW,
    alone: { help: 'the agent is certainly stopped: open the output here although the broker cannot confirm it' },
    json: { help: 'one JSON document at the end' },
  },
  notes: [
    'A running agent executes the test as an override; minimum times apply afterwards. Without an agent this command',
    'opens the output. After the time, or at Ctrl-C, it restores the level from before; it sets the fail-safe level',
    'instead when that level is unknown, or would let the load run although the fail-safe level does not.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

const MAX_LENGTH = hours(1);

function parseLevelFlag(load: LoadConfig, given: string | undefined): Level {
  const levels: readonly Level[] = isSgReady(load) ? ['on', 'off', 'block', 'normal', 'recommend'] : ['on', 'off'];
  const level = levels.find((one) => one === given);
  if (level === undefined)
    throw new UsageError(`--level ${given}: expected a level of "${load.name}": ${levels.join(', ')}`);
  return toSupportedLevel(load, level);
}

function parseLengthFlag(given: string): Duration {
  const length = parseDuration(given);
  if (length === undefined || length < seconds(1) || length > MAX_LENGTH)
    throw new UsageError(`--for ${given}: expected a duration from 1s to ${formatDuration(MAX_LENGTH)}, such as 10s`);
  return length;
}

const AGENT_UNKNOWN =
  'so it is unknown whether the agent runs, and two programs must not drive one output: start the broker, or stop the agent and add --alone';

/** The connection to the configured broker; undefined without one, or when `--alone` states that no agent runs. */
async function connectUnlessAlone(
  config: LocatedConfig,
  isAlone: boolean,
  { env, stop }: Terminal,
): Promise<BrokerLink | undefined> {
  if (config.mqtt === undefined) return undefined;
  const { openBrokerLink } = await import('./broker-link.ts');
  const link = await openBrokerLink(config, env, { purpose: 'test', stop });
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
  const config = await loadConfigWithPaths(args.text('config'), terminal, { state: args.text('state') });
  const load = findLoad(config, args.positionals);
  const loadTest: LoadTest = {
    config,
    load,
    level: parseLevelFlag(load, args.text('level')),
    length: parseLengthFlag(args.text('for') ?? ''),
    clock,
  };
  if (load.observeOnly)
    throw new JobError(`"${load.name}" has observeOnly: true and is never switched; set observeOnly: false first`);
  const link = await connectUnlessAlone(config, args.flag('alone'), terminal);
  try {
    const outcome = await runLoadTest(loadTest, link, terminal);
    if (args.flag('json')) terminal.out(`${JSON.stringify({ load: load.name, level: loadTest.level, ...outcome })}\n`);
    else terminal.out(`${outcome.text}\n`);
  } finally {
    await link?.close();
  }
  return 0;
}
