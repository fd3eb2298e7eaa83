/** `gridtide plan`: the best schedule of a job from a saved forecast, or the plans of the running agent. */

import type { Config } from '../../config/config.ts';
import { computeBill } from '../../control/planning/job-pricing.ts';
import { computeJobEmissions, planJob } from '../../control/planning/schedule-job.ts';
import type { JobPlan } from '../../control/planning/slot-plan.ts';
import { findNextDeadline, formatLocalDateTime } from '../../domain/local-time.ts';
import { createTablePrices, formatMoney, type Prices } from '../../domain/tariff.ts';
import {
  addDuration,
  computeEmissions,
  type Duration,
  durationBetween,
  formatCount,
  formatInstant,
  type Instant,
  inMinutes,
  type Kilowatt,
  type KilowattHour,
  type LbsPerMwh,
  minutes,
  RATE_UNITS,
  subtractDuration,
} from '../../domain/units.ts';
import type { Horizon } from '../../signal/signal-view.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { findConfigFile } from '../shared/config-file.ts';
import {
  type Moment,
  parseAllFlags,
  parseDurationFlag,
  parseMomentFlag,
  readSavedForecast,
} from '../shared/flag-parsers.ts';
import { loadConfig } from '../shared/load-configuration.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import type { PlanResult } from './plan-result.ts';

/** What is asked of a forecast; the configuration sets it for the running agent. */
const FORECAST_FLAGS = ['need', 'by', 'from', 'min-on', 'min-off', 'max-starts', 'power'];

export const spec = {
  name: 'plan',
  positionals: '',
  options: {
    forecast: { value: 'FILE', help: 'the output of gridtide signal forecast --json' },
    need: { value: 'LENGTH', help: 'how long it must run, such as 4h or 90m' },
    by: {
      value: 'TIME|HH:MM',
      help: 'deadline, ISO 8601 with a zone; a time of day: its next one, in the zone of --config or of this machine',
    },
    from: { value: 'TIME|HH:MM', help: 'earliest start; default: the first point of the forecast' },
    'min-on': { value: 'LENGTH', help: 'minimum running time; default: 0m' },
    'min-off': { value: 'LENGTH', help: 'minimum pause; default: 0m' },
    'max-starts': { value: 'N', range: { from: 1, whole: true }, help: 'at most this many starts; 1 is one block' },
    power: {
      value: 'KW',
      range: { from: 0.001, to: 100_000 },
      help: 'power of the load; default: that of the only load of --config, else 1',
    },
    config: {
      value: 'FILE',
      help: 'with --forecast: its zone and its table of prices; without: the configuration of the running agent',
    },
    state: STATE_ROW,
    json: { help: 'one JSON document' },
  },
  check: (args) => {
    const given = FORECAST_FLAGS.filter((name) => args.text(name) !== undefined).map((name) => `--${name}`);
    const isMissing = given.length > 0 && args.text('forecast') === undefined && args.text('config') === undefined;
    return isMissing ? [`--forecast is missing: ${given.join(' and ')} plan by a saved forecast`] : [];
  },
  notes: ['example: gridtide plan --forecast answer.json --need 4h --by 07:00 --power 7.2'],
} satisfies CommandSpec;

export async function run(args: Arguments, terminal: Terminal): Promise<number> {
  if (args.text('forecast') === undefined && (await findConfigFile(args.text('config'), terminal)) !== undefined)
    return printRunningPlans(args, terminal);
  const { file, ...flags } = parsePlanFlags(args);
  const house = await readHouse(args.text('config'));
  const horizon = await readHorizon(file);
  const request = placeRequest(flags, horizon, house);
  if (request.by <= horizon.from)
    throw new JobError(
      `--by ${formatInstant(request.by)} is not after ${formatInstant(horizon.from)}, where the forecast begins`,
    );
  const plan = computePlan(horizon, request, readPrices(house, horizon));
  if (args.flag('json')) terminal.out(`${JSON.stringify(plan)}\n`);
  else terminal.out(formatPlan(plan, request, house));
  // The best schedule is printed; a shortfall must not look like success.
  if (!plan.feasible) throw new JobError(formatShortfall(plan, request, horizon));
  return 0;
}

