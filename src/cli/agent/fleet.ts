/** `gridtide fleet`: all agents of a broker in one table, those that need a look first. */

import { waitAbortable } from '../../domain/abortable-wait.ts';
import type { BrokerMessage, BrokerOptions } from '../../domain/ports.ts';
import { formatCount, milliseconds, seconds } from '../../domain/units.ts';
import { createFleetView, type FleetRow, type FleetView } from '../../mqtt/fleet-view.ts';
import { buildClientId, FLEET_END, FLEET_FILTERS, parseTopic } from '../../mqtt/topics.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { formatColumns } from '../shared/table.ts';
import { resolveBrokerOptions } from './broker-flags.ts';
import { type BrokerLink, connectBroker } from './broker-link.ts';
import { describeRefusal } from './broker-rights.ts';

const CLIENT_ID = buildClientId({ device: 'fleet' });

type Row =
  | 'broker'
  | 'username-file'
  | 'password-file'
  | 'ca'
  | 'config'
  | 'region'
  | 'problems'
  | 'watch'
  | 'json'
  | 'metrics';

export const spec: CommandSpec<Row> = {
  name: 'fleet',
  positionals: '',
  options: {
    broker: { value: 'URL', help: 'address of the broker, such as mqtts://broker.example' },
    'username-file': { value: 'FILE', help: "file with the broker's user name" },
    'password-file': { value: 'FILE', help: "file with the broker's password" },
    ca: { value: 'FILE', help: "certificate authority to trust beside the system's, PEM" },
    config: { value: 'FILE', help: 'configuration whose broker is used, in place of these options' },
    region: { value: 'REGION', help: 'agents of this region only' },
    problems: { help: 'agents that are offline or report a problem only' },
    watch: { help: 'prints the table again after changes, until Ctrl-C' },
    json: { help: 'one JSON document' },
    metrics: { help: 'OpenMetrics text' },
  },
  notes: [
    'kWh and kg are the energy and the CO2 saved of the local day; a problem stands below its agent.',
    'The user needs the right to read gridtide/#.',
  ],
};

const resolveBroker = (args: Arguments<Row>, terminal: Terminal): Promise<BrokerOptions> =>
  resolveBrokerOptions(
    {
      ...{ url: args.text('broker'), config: args.text('config'), clientId: CLIENT_ID },
      ...{ prefix: '--', program: undefined },
      files: {
        usernameFile: args.text('username-file'),
        passwordFile: args.text('password-file'),
        ca: args.text('ca'),
      },
    },
    terminal,
  );

/** No message for so long: the broker has sent all that is stored. */
const QUIET = milliseconds(500);
const LONGEST_WAIT = seconds(30);
/** Between two tables of `--watch`. */
const WATCH_INTERVAL = seconds(2);

/** At QoS 0: of messages to be acknowledged mosquitto queues a thousand for a reader and drops the others. */
const READING = { wantsRetained: true, allowsLoss: true };

type Receive = (message: BrokerMessage) => void;

/** Resolves with a sentence when a filter cannot be read. */
async function subscribeAll({ broker }: BrokerLink, onMessage: Receive): Promise<string | undefined> {
  for (const filter of FLEET_FILTERS)
    if (!(await broker.subscribe(filter, onMessage, READING)))
      return describeRefusal(broker, `reading ${filter}`, 'let this user read gridtide/#');
  await broker.subscribe(FLEET_END, () => {}, READING);
  return undefined;
}

/** Waits until the broker has been quiet. */
async function awaitQuiet(state: { readonly changes: number }, stop: AbortSignal): Promise<void> {
  const clock = createSystemClock();
  const end = clock.now().uptime + LONGEST_WAIT;
  for (let before = -1; before !== state.changes && clock.now().uptime < end && !stop.aborted; ) {
    before = state.changes;
    await waitAbortable({ clock, wait: QUIET, name: 'stored messages', signal: stop });
  }
}

function selectRows(view: FleetView, args: Arguments<Row>): FleetRow[] {
  const region = args.text('region');
  const isWanted = (row: FleetRow) =>
    (region === undefined || row.region === region) && (!args.flag('problems') || !row.online || row.problem !== '');
  return view.rows().filter(isWanted);
}

/** Narrow enough for 80 columns, with names of usual length. */
const HEAD = ['device', 'state', 'region', 'basis', 'running', 'kWh', 'kg', 'version'];

const formatNumber = (value: number | null, digits: number) => (value === null ? '-' : value.toFixed(digits));

/** Below its row, so that one long sentence does not widen the table: when an agent that is offline was seen, and its problem. */
const formatRemarks = ({ online, lastSeen, problem }: FleetRow): string[] => [
  ...(online || lastSeen === '' ? [] : [`    last seen ${lastSeen.slice(0, 16)}`]),
  ...(problem === '' ? [] : [`    ${problem}`]),
];

