/** `gridtide report`: energy, emissions and savings of each load, read from the ledger in the state directory. */

import type { Config } from '../../config/config.ts';
import { formatMoney } from '../../domain/tariff.ts';
import { formatFixed, type Instant } from '../../domain/units.ts';
import type { TimerWindow } from '../../ledger/baseline-hours.ts';
import { listLedgerFiles } from '../../ledger/ledger-files.ts';
import { computeTotalsByMonth, type Total } from '../../ledger/load-totals.ts';
import { type Arguments, type CommandSpec, type Terminal, UsageError } from '../shared/command.ts';
import { parseTimeFlag } from '../shared/flag-parsers.ts';
import { openLedger, warnOfSkippedLines } from '../shared/ledger-directory.ts';
import { loadOptionalConfig } from '../shared/load-configuration.ts';
import { locateStateDirectory, STATE_ROW } from '../shared/state-directory.ts';
import { type CsvColumns, formatColumns, formatCsv } from '../shared/table.ts';

export const spec = {
  name: 'report',
  positionals: '',
  options: {
    state: STATE_ROW,
    config: { value: 'FILE', help: 'time zone and state directory of a configuration' },
    month: { help: 'by month instead of by day' },
    from: { value: 'TIME', help: 'not before' },
    to: { value: 'TIME', help: 'before' },
    baseline: { value: 'NAME', choices: ['at-once', 'timer'], help: 'what jobs are compared with', default: 'at-once' },
    timezone: {
      value: 'ZONE',
      help: 'time zone of days and months, such as Europe/Berlin; default: of the configuration, else UTC',
    },
    json: { help: 'one JSON document' },
    csv: { help: 'one line per load and span' },
  },
  notes: [
    'A job is compared with the same energy at full power from the moment it was armed (at-once); a load without a job',
    'with the same energy drawn evenly over its local day (even-day). Days that were worse are counted too.',
    '--baseline timer compares a job with the same energy at full power in the daily window of its load in the configuration,',
    'from the moment the job was armed on. Days older than 13 months are stored as sums and stay compared with at-once.',
    "meteredKwh: by the device's meter; confirmedKwh: power times confirmed running time; toldKwh: only sent, nothing saved.",
    'estimate: rates as forecast; provisional: published, or changed less than 7 days ago; settled: unchanged for 7 days.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const state = args.text('state');
  const config = await loadOptionalConfig(args.text('config'), terminal, { state, allowsMissingCredentials: true });
  const timezone = args.text('timezone') ?? config?.place.timezone ?? 'UTC';
  const from = parseTimeFlag(args, 'from');
  const to = parseTimeFlag(args, 'to');
  const timers = findTimers(args.text('baseline'), config);
  const ledger = await openLedger(config?.state ?? locateStateDirectory(terminal, state));
  const {
    totals: rows,
    damaged,
    foreign,
    timezones,
  } = await computeTotalsByMonth(ledger.read(listLedgerFiles(ledger.names, from, to)), {
    timezone,
    by: args.flag('month') ? 'month' : 'day',
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(timers === undefined ? {} : { timers }),
    now: Date.now() as Instant,
  });
  warnOfSkippedLines({ damaged, foreign }, terminal);
  for (const zone of timezones)
    if (zone !== timezone) terminal.err(`months older than 13 are stored in days of ${zone}, not of ${timezone}\n`);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ damaged, foreign, totals: rows.map(toTotalDocument) })}\n`);
  else if (args.flag('csv')) terminal.out(formatCsv(CSV_COLUMNS, rows.map(toTotalDocument)));
  else terminal.out(formatReport(rows, terminal.columns));
  return 0;
}

/** The daily window of each load, as a timer; undefined for a comparison with the same energy at once. */
function findTimers(
  baseline: string | undefined,
  config: Config | undefined,
): ReadonlyMap<string, TimerWindow> | undefined {
  if (baseline !== 'timer') return undefined;
  if (config === undefined)
    throw new UsageError('--baseline timer needs the daily window of each load: give --config FILE');
  const { timezone } = config.place;
  return new Map(
    config.loads.flatMap(({ name, window }) => (window === undefined ? [] : [[name, { window, timezone }]])),
  );
}

/** The shape of `--json`: keys with their unit, kilograms only where rates are known. */
const toTotalDocument = (total: Total) => ({
  load: total.load,
  span: total.span,
  energyKwh: total.energy,
  meteredKwh: total.metered,
  confirmedKwh: total.energy - total.metered - total.unconfirmed,
  toldKwh: total.unconfirmed,
  pricedKwh: total.priced,
  ...(total.priced === 0 ? {} : { kg: total.emitted, insteadKg: total.instead, savedKg: total.saved }),
  ...(total.bill === undefined ? {} : { bill: toBillDocument(total.bill) }),
  baselines: total.baselines,
  standing: total.standing ?? 'unknown',
  settledShare: total.settledShare,
  imputedShare: total.imputedShare,
  restatedKg: total.restated,
  models: total.models,
  jobs: total.jobs,
  starts: total.starts,
});

const roundMoney = (value: number) => Math.round(value * 1e6) / 1e6;

/** Of `kwh`, the energy whose price is known. */
const toBillDocument = ({ energy, paid, instead, currency }: NonNullable<Total['bill']>) => ({
  kwh: energy,
  paid: roundMoney(paid),
  instead: roundMoney(instead),
  saved: roundMoney(instead - paid),
  currency,
});

const COLUMNS = ['span', 'load', 'kWh', 'kg', 'instead', 'saved', '', 'standing'] as const;

/** Whether anything but commands says that the load ran. */
const hasProof = ({ energy, unconfirmed }: Total) => energy - unconfirmed > 1e-9;

function formatTotalRow(total: Total): readonly string[] {
  const known = total.priced > 0;
  const kg = (value: number) => (known ? formatFixed(value, 2) : '-');
  const percent =
    known && total.instead !== 0 ? `${formatFixed((100 * total.saved) / Math.abs(total.instead), 0)} %` : '';
  return [
    total.span,
    total.load,
    total.energy.toFixed(2),
    kg(total.emitted),
    kg(total.instead),
    known ? `${formatFixed(total.saved, 2)} kg` : '-',
    percent,
    total.standing ?? (hasProof(total) ? 'no rate known' : 'not confirmed'),
  ];
}

const MAX_BAR = 30;
const MIN_BAR = 5;

function formatReport(rows: readonly Total[], columns: number): string {
  if (rows.length === 0) return 'nothing ran in this range\n';
  const cells = [COLUMNS, ...rows.map(formatTotalRow)];
  const align = (lines: readonly (readonly string[])[]) => formatColumns(lines, (i) => i > 1 && i < 7);
  const room = columns - Math.max(...align(cells).map((line) => line.length)) - 3;
  const length = Math.max(MIN_BAR, Math.min(MAX_BAR, room));
  const most = rows.reduce((greatest, { saved }) => Math.max(greatest, Math.abs(saved)), 1e-9);
  const bars = rows.map(({ saved }) => (saved < 0 ? '░' : '█').repeat(Math.round((length * Math.abs(saved)) / most)));
  const lines = align(cells.map((line, n) => [...line, bars[n - 1] ?? '']));
  return `${[...lines, '', ...explainRates(rows), ...sumBills(rows)].join('\n')}\n`;
}

/** By what the energy of a load is known: its meter, its confirmed levels, or the commands alone. */
function explainProof(rows: readonly Total[]): string {
  const sum = (value: (row: Total) => number) => rows.reduce((total, row) => total + value(row), 0);
  const [energy, metered, unconfirmed] = [
    sum((row) => row.energy),
    sum((row) => row.metered),
    sum((row) => row.unconfirmed),
  ];
  const confirmed = energy - metered - unconfirmed;
  const parts = [
    metered > 0 ? `${metered.toFixed(2)} kWh by its meter` : '',
    confirmed > 1e-9 ? `${confirmed.toFixed(2)} kWh from confirmed levels` : '',
    unconfirmed > 0
      ? `${unconfirmed.toFixed(2)} kWh from commands that the device did not confirm, with no saving claimed`
      : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** For each load with known prices: what it cost, and what it would have cost instead. */
function sumBills(rows: readonly Total[]): readonly string[] {
  return [...new Set(rows.map(({ load }) => load))].flatMap((load) => {
    const bills = rows.flatMap((row) => (row.load === load && row.bill !== undefined ? [row.bill] : []));
    const currency = bills[0]?.currency;
    if (currency === undefined) return [];
    const sum = (value: (bill: (typeof bills)[number]) => number) =>
      bills.reduce((all, bill) => all + (bill.currency === currency ? value(bill) : 0), 0);
    const [paid, instead] = [sum((bill) => bill.paid), sum((bill) => bill.instead)];
    const kwh = sum((bill) => bill.energy).toFixed(2);
    return [
      `${load}: ${formatMoney(paid, currency)} for ${kwh} kWh, instead ${formatMoney(instead, currency)}, saved ${formatMoney(instead - paid, currency)}`,
    ];
  });
}

/** For each load: how its energy is known, the model of its rates, their share settled and imputed, later corrections, and the baseline. */
function explainRates(rows: readonly Total[]): readonly string[] {
  return [...new Set(rows.map(({ load }) => load))].map((load) => {
    const rowsOfLoad = rows.filter((row) => row.load === load);
    const sum = (value: (row: Total) => number) => rowsOfLoad.reduce((total, row) => total + value(row), 0);
    const [priced, restated] = [sum((row) => row.priced), sum((row) => row.restated)];
    const proof = explainProof(rowsOfLoad);
    if (priced === 0)
      return `${load}: ${proof}${rowsOfLoad.some(hasProof) ? '; no rate is known' : ''}, so there are no kilograms`;
    const models = [...new Set(rowsOfLoad.flatMap((row) => row.models))].sort();
    const part = (share: (row: Total) => number) =>
      `${((100 * sum((row) => share(row) * row.priced)) / priced).toFixed(1)} %`;
    return [
      `${load}: ${proof}; ${models.length === 0 ? 'model unknown' : `model ${models.join(', ')}`}`,
      `${part((row) => row.settledShare)} settled`,
      `${part((row) => row.imputedShare)} imputed`,
      `restated by ${formatFixed(restated, 2)} kg`,
      `instead: ${[...new Set(rowsOfLoad.flatMap((row) => row.baselines))].join(' and ')}`,
    ].join(', ');
  });
}

type TotalDocument = ReturnType<typeof toTotalDocument>;

const CSV_COLUMNS: CsvColumns<TotalDocument> = [
  ['span', ({ span }) => span],
  ['load', ({ load }) => load],
  ['energyKwh', ({ energyKwh }) => energyKwh],
  ['meteredKwh', ({ meteredKwh }) => meteredKwh],
  ['confirmedKwh', ({ confirmedKwh }) => confirmedKwh],
  ['toldKwh', ({ toldKwh }) => toldKwh],
  ['pricedKwh', ({ pricedKwh }) => pricedKwh],
  ['kg', ({ kg }) => kg],
  ['insteadKg', ({ insteadKg }) => insteadKg],
  ['savedKg', ({ savedKg }) => savedKg],
  ['standing', ({ standing }) => standing],
  ['settledShare', ({ settledShare }) => settledShare],
  ['imputedShare', ({ imputedShare }) => imputedShare],
  ['starts', ({ starts }) => starts],
  ['restatedKg', ({ restatedKg }) => restatedKg],
  ['models', ({ models }) => models.join(' ')],
  ['baselines', ({ baselines }) => baselines.join(' ')],
  ['jobs', ({ jobs }) => jobs],
  ['paid', ({ bill }) => bill?.paid],
  ['insteadPaid', ({ bill }) => bill?.instead],
  ['currency', ({ bill }) => bill?.currency],
];