function formatShortfall({ shortfallMinutes }: PlanResult, { need, by }: PlanRequest, { validUntil }: Horizon): string {
  const short =
    shortfallMinutes > 0
      ? `${Math.ceil(shortfallMinutes)} of ${formatCount(Math.round(inMinutes(need)), 'minute')} do not fit`
      : '--min-on and --min-off do not fit';
  const end = validUntil < by ? ` because the forecast ends at ${formatInstant(validUntil)}` : '';
  return `the job does not fit: ${short}${end}; the printed schedule starts at once; give a later --by, a shorter --need or shorter --min-on and --min-off`;
}

async function printRunningPlans(args: Arguments, terminal: Terminal): Promise<number> {
  const unusableFlags = FORECAST_FLAGS.filter((name) => args.text(name) !== undefined);
  if (unusableFlags.length > 0)
    throw new UsageError(
      ...unusableFlags.map(
        (name) => `--${name} needs --forecast; without it the configuration sets the need of each load`,
      ),
    );
  const { readRunningPlans, formatRunningPlans } = await import('../agent/running-plan.ts');
  const plans = await readRunningPlans(args, terminal, Date.now() as Instant);
  terminal.out(args.flag('json') ? `${JSON.stringify({ loads: plans.loads })}\n` : formatRunningPlans(plans));
  return 0;
}

interface PlanRequest {
  readonly need: Duration;
  readonly by: Instant;
  readonly from?: Instant;
  readonly minOn: Duration;
  readonly minOff: Duration;
  readonly maxStarts: number;
  readonly power: Kilowatt;
}

function requireFlag<Value>(row: string, value: Value | undefined, reason = 'a plan needs it'): Value {
  if (value === undefined) throw new UsageError(`--${row} is missing: ${reason}`);
  return value;
}

function parseNeedFlag(args: Arguments): Duration {
  const need = requireFlag('need', parseDurationFlag(args, 'need'));
  if (need <= 0) throw new UsageError('--need 0: expected more than 0');
  return need;
}

function parsePlanFlags(args: Arguments) {
  return parseAllFlags({
    file: () =>
      requireFlag('forecast', args.text('forecast'), 'a plan needs it, or --config FILE of the running agent'),
    need: () => parseNeedFlag(args),
    by: () => requireFlag('by', parseMomentFlag(args, 'by')),
    from: () => parseMomentFlag(args, 'from'),
    minOn: () => parseDurationFlag(args, 'min-on') ?? minutes(0),
    minOff: () => parseDurationFlag(args, 'min-off') ?? minutes(0),
    maxStarts: () => args.number('max-starts') ?? Number.POSITIVE_INFINITY,
    power: () => args.number('power') as Kilowatt | undefined,
  });
}

/** What the configuration says of a plan by a saved forecast. */
type House = Pick<Config, 'tariff' | 'place' | 'loads'>;

const readHouse = async (file: string | undefined): Promise<House | undefined> =>
  file === undefined ? undefined : loadConfig(file);

/** The moments of the flags, of which a time of day is the next one after what goes before it. */
function placeRequest(
  { by, from, power, ...flags }: Omit<ReturnType<typeof parsePlanFlags>, 'file'>,
  horizon: Horizon,
  house: House | undefined,
): PlanRequest {
  const timezone = house?.place.timezone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const place = (moment: Moment, after: Instant): Instant => {
    if ('at' in moment) return moment.at;
    const { timeOfDay } = moment;
    const everyDay = [timeOfDay, timeOfDay, timeOfDay, timeOfDay, timeOfDay, timeOfDay, timeOfDay] as const;
    return findNextDeadline(timezone, everyDay, after) ?? after;
  };
  const start = from && place(from, subtractDuration(horizon.from, minutes(1)));
  const end = place(by, start ?? horizon.from);
  if (start !== undefined && start >= end) throw new UsageError('--from is not before --by');
  const [only, ...others] = house?.loads ?? [];
  const configuredPower = others.length === 0 ? only?.powerKw : undefined;
  return {
    ...flags,
    by: end,
    ...(start === undefined ? {} : { from: start }),
    power: power ?? configuredPower ?? (1 as Kilowatt),
  };
}

