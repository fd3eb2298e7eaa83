/** Tells what ran and what it saved, from the ledger of the state directory. Asks the service nothing and writes nothing. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isTimeZone } from '../../domain/time-zone.ts';
import { formatCount, type Instant } from '../../domain/units.ts';
import type { Entry } from '../../ledger/entries.ts';
import { isLedgerFile, parseLedger } from '../../ledger/ledger-lines.ts';
import { computeTotals, type Total } from '../../ledger/totals.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { parseTimeFlag } from '../shared/flag-parsers.ts';
import { loadConfig } from '../shared/load-configuration.ts';
import { locateStateDirectory, STATE_ROW } from '../shared/state-directory.ts';

export const spec = {
  name: 'report',
  summary: 'what was saved, provisional and settled',
  positionals: '',
  options: {
    state: STATE_ROW,
    config: { value: 'FILE', help: 'time zone and state directory of a configuration' },
    month: { help: 'by month instead of by day' },
    from: { value: 'TIME', help: 'not before' },
    to: { value: 'TIME', help: 'before' },
    timezone: { value: 'ZONE', help: 'whose days and months; of the configuration, else UTC' },
    json: { help: 'one JSON document' },
    csv: { help: 'one line a load and span' },
  },
  notes: [
    'A job is compared with the same energy at full power from the moment it was armed (at-once); a load without a job',
    'with the same energy drawn evenly over its local day (even-day). Days that were worse count, too.',
    'estimate: rates as forecast; provisional: published, or changed less than 7 days ago; settled: unchanged for 7 days.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const file = args.text('config');
  const config = file === undefined ? undefined : await loadConfig(file);
  const timezone = requireTimezone(args.text('timezone') ?? config?.place.timezone ?? 'UTC');
  const from = parseTimeFlag(args, 'from');
  const to = parseTimeFlag(args, 'to');
  if (args.flag('json') && args.flag('csv')) throw new UsageError('--json and --csv: one of the two');
  const { entries, damaged } = await readLedger(
    locateStateDirectory(terminal.env, { option: args.text('state'), config: config?.state }),
  );
  const rows = computeTotals(entries, {
    timezone,
    by: args.flag('month') ? 'month' : 'day',
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    now: Date.now() as Instant,
  });
  if (damaged > 0) terminal.err(`${formatCount(damaged, 'damaged line')} of the ledger left out\n`);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ damaged, totals: rows.map(toTotalDocument) })}\n`);
  else if (args.flag('csv')) terminal.out(formatReportCsv(rows));
  else terminal.out(formatReport(rows, terminal.columns));
  return 0;
}

function requireTimezone(timezone: string): string {
  if (isTimeZone(timezone)) return timezone;
  throw new UsageError(`--timezone ${timezone}: expected a zone such as Europe/Berlin`);
}

/** All entries of a state directory, in the order of their files. Throws `JobError` when there are none. */
export async function readLedger(
  directory: string,
): Promise<{ readonly entries: readonly Entry[]; readonly damaged: number }> {
  const names = await readdir(directory).catch(() => undefined);
  const files = names?.filter(isLedgerFile).sort() ?? [];
  if (files.length === 0)
    throw new JobError(
      `${directory} holds no ledger, so nothing can be reported; the agent writes one within an hour: let it run, or name its --state`,
    );
  const read = await Promise.all(files.map(async (file) => parseLedger(await readFile(join(directory, file), 'utf8'))));
  return { entries: read.flatMap(({ entries }) => entries), damaged: read.reduce((sum, one) => sum + one.damaged, 0) };
}

/** Keys with their unit, kilograms only where rates are known. */
const toTotalDocument = (total: Total) => ({
  load: total.load,
  span: total.span,
  energyKwh: total.energy,
  pricedKwh: total.priced,
  ...(total.priced === 0 ? {} : { kg: total.emitted, insteadKg: total.instead, savedKg: total.saved }),
  baselines: total.baselines,
  standing: total.standing ?? 'unknown',
  settledShare: total.settledShare,
  imputedShare: total.imputedShare,
  restatedKg: total.restated,
  models: total.models,
  jobs: total.jobs,
  starts: total.starts,
});

