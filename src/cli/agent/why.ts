/** `gridtide why`: the present decision of a load in words, and what comes next: from the broker, else as last saved. Decides nothing itself. */

import { createDocumentStore } from '../../agent/document-store.ts';
import { createPersistence } from '../../agent/persistence.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { explainDecision } from '../../control/explain.ts';
import { parseInstant } from '../../domain/iso-time.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { formatClockTime } from '../../domain/local-time.ts';
import { formatInstant, type Instant } from '../../domain/units.ts';
import { buildLoadPayload } from '../../mqtt/payloads.ts';
import { buildTopics } from '../../mqtt/topics.ts';
import { createFileDisk } from '../../platform/file-disk.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { createDiskErrorPrinter, STATE_ROW } from '../shared/state-directory.ts';
import { findLoad, type JsonDocument, parseDocument } from './load-test.ts';

type Row = 'config' | 'state' | 'json';

export const spec: CommandSpec<Row> = {
  name: 'why',
  summary: 'the present decision of a load, in words, and what comes next',
  positionals: 'LOAD',
  options: {
    config: { value: 'FILE', help: 'configuration the agent runs with' },
    state: STATE_ROW,
    json: { help: 'one JSON document' },
  },
  notes: ['Asks the broker; without one, or when it does not answer, tells what the agent saved last.'],
};

/** The document of a load as the agent tells it, and where it was found. */
interface KnownDecision {
  readonly from: 'broker' | 'state';
  /** As known by the broker: whether the agent runs now. */
  readonly online?: boolean;
  /** When the state was saved, or the decision made. */
  readonly asOf: string;
  readonly load: JsonDocument;
  readonly problem?: string;
}

/** A sentence when the broker tells nothing of the load. */
async function readFromBroker(
  config: LocatedConfig,
  { name }: LoadConfig,
  { env, stop }: Terminal,
): Promise<KnownDecision | string> {
  const { openBrokerLink: linkToBroker } = await import('./broker-link.ts');
  const link = await linkToBroker(config, env, { purpose: 'why', stop });
  if (typeof link === 'string') return link;
  const topics = buildTopics(config);
  try {
    const online = (await link.readRetained(topics.availability)) === 'online';
    const load = parseDocument(await link.readRetained(topics.load(name)));
    const health = parseDocument(await link.readRetained(topics.health));
    if (load === undefined) return `the broker holds nothing on ${topics.load(name)}: the agent has not run with it`;
    const { problem } = health ?? {};
    return {
      from: 'broker',
      online,
      asOf: String(load.time),
      load,
      ...(typeof problem === 'string' && problem !== '' ? { problem } : {}),
    };
  } finally {
    await link.close();
  }
}

async function readFromState(
  config: LocatedConfig,
  { name }: LoadConfig,
  terminal: Terminal,
): Promise<KnownDecision | undefined> {
  const store = createDocumentStore(createFileDisk(config.state), createDiskErrorPrinter(terminal));
  const note = (text: string) => terminal.err(`${text}\n`);
  const { signalType } = config.service;
  const { control } = await createPersistence(store, { signalType, boot: undefined, note });
  const decision = control?.state.loads.find((load) => load.name === name)?.decision;
  if (control === undefined || decision === undefined) return undefined;
  return {
    from: 'state',
    asOf: formatInstant(control.state.lastMoment?.wall ?? decision.at),
    load: buildLoadPayload(decision, explainDecision(decision, config.place.timezone)),
  };
}

/** `06:15` of today, with the weekday of another day; as written when it is no time. */
function formatDocumentTime(text: unknown, timezone: string, now: Instant): string {
  const at = parseInstant(text);
  return at === undefined ? String(text) : formatClockTime(timezone, at, now);
}

/** What is told last by an agent that stops is a decision; the level it then leaves is another. */
const describeStopLevel = ({ onStop, observeOnly: shadow, failSafe }: LoadConfig) =>
  shadow || onStop === 'hold'
    ? 'the load is at the level it was left'
    : `at its stop it leaves the load at its fail-safe level, ${failSafe}`;

function printDecision(of: LoadConfig, known: KnownDecision, timezone: string, { out }: Terminal): void {
  const now = createSystemClock().now().wall;
  const { name } = of;
  const { load, from, online, asOf, problem } = known;
  const when = formatDocumentTime(asOf, timezone, now);
  out(`${name} ${load.level}: ${load.text}\n`);
  const next = load.next;
  if (typeof next === 'object' && next !== null && 'level' in next && 'at' in next)
    out(`next: ${next.level} at ${formatDocumentTime(next.at, timezone, now)}\n`);
  if (from === 'state') out(`as of ${when}, when the agent last saved\n`);
  else if (online === true) out(`decided at ${when}; the agent runs\n`);
  else out(`decided at ${when}; the agent does not run now: ${describeStopLevel(of)}\n`);
  if (problem !== undefined) out(`problem: ${problem}\n`);
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const config = await loadConfigWithPaths(args.text('config'), { env: terminal.env, state: args.text('state') });
  const load = findLoad(config, args.positionals);
  const brokerAnswer =
    config.mqtt === undefined ? 'no broker is configured' : await readFromBroker(config, load, terminal);
  const known = typeof brokerAnswer === 'string' ? await readFromState(config, load, terminal) : brokerAnswer;
  if (known === undefined)
    throw new JobError(
      `nothing is known of "${load.name}": ${brokerAnswer}, and ${config.state} holds no decision; is the agent running with this configuration?`,
    );
  if (typeof brokerAnswer === 'string' && config.mqtt !== undefined) terminal.err(`${brokerAnswer}\n`);
  if (args.flag('json')) {
    const { load: document, ...rest } = known;
    terminal.out(`${JSON.stringify({ load: load.name, ...rest, ...document })}\n`);
  } else printDecision(load, known, config.place.timezone, terminal);
  return 0;
}