async function readHorizon(file: string): Promise<Horizon> {
  const { points, period, units, generatedAt } = await readSavedForecast(file);
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined)
    throw new JobError(
      `${file}: no usable point, so nothing was planned; gridtide signal forecast --json > FILE saves another`,
    );
  const values = Array<number>(Math.round(durationBetween(first.at, last.at) / period) + 1).fill(Number.NaN);
  for (const { at, value } of points) values[Math.round(durationBetween(first.at, at) / period)] = value;
  const validUntil = addDuration(last.at, period);
  return { basis: 'fresh-forecast', from: first.at, period, values, units, generatedAt, validUntil };
}

/** The cheapest schedule; when the need does not fit, running from the first moment. */
function computePlan(horizon: Horizon, request: PlanRequest, prices: Prices | undefined): PlanResult {
  const { need, by, minOn, minOff, maxStarts, power } = request;
  const from = (request.from === undefined ? horizon.from : Math.max(request.from, horizon.from)) as Instant;
  const end = Math.min(by, horizon.validUntil) as Instant;
  const plan = planJob({
    horizon,
    now: from,
    from,
    by: end,
    remaining: need,
    minOn,
    minOff,
    startCost: 0,
    maxStarts,
    running: false,
    age: minOff,
  });
  const runs = plan?.runs ?? scheduleAtOnce(from, end, need);
  const delivered = runs.reduce((sum, run) => sum + run.to - run.from, 0);
  return {
    slots: runs.map((run) => ({
      start: formatInstant(run.from),
      minutes: roundToSixPlaces((run.to - run.from) / 60_000),
      kw: power,
    })),
    starts: plan?.starts ?? runs.length,
    emissions: computePlanEmissions(horizon, runs, power),
    ...(prices === undefined ? {} : { bill: computePlanBill(horizon, runs, power, prices) }),
    feasible: plan !== undefined,
    shortfallMinutes: roundToSixPlaces(Math.max(0, need - delivered) / 60_000),
  };
}

/** The prices of the configuration's table over the forecast; a file and a topic have none of saved forecasts. */
function readPrices(house: House | undefined, { from }: Horizon): Prices | undefined {
  const { tariff, place } = house ?? {};
  if (tariff?.source.kind !== 'table' || place === undefined) return undefined;
  return { currency: tariff.currency, spans: createTablePrices(tariff.source.table, place.timezone)(from) };
}

const computePlanBill = (horizon: Horizon, runs: JobPlan['runs'], power: Kilowatt, { spans, currency }: Prices) => ({
  value: roundToSixPlaces(power * computeBill(runs, horizon, spans)),
  currency,
});

/** Kilograms of CO2, or for another signal its own unit, such as the `usd` of `usd_per_mwh`. */
function computePlanEmissions(horizon: Horizon, runs: JobPlan['runs'], power: Kilowatt): PlanResult['emissions'] {
  const mass = computeJobEmissions(horizon, runs, power);
  if (horizon.units === RATE_UNITS) return { value: roundToSixPlaces(mass), units: 'kg' };
  const ofOnePerMwh = computeEmissions(1_000 as KilowattHour, 1 as LbsPerMwh);
  return { value: roundToSixPlaces(mass / ofOnePerMwh), units: horizon.units.replace(/_per_mwh$/, '') };
}

const scheduleAtOnce = (from: Instant, by: Instant, need: Duration): JobPlan['runs'] =>
  by <= from ? [] : [{ from, to: Math.min(by, from + need) as Instant }];

/** Six decimal places are finer than any forecast and hide the rounding of sums. */
const roundToSixPlaces = (value: number) => Math.round(value * 1e6) / 1e6;

function formatPlan(
  { slots, starts, emissions: { value, units }, bill }: PlanResult,
  { power }: PlanRequest,
  house: House | undefined,
): string {
  const timezone = house?.place.timezone;
  const formatStart = (start: string) =>
    timezone === undefined ? start : formatLocalDateTime(timezone, Date.parse(start) as Instant);
  const lines = slots.map(
    ({ start, minutes: length }) =>
      `${formatStart(start)}  ${String(roundToSixPlaces(length)).padStart(6)} min  ${power} kW\n`,
  );
  const cost = `${value.toFixed(2)} ${units === 'kg' ? 'kg CO2' : units}`;
  const price = bill === undefined ? '' : `, ${formatMoney(bill.value, bill.currency)}`;
  const head = timezone === undefined ? '' : `times in ${timezone}\n`;
  return `${head}${lines.join('')}${formatCount(starts, 'start')}, ${cost}${price}\n`;
}