function formatTable(rows: readonly FleetRow[]): string {
  const cells = rows.map((row) => [
    row.device,
    row.online ? (row.problem === '' ? 'ok' : 'problem') : 'offline',
    row.region || '-',
    row.basis || '-',
    row.running.join(',') || '-',
    formatNumber(row.energyTodayKwh, 1),
    formatNumber(row.savedTodayKg, 2),
    row.version || '-',
  ]);
  const [head = '', ...lines] = formatColumns([HEAD, ...cells]);
  const all = rows.flatMap((row, i) => [lines[i] ?? '', ...formatRemarks(row)]);
  return `${[head, ...all].join('\n')}\n${formatSummary(rows)}\n`;
}

function formatSummary(rows: readonly FleetRow[]): string {
  const offline = rows.filter(({ online }) => !online).length;
  const withProblem = rows.filter(({ online, problem }) => online && problem !== '').length;
  return `${formatCount(rows.length, 'agent')}, ${offline} offline, ${withProblem} with a problem`;
}

/** A label's value as OpenMetrics writes it. */
const quoteLabel = (text: string) =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

function formatMetrics(rows: readonly FleetRow[]): string {
  const metrics: readonly (readonly [name: string, help: string, value: (row: FleetRow) => number | null])[] = [
    ['gridtide_online', '1 while the agent is connected', ({ online }) => Number(online)],
    ['gridtide_problem', '1 while the agent reports a problem', ({ problem }) => Number(problem !== '')],
    ['gridtide_loads_running', 'loads that run', ({ running }) => running.length],
    ['gridtide_energy_today_kwh', 'energy of the local day', ({ energyTodayKwh }) => energyTodayKwh],
    ['gridtide_saved_today_kg', 'CO2 saved on the local day', ({ savedTodayKg }) => savedTodayKg],
  ];
  const lines = metrics.flatMap(([name, help, value]) => [
    `# TYPE ${name} gauge`,
    `# HELP ${name} ${help}`,
    ...rows.flatMap((row) => {
      const number = value(row);
      const labels = `device=${quoteLabel(row.device)},region=${quoteLabel(row.region)}`;
      return number === null ? [] : [`${name}{${labels}} ${number}`];
    }),
  ]);
  return `${[...lines, '# EOF'].join('\n')}\n`;
}

function printRows(rows: readonly FleetRow[], args: Arguments<Row>, { out }: Terminal): void {
  if (args.flag('json')) out(`${JSON.stringify({ devices: rows })}\n`);
  else out(args.flag('metrics') ? formatMetrics(rows) : formatTable(rows));
}

interface Watch {
  readonly state: { readonly changes: number };
  readonly onMessage: Receive;
  readonly print: () => void;
}

/** Prints again after changes, also those since a link that was lost, until the command is stopped. */
async function watchChanges(
  link: BrokerLink,
  { state, onMessage, print }: Watch,
  { err, stop }: Terminal,
): Promise<void> {
  const clock = createSystemClock();
  const resubscribe = async () => {
    const failure = await subscribeAll(link, onMessage);
    // A link that is lost again is reported as such.
    if (failure !== undefined && link.broker.state.kind === 'online') err(`${failure}; the table stays as it is\n`);
  };
  /** While the link is lost: each once, however often it is tried again. */
  let causes: Set<string> | undefined;
  const stopWatching = link.broker.watchState((next) => {
    // A denial is another state of the same link.
    if (next.kind === 'online') {
      if (causes !== undefined) void resubscribe();
      causes = undefined;
      return;
    }
    causes ??= new Set();
    if (next.kind === 'connecting' || causes.has(next.cause)) return;
    const note = causes.size === 0 ? '; the table stays as it is until the link is back' : '';
    err(`${next.cause}${note}\n`);
    causes.add(next.cause);
  });
  for (let printed = state.changes; !stop.aborted; ) {
    await waitAbortable({ clock, wait: WATCH_INTERVAL, name: 'next table', signal: stop });
    if (stop.aborted || state.changes === printed) continue;
    printed = state.changes;
    print();
  }
  stopWatching();
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  if (args.flag('json') && args.flag('metrics')) throw new UsageError('--json and --metrics: expected one of them');
  const link = await connectBroker(await resolveBroker(args, terminal), terminal.stop);
  if (typeof link === 'string') throw new JobError(link);
  try {
    const view = createFleetView();
    const state = { changes: 0 };
    const decoder = new TextDecoder();
    const onMessage = ({ topic, payload }: BrokerMessage) => {
      const parsed = parseTopic(topic);
      if (parsed === undefined) return;
      state.changes++;
      view.apply(parsed, decoder.decode(payload));
    };
    const failure = await subscribeAll(link, onMessage);
    if (failure !== undefined) throw new JobError(failure);
    await awaitQuiet(state, terminal.stop);
    const print = () => printRows(selectRows(view, args), args, terminal);
    print();
    if (args.flag('watch')) await watchChanges(link, { state, onMessage, print }, terminal);
    return 0;
  } finally {
    await link.close();
  }
}
