/** Replays months of a recorded signal through the agent's own core and says what each way of deciding would have saved. Switches nothing. */

import type { LoadConfig } from '../config/config.ts';
import { readSeries, recordedSpan, SeriesError, seriesUnits } from '../reference/series.ts';
import { faultNames, faultsOf, faultWords, isFault } from '../replay/backtest/faults.ts';
import { builtIn, jobsOf } from '../replay/backtest/loads.ts';
import { type Record, recordOf, TEACHING_DAYS, timeOf } from '../replay/backtest/record.ts';
import { type SeededRange, seededSeries } from '../replay/backtest/seeded.ts';
import { type Backtest, backtest, type Policy, policies, type Result } from '../replay/backtest.ts';
import { after, before, days, type Instant, iso, type Kilowatt } from '../units.ts';
import { isZone } from '../zone.ts';
import { timeAsked } from './asked.ts';
import { csvOf, type Told, textOf } from './backtest-text.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { loadConfig } from './configuration.ts';
import { progressOf } from './progress.ts';

const SEEDED_REGION = 'CAISO_NORTH';
/** A month of jobs when a seeded grid is asked for without `--from` and `--to`. */
const SEEDED_FROM = Date.UTC(2026, 2, 1) as Instant;
const SEEDED_SPAN = days(31);
const SEEDED_MOST = days(3 * 366);

