/** `gridtide why`: the present decision of a load in words, and what comes next: from the broker, else as last saved. Decides nothing itself. */

import { createMemory } from '../agent/memory.ts';
import { createStore } from '../agent/store.ts';
import type { LoadConfig } from '../config/config.ts';
import type { Located } from '../config/sources.ts';
import { clockTime } from '../control/calendar.ts';
import { explain } from '../control/explain.ts';
import { loadJson } from '../monitor/documents.ts';
import { createSystemClock } from '../platform/clock.ts';
import { createDisk } from '../platform/disk.ts';
import { instantOf } from '../times.ts';
import { type Instant, iso } from '../units.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from './command.ts';
import { locatedConfig } from './configuration.ts';
import { STATE_ROW, storeTroubles } from './state-directory.ts';
import { type Document, documentIn, loadNamed } from './trial.ts';

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
interface Told {
  readonly from: 'broker' | 'state';
  /** As known by the broker: whether the agent runs now. */
  readonly online?: boolean;
  /** When the state was saved, or the decision made. */
  readonly asOf: string;
  readonly load: Document;
  readonly trouble?: string;
}

/** A sentence when the broker tells nothing of the load. */
async function fromBroker(config: Located, { name }: LoadConfig, { env, stop }: Terminal): Promise<Told | string> {
  const { linkToBroker } = await import('./broker-link.ts');
  const link = await linkToBroker(config, env, { purpose: 'why', stop });
  if (typeof link === 'string') return link;
  const base = `gridtide/${config.device}`;
  try {
    const online = (await link.stored(`${base}/availability`)) === 'online';
    const load = documentIn(await link.stored(`${base}/loads/${name}`));
    const health = documentIn(await link.stored(`${base}/health`));
    if (load === undefined) return `the broker holds nothing on ${base}/loads/${name}: the agent has not run with it`;
    const { trouble } = health ?? {};
    return {
      from: 'broker',
      online,
      asOf: String(load.time),
      load,
      ...(typeof trouble === 'string' && trouble !== '' ? { trouble } : {}),
    };
  } finally {
    await link.close();
  }
}

async function fromState(config: Located, { name }: LoadConfig, terminal: Terminal): Promise<Told | undefined> {
  const store = createStore(createDisk(config.state), storeTroubles(terminal));
  const note = (text: string) => terminal.err(`${text}\n`);
  const { signalType } = config.service;
  const { control } = await createMemory(store, { signalType, boot: undefined, note });
  const decision = control?.state.loads.find((load) => load.name === name)?.decision;
  if (control === undefined || decision === undefined) return undefined;
  return {
    from: 'state',
    asOf: iso(control.state.last?.wall ?? decision.at),
    load: loadJson(decision, explain(decision, config.place.timezone)),
  };
}

/** `06:15` of today, with the weekday of another day; as written when it is no time. */
function localTime(text: unknown, timezone: string, now: Instant): string {
  const at = instantOf(text);
  return at === undefined ? String(text) : clockTime(timezone, at, now);
}

/** What is told last by an agent that stops is a decision; the level it then leaves is another. */
const leftWords = ({ onStop, shadow, failSafe }: LoadConfig) =>
  shadow || onStop === 'hold'
    ? 'the load is at the level it was left'
    : `at its stop it leaves the load at its fail-safe level, ${failSafe}`;

function tell(of: LoadConfig, told: Told, timezone: string, { out }: Terminal): void {
  const now = createSystemClock().now().wall;
  const { name } = of;
  const { load, from, online, asOf, trouble } = told;
  const when = localTime(asOf, timezone, now);
  out(`${name} ${load.level}: ${load.words}\n`);
  const next = load.next;
  if (typeof next === 'object' && next !== null && 'level' in next && 'at' in next)
    out(`next: ${next.level} at ${localTime(next.at, timezone, now)}\n`);
  if (from === 'state') out(`as of ${when}, when the agent last saved\n`);
  else if (online === true) out(`decided at ${when}; the agent runs\n`);
  else out(`decided at ${when}; the agent does not run now: ${leftWords(of)}\n`);
  if (trouble !== undefined) out(`trouble: ${trouble}\n`);
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const config = await locatedConfig(args.text('config'), { env: terminal.env, state: args.text('state') });
  const load = loadNamed(config, args.positionals);
  const heard = config.mqtt === undefined ? 'no broker is configured' : await fromBroker(config, load, terminal);
  const told = typeof heard === 'string' ? await fromState(config, load, terminal) : heard;
  if (told === undefined)
    throw new JobError(
      `nothing is known of "${load.name}": ${heard}, and ${config.state} holds no decision; is the agent running with this configuration?`,
    );
  if (typeof heard === 'string' && config.mqtt !== undefined) terminal.err(`${heard}\n`);
  if (args.flag('json')) {
    const { load: document, ...rest } = told;
    terminal.out(`${JSON.stringify({ load: load.name, ...rest, ...document })}\n`);
  } else tell(load, told, config.place.timezone, terminal);
  return 0;
}
