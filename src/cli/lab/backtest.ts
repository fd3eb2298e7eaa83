/** `gridtide backtest`: replays months of a recorded signal through the agent's control core and prints the savings of each policy. */

import { writeFile } from 'node:fs/promises';
import type { TariffConfig } from '../../config/tariff-type.ts';
import { formatDuration } from '../../domain/duration-text.ts';
import type { LoadConfig, Objective } from '../../domain/load-types.ts';
import type { RateUnit } from '../../domain/rate-units.ts';
import {
  addDuration,
  type Duration,
  days,
  formatInstant,
  type Instant,
  type Kilowatt,
  subtractDuration,
} from '../../domain/units.ts';
import { getRateUnit } from '../../mqtt/payloads.ts';
import { findRecordedSpan } from '../../reference/world/recorded-signal.ts';
import {
  backtestFaultNames,
  combineBacktestFaults,
  describeBacktestFault,
} from '../../simulation/backtest/backtest-faults.ts';
import { builtInLoads, listJobs } from '../../simulation/backtest/backtest-loads.ts';
import { type Baseline, baselines } from '../../simulation/backtest/counterfactual.ts';
import {
  buildRecordedSeries,
  getRowTime,
  type RecordedSeries,
  TEACHING_DAYS,
} from '../../simulation/backtest/recorded-series.ts';
import {
  type BacktestOptions,
  type BacktestResult,
  type JobRecord,
  type Policy,
  policies,
  runBacktest,
} from '../../simulation/backtest/run-backtest.ts';
import { buildSeededSeries, type SeededSeriesOptions } from '../../simulation/backtest/seeded-series.ts';
import type { BacktestTariff } from '../../simulation/backtest/signal-feeds.ts';
import {
  type Arguments,
  type CommandSpec,
  explainWriteError,
  JobError,
  type Terminal,
  UsageError,
} from '../shared/command.ts';
import { parseDurationFlag, parseTimeFlag, splitList } from '../shared/flag-parsers.ts';
import { loadConfig } from '../shared/load-configuration.ts';
import { createProgress } from '../shared/progress.ts';
import { formatCsv } from '../shared/table.ts';
import { type BacktestReport, CSV_COLUMNS, formatBacktest, JOB_COLUMNS } from './backtest-text.ts';
import { readRecordedFiles, selectLoads, unitNames } from './history-flags.ts';

const SEEDED_REGION = 'CAISO_NORTH';
/** A seeded grid without `--from` and `--to` has a month of jobs. */
const SEEDED_FROM = Date.UTC(2026, 2, 1) as Instant;
const SEEDED_SPAN = days(31);
const MAX_SEEDED_SPAN = days(3 * 366);

const objectives = ['carbon', 'price', 'balanced'] as const satisfies readonly Objective[];