export const spec = {
  name: 'backtest',
  summary: 'months in seconds: what it would have done and saved, against hindsight',
  positionals: '[FILE…]',
  options: {
    series: { value: 'FILE', help: 'recorded file, .gz too; several are one history', many: true },
    seed: { value: 'N', help: 'without a file: the grid of the reference service with this seed' },
    region: { value: 'REGION', help: 'region of the seeded grid', default: SEEDED_REGION },
    units: { value: 'UNIT', help: `unit of a time,value file: ${Object.keys(seriesUnits).join(', ')}` },
    config: { value: 'FILE', help: 'loads, time zone and power budget of a configuration' },
    load: { value: 'NAME', help: 'only this load; built in: ev-overnight, ev-day, heat-pump', many: true },
    policy: { value: 'A,B', help: `some of ${policies.join(', ')}` },
    from: { value: 'TIME', help: 'only jobs that begin at or after' },
    to: { value: 'TIME', help: 'only jobs that end at or before' },
    timezone: { value: 'ZONE', help: 'local time of the built-in loads', default: 'America/Los_Angeles' },
    faults: { value: 'A,B', help: `some of ${faultNames.join(', ')}` },
    json: { help: 'one JSON document' },
    csv: { help: 'one line a load and policy' },
  },
  notes: [
    'The first 9 days of the history only teach the profile; only jobs wholly inside count.',
    ...faultNames.map((name) => `fault ${name}: ${faultWords(name)}`),
    'Ends with 1 when any rule of a load was broken or a deadline missed.',
    'example: gridtide backtest --seed 7 --from 2026-03-01 --to 2026-04-01',
    'example: gridtide backtest --series 2020-03.csv.gz --load heat-pump --policy plan-rolling,hindsight',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const asked = await askedFor(args);
  const record = await recordFor(asked, args.text('units'));
  const progress = progressOf(terminal);
  const tell = (policy: Policy, share: number) => progress.tell(`${policy} ${Math.round(100 * share)} %`);
  const test: Backtest = {
    record,
    loads: asked.loads,
    timezone: asked.timezone,
    ...(asked.budget === undefined ? {} : { budget: asked.budget }),
    range: asked.range,
    faults: faultsOf(asked.faults, timeOf(record, 0)),
    progress: tell,
  };
  refuseEmpty(test);
  const results: Result[] = [];
  for (const policy of asked.policies) {
    if (terminal.stop.aborted) throw new JobError('stopped before the end; nothing is reported');
    tell(policy, 0);
    results.push(...backtest(test, policy));
    // Gives way to a signal that asks to stop.
    await new Promise((done) => setImmediate(done));
  }
  progress.end();
  const series = seriesOf(record);
  if (args.flag('json')) terminal.out(`${JSON.stringify({ series, results })}\n`);
  else if (args.flag('csv')) terminal.out(csvOf(results));
  else terminal.out(textOf({ series, results, faults: asked.faults.map(faultWords) }, terminal.columns));
  return results.some(({ violations }) => violations > 0) ? 1 : 0;
}

function seriesOf({ series, rows, sums }: Record): Told['series'] {
  const span = recordedSpan(series);
  return {
    from: iso(span.from as Instant),
    to: iso(span.to as Instant),
    points: rows,
    forecasts: series.forecasts.some((value) => !Number.isNaN(value)),
    lbsPerMwh: {
      least: series.values.reduce((a, b) => Math.min(a, b)),
      mean: (sums[rows] ?? 0) / rows,
      most: series.values.reduce((a, b) => Math.max(a, b)),
    },
  };
}

interface Asked {
  readonly files: readonly string[];
  readonly seeded?: SeededRange;
  readonly loads: readonly LoadConfig[];
  readonly policies: readonly Policy[];
  readonly timezone: string;
  readonly budget?: Kilowatt;
  readonly range: Backtest['range'];
  readonly faults: Parameters<typeof faultsOf>[0];
}

async function askedFor(args: Arguments<Row>): Promise<Asked> {
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
  const wantedPolicies = listed(args.text('policy')) ?? policies;
  const known = wantedPolicies.filter((name): name is Policy => (policies as readonly string[]).includes(name));
  for (const name of wantedPolicies)
    if (!(known as readonly string[]).includes(name))
      mistakes.push(`--policy ${name}: expected some of ${policies.join(', ')}`);
  if (wantedPolicies.length === 0) mistakes.push(`--policy: nothing is named; expected some of ${policies.join(', ')}`);
  const faults = listed(args.text('faults')) ?? [];
  for (const name of faults)
    if (!isFault(name)) mistakes.push(`--faults ${name}: expected some of ${faultNames.join(', ')}`);
  const from = timeAsked(args, 'from');
  const to = timeAsked(args, 'to');
  const history = seed === undefined ? undefined : seededRange(from, to);
  if (typeof history === 'string') mistakes.push(history);
  const timezone = args.text('timezone') ?? 'America/Los_Angeles';
  if (!isZone(timezone)) mistakes.push(`--timezone ${timezone}: expected a zone such as Europe/Berlin`);
  if (args.flag('json') && args.flag('csv')) mistakes.push('--json and --csv: one of the two');
  if (mistakes.length > 0) throw new UsageError(...mistakes);

  const file = args.text('config');
  const config = file === undefined ? undefined : await loadConfig(file);
  return {
    files,
    ...(seed === undefined || typeof history !== 'object'
      ? {}
      : { seeded: { seed, region: args.text('region') ?? SEEDED_REGION, ...history } }),
    loads: chosen(config?.loads ?? builtIn, args.all('load')),
    policies: known,
    timezone: config?.place.timezone ?? timezone,
    ...(config?.budget === undefined ? {} : { budget: config.budget }),
    range: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
    faults: faults.filter(isFault),
  };
}

const listed = (text: string | undefined) =>
  text
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

function chosen(loads: readonly LoadConfig[], names: readonly string[]): readonly LoadConfig[] {
  const wanted = names.flatMap((name) => listed(name) ?? []);
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
  return usable.map((load) => ({ ...load, jitter: 0 as LoadConfig['jitter'], shadow: false }));
}

/** The days to measure and those before them that teach, or what is wrong with them. */
function seededRange(
  from: Instant | undefined,
  to: Instant | undefined,
): Omit<SeededRange, 'seed' | 'region'> | string {
  const start = from ?? (to === undefined ? SEEDED_FROM : before(to, SEEDED_SPAN));
  const end = to ?? after(start, SEEDED_SPAN);
  if (end <= start) return `--to ${iso(end)}: expected a time after --from ${iso(start)}`;
  if (end - start > SEEDED_MOST) return `--from ${iso(start)} --to ${iso(end)}: expected a span of up to 3 years`;
  return { from: before(start, days(TEACHING_DAYS)), to: end };
}

async function recordFor({ files, seeded }: Asked, units: string | undefined): Promise<Record> {
  if (seeded !== undefined) {
    const series = seededSeries(seeded);
    if (series === undefined)
      throw new JobError(`${seeded.region} is not a region of the reference service; nothing was replayed`);
    if (series.slots.length === 0)
      throw new JobError(
        `the seeded grid has no rates from ${iso(seeded.from)} to ${iso(seeded.to)}; nothing was replayed`,
      );
    return recordOf(series);
  }
  try {
    return recordOf(await readSeries(files, units));
  } catch (error) {
    if (error instanceof SeriesError) throw new JobError(`${error.message}; nothing was replayed`);
    throw error;
  }
}

function refuseEmpty({ loads, timezone, record, range }: Backtest): void {
  const counts = loads.map((load) => jobsOf(load, timezone, record, range).length);
  if (counts.some((count) => count > 0)) return;
  const span = recordedSpan(record.series);
  throw new JobError(
    `no job lies wholly between ${iso(span.from as Instant)} and ${iso(span.to as Instant)} once the first 9 days have taught the profile; give a longer history`,
  );
}
