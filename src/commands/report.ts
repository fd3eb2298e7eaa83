/** Tells what ran and what it saved, from the ledger of the state directory. Asks the service nothing and writes nothing. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from '../ledger/entries.ts';
import { isLedgerFile, readLines } from '../ledger/lines.ts';
import { type Total, totals } from '../ledger/totals.ts';
import type { Instant } from '../units.ts';
import { timeAsked } from './asked.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { STATE_ROW, stateDirectory } from './state-directory.ts';

export const spec = {
  name: 'report',
  summary: 'what was saved, provisional and settled',
  positionals: '',
  options: {
    state: STATE_ROW,
    month: { help: 'by month instead of by day' },
    from: { value: 'TIME', help: 'not before' },
    to: { value: 'TIME', help: 'before' },
    timezone: { value: 'ZONE', help: 'whose days and months', default: 'UTC' },
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
  const timezone = zoneOf(args.text('timezone') ?? 'UTC');
  const from = timeAsked(args, 'from');
  const to = timeAsked(args, 'to');
  if (args.flag('json') && args.flag('csv')) throw new UsageError('--json and --csv: one of the two');
  const { entries, damaged } = await ledgerIn(stateDirectory(terminal.env, { option: args.text('state') }));
  const rows = totals(entries, {
    timezone,
    by: args.flag('month') ? 'month' : 'day',
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    now: Date.now() as Instant,
  });
  if (damaged > 0) terminal.err(`${damaged} lines of the ledger are damaged and left out\n`);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ damaged, totals: rows.map(plain) })}\n`);
  else if (args.flag('csv')) terminal.out(csvOf(rows));
  else terminal.out(textOf(rows));
  return 0;
}

function zoneOf(timezone: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    return timezone;
  } catch {
    throw new UsageError(`--timezone ${timezone}: expected a zone such as Europe/Berlin`);
  }
}

/** All entries of a state directory, in the order of their files. Throws `JobError` when there are none. */
export async function ledgerIn(
  directory: string,
): Promise<{ readonly entries: readonly Entry[]; readonly damaged: number }> {
  const names = await readdir(directory).catch(() => undefined);
  const files = names?.filter(isLedgerFile).sort() ?? [];
  if (files.length === 0)
    throw new JobError(`${directory} holds no ledger, so nothing can be reported; run the agent, or name its --state`);
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

function textOf(rows: readonly Total[]): string {
  if (rows.length === 0) return 'nothing ran in this range\n';
  const lines = [COLUMNS, ...rows.map(lineOf)];
  const widths = COLUMNS.map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  const most = rows.reduce((greatest, { saved }) => Math.max(greatest, Math.abs(saved)), 1e-9);
  return `${lines
    .map((line, n) => {
      const cells = line.map((cell, i) =>
        i < 2 || i === 7 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0),
      );
      const saved = rows[n - 1]?.saved ?? 0;
      const bar = (saved < 0 ? '░' : '█').repeat(Math.round((BAR * Math.abs(saved)) / most));
      return `${cells.join('  ')}  ${bar}`.trimEnd();
    })
    .join('\n')}\n`;
}

function csvOf(rows: readonly Total[]): string {
  const lines = rows.map((row) => {
    const { load, span, energyKwh, pricedKwh, kg, insteadKg, savedKg, standing, settledShare, imputedShare, starts } =
      plain(row);
    return [
      span,
      load,
      energyKwh,
      pricedKwh,
      kg ?? '',
      insteadKg ?? '',
      savedKg ?? '',
      standing,
      settledShare,
      imputedShare,
      starts,
    ].join(',');
  });
  return `span,load,energyKwh,pricedKwh,kg,insteadKg,savedKg,standing,settledShare,imputedShare,starts\n${lines.map((line) => `${line}\n`).join('')}`;
}
