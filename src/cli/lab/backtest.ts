/** Replays months of a recorded signal through the agent's own core and says what each way of deciding would have saved. Switches nothing. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { isTimeZone } from '../../domain/time-zone.ts';
import { addDuration, days, formatInstant, type Instant, type Kilowatt, subtractDuration } from '../../domain/units.ts';
import { findRecordedSpan, readSeries, SeriesError, seriesUnits } from '../../reference/world/recorded-signal.ts';
import {
  backtestFaultNames,
  combineBacktestFaults,
  describeBacktestFault,
  isBacktestFault,
} from '../../simulation/backtest/backtest-faults.ts';
import { builtInLoads, listJobs } from '../../simulation/backtest/backtest-loads.ts';
import {
  buildRecordedSeries,
  type RecordedSeries,
  TEACHING_DAYS,
  timeOfRow,
} from '../../simulation/backtest/recorded-series.ts';
import {
  type BacktestOptions,
  type BacktestResult,
  type Policy,
  policies,
  runBacktest,
} from '../../simulation/backtest/run-backtest.ts';
import { buildSeededSeries, type SeededSeriesOptions } from '../../simulation/backtest/seeded-series.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { parseTimeFlag } from '../shared/flag-parsers.ts';
import { loadConfig } from '../shared/load-configuration.ts';
import { createProgress } from '../shared/progress.ts';
import { type BacktestReport, formatBacktest, formatBacktestCsv } from './backtest-text.ts';

const SEEDED_REGION = 'CAISO_NORTH';
/** A month of jobs when a seeded grid is asked for without `--from` and `--to`. */
const SEEDED_FROM = Date.UTC(2026, 2, 1) as Instant;
const SEEDED_SPAN = days(31);
const MAX_SEEDED_SPAN = days(3 * 366);

