/** Tells what ran and what it saved, from the ledger of the state directory. Asks the service nothing and writes nothing. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from '../ledger/entries.ts';
import { isLedgerFile, readLines } from '../ledger/lines.ts';
import { type Total, totals } from '../ledger/totals.ts';
import { counted, type Instant } from '../units.ts';
import { isZone } from '../zone.ts';
import { timeAsked } from './asked.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { loadConfig } from './configuration.ts';
import { STATE_ROW, stateDirectory } from './state-directory.ts';

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
  const timezone = zoneOf(args.text('timezone') ?? config?.place.timezone ?? 'UTC');
  const from = timeAsked(args, 'from');
  const to = timeAsked(args, 'to');
  if (args.flag('json') && args.flag('csv')) throw new UsageError('--json and --csv: one of the two');
  const { entries, damaged } = await ledgerIn(
    stateDirectory(terminal.env, { option: args.text('state'), config: config?.state }),
  );
  const rows = totals(entries, {
    timezone,
    by: args.flag('month') ? 'month' : 'day',
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    now: Date.now() as Instant,
  });
  if (damaged > 0) terminal.err(`${counted(damaged, 'damaged line')} of the ledger left out\n`);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ damaged, totals: rows.map(plain) })}\n`);
  else if (args.flag('csv')) terminal.out(csvOf(rows));
  else terminal.out(textOf(rows, terminal.columns));
  return 0;
}

function zoneOf(timezone: string): string {
  if (isZone(timezone)) return timezone;
  throw new UsageError(`--timezone ${timezone}: expected a zone such as Europe/Berlin`);
}

/** All entries of a state directory, in the order of their files. Throws `JobError` when there are none. */
export async function ledgerIn(
  directory: string,
): Promise<{ readonly entries: readonly Entry[]; readonly damaged: number }> {
  const names = await readdir(directory).catch(() => undefined);
  const files = names?.filter(isLedgerFile).sort() ?? [];
  if (files.length === 0)
    throw new JobError(
      `${directory} holds no ledger, so nothing can be reported; the agent writes one within an hour: let it run, or name its --state`,
    );
  const read = await Promise.all(files.map(async (file) => readLines(await readFile(join(directory, file), 'utf8'))));
  return { entries: read.flatMap(({ entries }) => entries), damaged: read.reduce((sum, one) => sum + one.damaged, 0) };
}

/** Keys with their unit, kilograms only where rates are known. */
const plain = (total: Total) => ({
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

function lineOf(total: Total): readonly string[] {
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

const BAR = 30;
const LEAST_BAR = 5;

function textOf(rows: readonly Total[], columns: number): string {
  if (rows.length === 0) return 'nothing ran in this range\n';
  const lines = [COLUMNS, ...rows.map(lineOf)];
  const widths = COLUMNS.map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  const table = lines.map((line) =>
    line.map((cell, i) => (i < 2 || i === 7 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  );
  const room = columns - (table[0]?.length ?? 0) - 3;
  const length = Math.max(LEAST_BAR, Math.min(BAR, room));
  const most = rows.reduce((greatest, { saved }) => Math.max(greatest, Math.abs(saved)), 1e-9);
  const bars = rows.map(({ saved }) => (saved < 0 ? '░' : '█').repeat(Math.round((length * Math.abs(saved)) / most)));
  const drawn = table.map((line, n) => `${line}  ${bars[n - 1] ?? ''}`.trimEnd());
  return `${[...drawn, '', ...notesOf(rows)].join('\n')}\n`;
}

/** What the rates of each load rest on: model, filled gaps, later corrections, and what it is compared with. */
function notesOf(rows: readonly Total[]): readonly string[] {
  return [...new Set(rows.map(({ load }) => load))].map((load) => {
    const mine = rows.filter((row) => row.load === load);
    const sum = (value: (row: Total) => number) => mine.reduce((total, row) => total + value(row), 0);
    const priced = sum((row) => row.priced);
    if (priced === 0) return `${load}: no rate is known, so no kilograms`;
    const models = [...new Set(mine.flatMap((row) => row.models))].sort();
    const part = (share: (row: Total) => number) =>
      `${((100 * sum((row) => share(row) * row.priced)) / priced).toFixed(1)} %`;
    return [
      `${load}: ${models.length === 0 ? 'no model named' : `model ${models.join(', ')}`}`,
      `${part((row) => row.settledShare)} settled`,
      `${part((row) => row.imputedShare)} imputed`,
      `restated by ${sum((row) => row.restated).toFixed(2)} kg`,
      `instead: ${[...new Set(mine.flatMap((row) => row.baselines))].join(' and ')}`,
    ].join(', ');
  });
}

type Plain = ReturnType<typeof plain>;

/** Column and value, in the order of the file. */
const CSV: readonly (readonly [string, (row: Plain) => string | number | undefined])[] = [
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

function csvOf(rows: readonly Total[]): string {
  const lines = rows.map(plain).map((row) => CSV.map(([, value]) => value(row) ?? '').join(','));
  return `${[CSV.map(([column]) => column).join(','), ...lines].join('\n')}\n`;
}