export const spec = {
  name: 'backtest',
  positionals: '[FILE…]',
  options: {
    series: { value: 'FILE', help: 'recorded file, .gz too; several files are one history', isRepeatable: true },
    seed: {
      value: 'N',
      range: { whole: true },
      help: 'without a file: the grid of the reference service with this seed',
    },
    region: { value: 'REGION', help: 'region of the seeded grid', default: SEEDED_REGION },
    units: { value: 'UNIT', choices: unitNames, help: 'unit of a time,value file' },
    config: { value: 'FILE', help: 'loads, time zone and power budget of a configuration' },
    load: { value: 'NAME', help: 'only this load; built in: ev-overnight, ev-day, heat-pump', isRepeatable: true },
    policy: { value: 'A,B', choices: policies, help: 'some of' },
    from: { value: 'TIME', help: 'only jobs that begin at or after' },
    to: { value: 'TIME', help: 'only jobs that end at or before' },
    timezone: { value: 'ZONE', help: 'local time of the built-in loads', default: 'America/Los_Angeles' },
    faults: { value: 'A,B', choices: backtestFaultNames, help: 'some of' },
    objective: { value: 'NAME', choices: objectives, help: 'in place of that of each load' },
    latency: { value: 'LENGTH', help: 'how late each answer of the service comes, such as 5m' },
    baseline: {
      value: 'NAME',
      choices: baselines,
      help: 'what savings are measured against',
      default: 'immediate',
    },
    by: { value: 'month', choices: ['month'], help: 'also the savings of each month' },
    jobs: { value: 'FILE', help: 'write each job with its runs to a CSV file' },
    json: { help: 'one JSON document' },
    csv: { help: 'one line per load and policy' },
  },
  notes: [
    'The first 9 days of the history only train the profile; only jobs wholly inside the rest count.',
    ...backtestFaultNames.map((name) => `fault ${name}: ${describeBacktestFault(name)}`),
    'It takes longer with each day, load and policy, and with the tariff of a configuration; --policy and --load name fewer.',
    'The exit code is 1 when a limit of a load was broken.',
    'example: gridtide backtest --seed 7 --from 2026-03-01 --to 2026-04-01',
    'example: gridtide backtest --series 2020-03.csv.gz --load heat-pump --policy plan-rolling,hindsight',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const request = await parseBacktestFlags(args);
  const record = await loadRecordedSeries(request);
  const progress = createProgress(terminal);
  const showProgress = (policy: Policy, share: number) => progress.show(`${policy} ${Math.round(100 * share)} %`);
  const jobs: JobRecord[] = [];
  const test: BacktestOptions = {
    record,
    loads: request.loads,
    timezone: request.timezone,
    ...(request.budget === undefined ? {} : { budget: request.budget }),
    ...(request.tariff === undefined ? {} : { tariff: request.tariff }),
    range: request.range,
    faults: combineBacktestFaults(request.faults, getRowTime(record, 0), request.latency),
    baseline: request.baseline,
    onJob: (job) => jobs.push(job),
    onProgress: showProgress,
  };
  requireJobs(test);
  const results: BacktestResult[] = [];
  for (const policy of request.policies) {
    if (terminal.stop.aborted) throw new JobError('stopped before the end, so there are no results; start it again');
    showProgress(policy, 0);
    results.push(...runBacktest(test, policy));
    // Lets a signal to stop arrive.
    await new Promise((done) => setImmediate(done));
  }
  progress.end();
  if (request.jobsFile !== undefined) await writeJobs(request.jobsFile, jobs);
  const series = describeSeries(record);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ series, results })}\n`);
  else if (args.flag('csv')) terminal.out(formatCsv(CSV_COLUMNS, results));
  else
    terminal.out(
      formatBacktest(
        { series, results, faults: listFaults(request), byMonth: request.byMonth, unit: request.unit },
        terminal.columns,
      ),
    );
  return results.some(({ violations }) => violations > 0) ? 1 : 0;
}

const listFaults = ({ faults, latency }: BacktestRequest) => [
  ...faults.map(describeBacktestFault),
  ...(latency > 0 ? [`each answer comes ${formatDuration(latency)} late`] : []),
];

async function writeJobs(file: string, jobs: readonly JobRecord[]): Promise<void> {
  try {
    await writeFile(file, formatCsv(JOB_COLUMNS, jobs));
  } catch (error) {
    throw new JobError(`--jobs ${file}: it cannot be written: ${explainWriteError(error)}; name another file`);
  }
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
  readonly units: string | undefined;
  readonly seeded?: SeededSeriesOptions;
  readonly loads: readonly LoadConfig[];
  readonly policies: readonly Policy[];
  readonly timezone: string;
  readonly budget?: Kilowatt;
  readonly tariff?: BacktestTariff;
  readonly range: BacktestOptions['range'];
  readonly faults: Parameters<typeof combineBacktestFaults>[0];
  readonly latency: Duration;
  readonly baseline: Baseline;
  readonly byMonth: boolean;
  readonly jobsFile: string | undefined;
  /** Of the house; without a configuration pounds, in which the JSON has it too. */
  readonly unit: RateUnit;
}

async function parseBacktestFlags(args: Arguments<Row>): Promise<BacktestRequest> {
  const files = [...args.all('series'), ...args.positionals];
  const seed = parseSeedFlag(args, files);
  const [from, to] = [parseTimeFlag(args, 'from'), parseTimeFlag(args, 'to')];
  const file = args.text('config');
  const config = file === undefined ? undefined : await loadConfig(file);
  const tariff = config?.tariff && readTable(config.tariff);
  return {
    files,
    units: args.text('units'),
    ...(seed === undefined
      ? {}
      : { seeded: { seed, region: args.text('region') ?? SEEDED_REGION, ...resolveSeededRange(from, to) } }),
    loads: withObjective(
      selectScheduledLoads(config?.loads ?? builtInLoads, args.all('load').flatMap(splitList)),
      parseListFlag(args, 'objective', objectives)?.[0],
      tariff,
    ),
    policies: parseListFlag(args, 'policy', policies) ?? policies,
    timezone: config?.place.timezone ?? args.text('timezone') ?? 'America/Los_Angeles',
    ...(config?.budgetKw === undefined ? {} : { budget: config.budgetKw }),
    ...(tariff === undefined ? {} : { tariff }),
    range: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
    faults: parseListFlag(args, 'faults', backtestFaultNames) ?? [],
    latency: parseDurationFlag(args, 'latency') ?? (0 as Duration),
    baseline: parseListFlag(args, 'baseline', baselines)?.[0] ?? 'immediate',
    byMonth: args.text('by') !== undefined,
    jobsFile: args.text('jobs'),
    unit: config === undefined ? 'lb/MWh' : getRateUnit(config),
  };
}

/** A backtest uses prices from a table alone. */
function readTable({ currency, source }: TariffConfig): BacktestTariff {
  if (source.kind === 'table') return { currency, ...source.table };
  throw new UsageError(
    `tariff: a backtest needs a table of rates, because a ${source.kind} has no prices of the past; give tariff.rates`,
  );
}

function withObjective(
  loads: readonly LoadConfig[],
  objective: Objective | undefined,
  tariff: BacktestTariff | undefined,
): readonly LoadConfig[] {
  if (objective === undefined) return loads;
  if (objective !== 'carbon' && tariff === undefined)
    throw new UsageError(`--objective ${objective} needs prices: give --config FILE with the section tariff`);
  return loads.map((load) => ({ ...load, objective }));
}

function parseSeedFlag(args: Arguments<Row>, files: readonly string[]): number | undefined {
  const seed = args.number('seed');
  if (files.length === 0 && seed === undefined)
    throw new UsageError('no series; give --series FILE, a recorded file of time,moer,f1,… or time,value, or --seed N');
  if (files.length > 0 && seed !== undefined) throw new UsageError('--seed and a file: expected one of them');
  return seed;
}

/** The words of an option that takes some of `known`; undefined when not given. */
function parseListFlag<Word extends string>(
  args: Arguments<Row>,
  row: Row,
  known: readonly Word[],
): readonly Word[] | undefined {
  const text = args.text(row);
  const isKnown = (word: string): word is Word => (known as readonly string[]).includes(word);
  return text === undefined ? undefined : splitList(text).filter(isKnown);
}

function selectScheduledLoads(loads: readonly LoadConfig[], names: readonly string[]): readonly LoadConfig[] {
  const selected = selectLoads(loads, names);
  const usable = selected.filter(({ goal }) => goal?.armedBy === 'schedule');
  const unusable = selected.filter((load) => !usable.includes(load));
  if (unusable.length > 0 && names.length > 0)
    throw new UsageError(
      ...unusable.map(({ name }) => `--load ${name}: it has no scheduled goal, so there is no job to measure`),
    );
  if (usable.length === 0) throw new UsageError('no load has a scheduled goal, so there is no job to measure');
  // A backtest needs no spread of starts between homes, and a load that only observes is measured as if it switched.
  return usable.map((load) => ({ ...load, startSpread: 0 as LoadConfig['startSpread'], observeOnly: false }));
}

/** The days to measure and the training days before them. Throws `UsageError`. */
function resolveSeededRange(
  from: Instant | undefined,
  to: Instant | undefined,
): Omit<SeededSeriesOptions, 'seed' | 'region'> {
  const start = from ?? (to === undefined ? SEEDED_FROM : subtractDuration(to, SEEDED_SPAN));
  const end = to ?? addDuration(start, SEEDED_SPAN);
  if (end <= start)
    throw new UsageError(`--to ${formatInstant(end)}: expected a time after --from ${formatInstant(start)}`);
  if (end - start > MAX_SEEDED_SPAN)
    throw new UsageError(`--from ${formatInstant(start)} --to ${formatInstant(end)}: expected a span of up to 3 years`);
  return { from: subtractDuration(start, days(TEACHING_DAYS)), to: end };
}

async function loadRecordedSeries({ files, seeded, units }: BacktestRequest): Promise<RecordedSeries> {
  if (seeded === undefined) return buildRecordedSeries(await readRecordedFiles(files, units));
  const series = buildSeededSeries(seeded);
  if (series === undefined)
    throw new JobError(`--region ${seeded.region} is not a region of the reference service; nothing was computed`);
  if (series.slots.length === 0)
    throw new JobError(
      `the seeded grid has no rates from ${formatInstant(seeded.from)} to ${formatInstant(seeded.to)}; nothing was computed`,
    );
  return buildRecordedSeries(series);
}

function requireJobs({ loads, timezone, record, range }: BacktestOptions): void {
  const counts = loads.map((load) => listJobs(load, timezone, record, range).length);
  if (counts.some((count) => count > 0)) return;
  const span = findRecordedSpan(record.series);
  throw new JobError(
    `no job lies wholly between ${formatInstant(span.from as Instant)} and ${formatInstant(span.to as Instant)} after the first 9 days, which train the profile; give a longer history`,
  );
}
