/** `gridtide why`: the present decision of a load in words and the next change, from the broker or else from the saved state. */

import { createDocumentStore } from '../../agent/document-store.ts';
import { createExpectedRuns } from '../../agent/expected-runs.ts';
import { loadSavedState, viewSavedSignal } from '../../agent/persistence.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { explainDecision } from '../../control/explain.ts';
import { waitForAbort } from '../../domain/abortable-wait.ts';
import { parseInstant } from '../../domain/iso-time.ts';
import { hasRelease } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { formatClockTime } from '../../domain/local-time.ts';
import type { BrokerMessage } from '../../domain/ports.ts';
import { formatInstant, type Instant } from '../../domain/units.ts';
import { buildLoadPayload, getRateUnit } from '../../mqtt/payloads.ts';
import { buildTopics } from '../../mqtt/topics.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { findOtherAgent } from '../../platform/single-instance.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { createDiskErrorPrinter, STATE_ROW } from '../shared/state-directory.ts';
import { paint } from '../shared/terminal-text.ts';
import { findLoad, type JsonDocument, parseDocument } from './load-test.ts';

export const spec = {
  name: 'why',
  positionals: 'LOAD',
  options: {
    config: { value: 'FILE', help: 'configuration the agent runs with' },
    state: STATE_ROW,
    json: { help: 'one JSON document; with --watch one a line' },
    watch: { help: 'print each further decision until Ctrl-C; needs the broker' },
  },
  notes: ['Reads from the broker; without one, or without its answer, from the state that the agent saved last.'],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

/** The document of a load as the agent publishes it, and its source. */
interface KnownDecision {
  readonly from: 'broker' | 'state';
  /** Whether the agent runs now: by its word at the broker, or as a process of this machine. */
  readonly online: boolean;
  /** The time of the decision, or of the save. */
  readonly asOf: string;
  readonly load: JsonDocument;
  readonly problem?: string;
}

/** A sentence when the broker has no document of the load. */
async function readFromBroker(
  config: LocatedConfig,
  { name }: LoadConfig,
  { env, stop }: Terminal,
): Promise<KnownDecision | string> {
  const { openBrokerLink } = await import('./broker-link.ts');
  const link = await openBrokerLink(config, env, { purpose: 'why', stop });
  if (typeof link === 'string') return link;
  const topics = buildTopics(config);
  try {
    const online = (await link.readRetained(topics.availability)) === 'online';
    const load = parseDocument(await link.readRetained(topics.load(name)));
    const health = parseDocument(await link.readRetained(topics.health));
    if (load === undefined)
      return `the broker has no message on ${topics.load(name)}; has the agent run with this broker?`;
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
  loadConfig: LoadConfig,
  terminal: Terminal,
): Promise<KnownDecision | undefined> {
  const unit = getRateUnit(config);
  const disk = createSharedFileDisk(config.state);
  const store = createDocumentStore(disk, createDiskErrorPrinter(terminal));
  const note = (text: string) => terminal.err(`${text}\n`);
  const { signalType } = config.service;
  const { control, signalData } = await loadSavedState([store], { signalType, note });
  const state = control?.state.loads.find(({ name }) => name === loadConfig.name);
  const decision = state?.decision;
  if (control === undefined || state === undefined || decision === undefined) return undefined;
  const view = signalData && viewSavedSignal(signalData, config.ties, createSystemClock().now().wall);
  const expected = createExpectedRuns(config.ties)(loadConfig, control.state, view?.horizon);
  return {
    from: 'state',
    online: (await findOtherAgent(disk)) !== undefined,
    asOf: formatInstant(control.state.lastMoment?.wall ?? decision.at),
    load: buildLoadPayload(decision, explainDecision(decision, config.place.timezone, unit), {
      ...{ unit, load: loadConfig, control: { ...state, expected } },
    }),
  };
}

/** `06:15` of today, with the weekday of another day; other text unchanged. */
function formatDocumentTime(text: unknown, timezone: string, now: Instant): string {
  const at = parseInstant(text);
  return at === undefined ? String(text) : formatClockTime(timezone, at, now);
}

/** The last decision is from before the stop, which may set another level. */
function describeStop(load: LoadConfig): string {
  if (load.observeOnly || load.onStop === 'hold') return 'a stop leaves the load at its last level';
  return hasRelease(load.output)
    ? 'a stop leaves the device to its own rules'
    : `a stop sets the load to its fail-safe level, ${load.failSafe}`;
}

/** Only what is known: the process may be hidden from this user, or live in another container; the broker may have lost its link. */
const describeAbsence = (from: KnownDecision['from']) =>
  from === 'state' ? 'no running agent is seen from here' : 'the agent is offline at the broker';

function printDecision(of: LoadConfig, known: KnownDecision, timezone: string, terminal: Terminal): void {
  const { out } = terminal;
  const now = createSystemClock().now().wall;
  const { name } = of;
  const { load, from, online, asOf, problem } = known;
  const when = formatDocumentTime(asOf, timezone, now);
  out(`${name} ${load.level}: ${load.text}\n`);
  const { told, confirmed, available } = load;
  if (available === false) out(`device: ${paint(terminal, 'red', 'offline')}\n`);
  else if (typeof told === 'string') {
    const report = typeof confirmed === 'string' ? `reports ${confirmed}` : 'has not reported';
    out(`device: sent ${told}, ${report}\n`);
  }
  const next = load.next;
  if (online && typeof next === 'object' && next !== null && 'level' in next && 'at' in next)
    out(`next: ${next.level} at ${formatDocumentTime(next.at, timezone, now)}\n`);
  const expected = load.running === true ? load.nextEnd : load.nextStart;
  if (online && load.nextIsExpected === true && typeof expected === 'string')
    out(
      `next: ${load.running === true ? 'off' : 'on'} expected at ${formatDocumentTime(expected, timezone, now)}, by the forecast\n`,
    );
  const time = from === 'state' ? `as of ${when}, when the agent last saved its state` : `decided at ${when}`;
  out(`${time}; ${online ? 'the agent is running' : `${describeAbsence(from)}: ${describeStop(of)}`}\n`);
  if (problem !== undefined) out(`${paint(terminal, 'red', 'problem')}: ${problem}\n`);
}

/** Prints each decision as the agent publishes it, also after the link was lost, until the command is stopped. */
async function watchDecisions(config: LocatedConfig, { name }: LoadConfig, json: boolean, terminal: Terminal) {
  const { openBrokerLink } = await import('./broker-link.ts');
  const link = await openBrokerLink(config, terminal.env, { purpose: 'why', stop: terminal.stop });
  if (typeof link === 'string') throw new JobError(`nothing can be watched: ${link}`);
  let printed = '';
  const printMessage = ({ payload }: BrokerMessage): void => {
    const text = new TextDecoder().decode(payload);
    const load = parseDocument(text);
    const line = `${name} ${load?.level}: ${load?.text}`;
    if (load === undefined || (!json && line === printed)) return;
    printed = line;
    const when = formatDocumentTime(load.time, config.place.timezone, createSystemClock().now().wall);
    terminal.out(json ? `${JSON.stringify({ load: name, ...load })}\n` : `${when}  ${line}\n`);
  };
  const subscribe = () =>
    void link.broker.subscribe(buildTopics(config).load(name), printMessage, { wantsRetained: true });
  const stopWatching = link.broker.watchState(({ kind }) => {
    if (kind === 'online') subscribe();
    else if (kind === 'offline') terminal.err('the link to the broker was lost; waiting for it\n');
  });
  subscribe();
  await waitForAbort(terminal.stop);
  stopWatching();
  await link.close();
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const config = await loadConfigWithPaths(args.text('config'), terminal, {
    state: args.text('state'),
    allowsMissingCredentials: true,
  });
  const load = findLoad(config, args.positionals);
  if (args.flag('watch')) {
    await watchDecisions(config, load, args.flag('json'), terminal);
    return 0;
  }
  const brokerAnswer =
    config.mqtt === undefined ? 'no broker is configured' : await readFromBroker(config, load, terminal);
  const known = typeof brokerAnswer === 'string' ? await readFromState(config, load, terminal) : brokerAnswer;
  if (known === undefined)
    throw new JobError(
      `no decision about "${load.name}" was found: ${brokerAnswer}, and ${config.state} has none; start the agent with this configuration, or name the state directory of the running one with --state DIR`,
    );
  if (typeof brokerAnswer === 'string' && config.mqtt !== undefined) terminal.err(`${brokerAnswer}\n`);
  if (args.flag('json')) {
    const { load: document, ...rest } = known;
    terminal.out(`${JSON.stringify({ load: load.name, ...rest, ...document })}\n`);
  } else printDecision(load, known, config.place.timezone, terminal);
  return 0;
}