const COLUMNS = ['span', 'load', 'kWh', 'kg', 'instead', 'saved', '', 'standing'] as const;

function formatTotalRow(total: Total): readonly string[] {
  const known = total.priced > 0;
  const kg = (value: number) => (known ? value.toFixed(2) : '-');
  const percent = known && total.instead !== 0 ? `${((100 * total.saved) / Math.abs(total.instead)).toFixed(0)} %` : '';
  return [
    total.span,
    total.load,
    total.energy.toFixed(2),
    kg(total.emitted),
    kg(total.instead),
    known ? `${total.saved.toFixed(2)} kg` : '-',
    percent,
    total.standing ?? 'no rate known',
  ];
}

const MAX_BAR = 30;
const MIN_BAR = 5;

function formatReport(rows: readonly Total[], columns: number): string {
  if (rows.length === 0) return 'nothing ran in this range\n';
  const lines = [COLUMNS, ...rows.map(formatTotalRow)];
  const widths = COLUMNS.map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  const table = lines.map((line) =>
    line.map((cell, i) => (i < 2 || i === 7 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  );
  const room = columns - (table[0]?.length ?? 0) - 3;
  const length = Math.max(MIN_BAR, Math.min(MAX_BAR, room));
  const most = rows.reduce((greatest, { saved }) => Math.max(greatest, Math.abs(saved)), 1e-9);
  const bars = rows.map(({ saved }) => (saved < 0 ? '░' : '█').repeat(Math.round((length * Math.abs(saved)) / most)));
  const drawn = table.map((line, n) => `${line}  ${bars[n - 1] ?? ''}`.trimEnd());
  return `${[...drawn, '', ...explainRates(rows)].join('\n')}\n`;
}

/** What the rates of each load rest on: model, filled gaps, later corrections, and what it is compared with. */
function explainRates(rows: readonly Total[]): readonly string[] {
  return [...new Set(rows.map(({ load }) => load))].map((load) => {
    const rowsOfLoad = rows.filter((row) => row.load === load);
    const sum = (value: (row: Total) => number) => rowsOfLoad.reduce((total, row) => total + value(row), 0);
    const priced = sum((row) => row.priced);
    if (priced === 0) return `${load}: no rate is known, so no kilograms`;
    const models = [...new Set(rowsOfLoad.flatMap((row) => row.models))].sort();
    const part = (share: (row: Total) => number) =>
      `${((100 * sum((row) => share(row) * row.priced)) / priced).toFixed(1)} %`;
    return [
      `${load}: ${models.length === 0 ? 'no model named' : `model ${models.join(', ')}`}`,
      `${part((row) => row.settledShare)} settled`,
      `${part((row) => row.imputedShare)} imputed`,
      `restated by ${sum((row) => row.restated).toFixed(2)} kg`,
      `instead: ${[...new Set(rowsOfLoad.flatMap((row) => row.baselines))].join(' and ')}`,
    ].join(', ');
  });
}

type TotalDocument = ReturnType<typeof toTotalDocument>;

/** Column and value, in the order of the file. */
const CSV_COLUMNS: readonly (readonly [string, (row: TotalDocument) => string | number | undefined])[] = [
  ['span', ({ span }) => span],
  ['load', ({ load }) => load],
  ['energyKwh', ({ energyKwh }) => energyKwh],
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
];

function formatReportCsv(rows: readonly Total[]): string {
  const lines = rows.map(toTotalDocument).map((row) => CSV_COLUMNS.map(([, value]) => value(row) ?? '').join(','));
  return `${[CSV_COLUMNS.map(([column]) => column).join(','), ...lines].join('\n')}\n`;
}