export const spec = {
  name: 'backtest',
  summary: 'months in seconds: what it would have done and saved, against hindsight',
  positionals: '[FILE…]',
  options: {
    series: { value: 'FILE', help: 'recorded file, .gz too; several are one history', isRepeatable: true },
    seed: { value: 'N', help: 'without a file: the grid of the reference service with this seed' },
    region: { value: 'REGION', help: 'region of the seeded grid', default: SEEDED_REGION },
    units: { value: 'UNIT', help: `unit of a time,value file: ${Object.keys(seriesUnits).join(', ')}` },
    config: { value: 'FILE', help: 'loads, time zone and power budget of a configuration' },
    load: { value: 'NAME', help: 'only this load; built in: ev-overnight, ev-day, heat-pump', isRepeatable: true },
    policy: { value: 'A,B', help: `some of ${policies.join(', ')}` },
    from: { value: 'TIME', help: 'only jobs that begin at or after' },
    to: { value: 'TIME', help: 'only jobs that end at or before' },
    timezone: { value: 'ZONE', help: 'local time of the built-in loads', default: 'America/Los_Angeles' },
    faults: { value: 'A,B', help: `some of ${backtestFaultNames.join(', ')}` },
    json: { help: 'one JSON document' },
    csv: { help: 'one line a load and policy' },
  },
  notes: [
    'The first 9 days of the history only teach the profile; only jobs wholly inside count.',
    ...backtestFaultNames.map((name) => `fault ${name}: ${describeBacktestFault(name)}`),
    'Ends with 1 when any rule of a load was broken or a deadline missed.',
    'example: gridtide backtest --seed 7 --from 2026-03-01 --to 2026-04-01',
    'example: gridtide backtest --series 2020-03.csv.gz --load heat-pump --policy plan-rolling,hindsight',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const request = await parseBacktestFlags(args);
  const record = await loadRecordedSeries(request, args.text('units'));
  const progress = createProgress(terminal);
  const showProgress = (policy: Policy, share: number) => progress.show(`${policy} ${Math.round(100 * share)} %`);
  const test: BacktestOptions = {
    record,
    loads: request.loads,
    timezone: request.timezone,
    ...(request.budget === undefined ? {} : { budget: request.budget }),
    range: request.range,
    faults: combineBacktestFaults(request.faults, timeOfRow(record, 0)),
    onProgress: showProgress,
  };
  requireJobs(test);
  const results: BacktestResult[] = [];
  for (const policy of request.policies) {
    if (terminal.stop.aborted) throw new JobError('stopped before the end; nothing is reported');
    showProgress(policy, 0);
    results.push(...runBacktest(test, policy));
    // Gives way to a signal that asks to stop.
    await new Promise((done) => setImmediate(done));
  }
  progress.end();
  const series = describeSeries(record);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ series, results })}\n`);
  else if (args.flag('csv')) terminal.out(formatBacktestCsv(results));
  else
    terminal.out(
      formatBacktest({ series, results, faults: request.faults.map(describeBacktestFault) }, terminal.columns),
    );
  return results.some(({ violations }) => violations > 0) ? 1 : 0;
}

function describeSeries({ series, rows, valueSums: sums }: RecordedSeries): BacktestReport['series'] {
  const span = findRecordedSpan(series);
  return {
    from: formatInstant(span.from as Instant),
    to: formatInstant(span.to as Instant),
    points: rows,
    forecasts: series.forecasts.some((value) => !Number.isNaN(value)),
    lbsPerMwh: {
      least: series.values.reduce((a, b) => Math.min(a, b)),
      mean: (sums[rows] ?? 0) / rows,
      most: series.values.reduce((a, b) => Math.max(a, b)),
    },
  };
}

interface BacktestRequest {
  readonly files: readonly string[];
  readonly seeded?: SeededSeriesOptions;
  readonly loads: readonly LoadConfig[];
  readonly policies: readonly Policy[];
  readonly timezone: string;
  readonly budget?: Kilowatt;
  readonly range: BacktestOptions['range'];
  readonly faults: Parameters<typeof combineBacktestFaults>[0];
}

async function parseBacktestFlags(args: Arguments<Row>): Promise<BacktestRequest> {
  const mistakes: string[] = [];
  const files = [...args.all('series'), ...args.positionals];
  const seed = args.number('seed');
  if (files.length === 0 && seed === undefined)
    mistakes.push('no series; give --series FILE, a recorded file of time,moer,f1,… or time,value, or --seed N');
  if (files.length > 0 && seed !== undefined) mistakes.push('--seed and a file: one of the two');
  if (seed !== undefined && !Number.isSafeInteger(seed)) mistakes.push(`--seed ${seed}: expected a whole number`);
  const units = args.text('units');
  if (units !== undefined && seriesUnits[units] === undefined)
    mistakes.push(`--units ${units}: expected one of ${Object.keys(seriesUnits).join(', ')}`);
  const wantedPolicies = splitList(args.text('policy')) ?? policies;
  const known = wantedPolicies.filter((name): name is Policy => (policies as readonly string[]).includes(name));
  for (const name of wantedPolicies)
    if (!(known as readonly string[]).includes(name))
      mistakes.push(`--policy ${name}: expected some of ${policies.join(', ')}`);
  if (wantedPolicies.length === 0) mistakes.push(`--policy: nothing is named; expected some of ${policies.join(', ')}`);
  const faults = splitList(args.text('faults')) ?? [];
  for (const name of faults)
    if (!isBacktestFault(name)) mistakes.push(`--faults ${name}: expected some of ${backtestFaultNames.join(', ')}`);
  const from = parseTimeFlag(args, 'from');
  const to = parseTimeFlag(args, 'to');
  const history = seed === undefined ? undefined : resolveSeededRange(from, to);
  if (typeof history === 'string') mistakes.push(history);
  const timezone = args.text('timezone') ?? 'America/Los_Angeles';
  if (!isTimeZone(timezone)) mistakes.push(`--timezone ${timezone}: expected a zone such as Europe/Berlin`);
  if (args.flag('json') && args.flag('csv')) mistakes.push('--json and --csv: one of the two');
  if (mistakes.length > 0) throw new UsageError(...mistakes);

  const file = args.text('config');
  const config = file === undefined ? undefined : await loadConfig(file);
  return {
    files,
    ...(seed === undefined || typeof history !== 'object'
      ? {}
      : { seeded: { seed, region: args.text('region') ?? SEEDED_REGION, ...history } }),
    loads: selectScheduledLoads(config?.loads ?? builtInLoads, args.all('load')),
    policies: known,
    timezone: config?.place.timezone ?? timezone,
    ...(config?.budgetKw === undefined ? {} : { budget: config.budgetKw }),
    range: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
    faults: faults.filter(isBacktestFault),
  };
}

const splitList = (text: string | undefined) =>
  text
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

function selectScheduledLoads(loads: readonly LoadConfig[], names: readonly string[]): readonly LoadConfig[] {
  const wanted = names.flatMap((name) => splitList(name) ?? []);
  const unknown = wanted.filter((name) => !loads.some((load) => load.name === name));
  if (unknown.length > 0)
    throw new UsageError(
      ...unknown.map((name) => `--load ${name}: expected one of ${loads.map((load) => load.name).join(', ')}`),
    );
  const some = wanted.length === 0 ? loads : loads.filter(({ name }) => wanted.includes(name));
  const without = some.filter(({ goal }) => goal?.armedBy !== 'schedule');
  if (without.length > 0 && wanted.length > 0)
    throw new UsageError(
      ...without.map(({ name }) => `--load ${name}: it has no scheduled goal, so there is no job to measure`),
    );
  const usable = some.filter(({ goal }) => goal?.armedBy === 'schedule');
  if (usable.length === 0) throw new UsageError('no load has a scheduled goal, so there is no job to measure');
  // A backtest starts nothing at a neighbour's moment, and a load in shadow shows what it would do.
  return usable.map((load) => ({ ...load, startSpread: 0 as LoadConfig['startSpread'], observeOnly: false }));
}

/** The days to measure and those before them that teach, or what is wrong with them. */
function resolveSeededRange(
  from: Instant | undefined,
  to: Instant | undefined,
): Omit<SeededSeriesOptions, 'seed' | 'region'> | string {
  const start = from ?? (to === undefined ? SEEDED_FROM : subtractDuration(to, SEEDED_SPAN));
  const end = to ?? addDuration(start, SEEDED_SPAN);
  if (end <= start) return `--to ${formatInstant(end)}: expected a time after --from ${formatInstant(start)}`;
  if (end - start > MAX_SEEDED_SPAN)
    return `--from ${formatInstant(start)} --to ${formatInstant(end)}: expected a span of up to 3 years`;
  return { from: subtractDuration(start, days(TEACHING_DAYS)), to: end };
}

async function loadRecordedSeries(
  { files, seeded }: BacktestRequest,
  units: string | undefined,
): Promise<RecordedSeries> {
  if (seeded !== undefined) {
    const series = buildSeededSeries(seeded);
    if (series === undefined)
      throw new JobError(`${seeded.region} is not a region of the reference service; nothing was replayed`);
    if (series.slots.length === 0)
      throw new JobError(
        `the seeded grid has no rates from ${formatInstant(seeded.from)} to ${formatInstant(seeded.to)}; nothing was replayed`,
      );
    return buildRecordedSeries(series);
  }
  try {
    return buildRecordedSeries(await readSeries(files, units));
  } catch (error) {
    if (error instanceof SeriesError) throw new JobError(`${error.message}; nothing was replayed`);
    throw error;
  }
}

function requireJobs({ loads, timezone, record, range }: BacktestOptions): void {
  const counts = loads.map((load) => listJobs(load, timezone, record, range).length);
  if (counts.some((count) => count > 0)) return;
  const span = findRecordedSpan(record.series);
  throw new JobError(
    `no job lies wholly between ${formatInstant(span.from as Instant)} and ${formatInstant(span.to as Instant)} once the first 9 days have taught the profile; give a longer history`,
  );
}
