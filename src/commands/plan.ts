/** Prints the best schedule for a job: from a saved forecast answer, or of the running configuration. Switches nothing. */

import { type JobPlan, kilograms, planJob } from '../control/schedule.ts';
import type { Outlook } from '../signal/view.ts';
import {
  after,
  between,
  counted,
  type Duration,
  emissions,
  type Instant,
  inMinutes,
  iso,
  type Kilowatt,
  type KilowattHour,
  type LbsPerMwh,
  minutes,
} from '../units.ts';
import { allAsked, lengthAsked, savedForecast, timeAsked } from './asked.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { STATE_ROW } from './state-directory.ts';

export const spec = {
  name: 'plan',
  summary: 'the best schedule for a job; without a forecast, what the agent has planned',
  positionals: '',
  options: {
    forecast: { value: 'FILE', help: 'what gridtide signal forecast --json printed' },
    need: { value: 'LENGTH', help: 'how long it must run, such as 4h or 90m' },
    by: { value: 'TIME', help: 'deadline, ISO 8601 with a zone' },
    from: { value: 'TIME', help: 'not before; the first point of the forecast unless given' },
    'min-on': { value: 'LENGTH', help: 'least running time', default: '0m' },
    'min-off': { value: 'LENGTH', help: 'least pause', default: '0m' },
    'max-starts': { value: 'N', help: 'at most this many starts; 1 is one block' },
    power: { value: 'KW', help: 'power of the load', default: '1' },
    config: { value: 'FILE', help: 'without --forecast: the configuration of the agent that runs' },
    state: STATE_ROW,
    json: { help: 'one JSON document' },
  },
  notes: ['example: gridtide plan --forecast answer.json --need 4h --by 2026-03-02T15:00:00Z --power 7.2'],
} satisfies CommandSpec;

export async function run(args: Arguments, terminal: Terminal): Promise<number> {
  if (args.text('forecast') === undefined && args.text('config') !== undefined) return ofTheAgent(args, terminal);
  const asked = askedFor(args);
  const outlook = await outlookOf(asked.file);
  if (asked.by <= outlook.from)
    throw new JobError(`--by ${iso(asked.by)} is not after ${iso(outlook.from)}, where the forecast begins`);
  const plan = planFor(outlook, asked);
  if (args.flag('json')) terminal.out(`${JSON.stringify(plan)}\n`);
  else terminal.out(table(plan, asked));
  // What is printed is the best there is; that it is too little must not look like success.
  if (!plan.feasible) throw new JobError(shortfallWords(plan, asked, outlook));
  return 0;
}

function shortfallWords({ shortfallMinutes }: Planned, { need, by }: Asked, { validUntil }: Outlook): string {
  const short =
    shortfallMinutes > 0
      ? `${Math.ceil(shortfallMinutes)} of ${counted(Math.round(inMinutes(need)), 'minute')} will be missing`
      : 'the least running time and pause do not fit';
  const end = validUntil < by ? `, for the forecast ends at ${iso(validUntil)}` : '';
  return `not possible as asked: ${short}${end}; the schedule printed runs at once; give it more time, fewer pauses or a shorter --need`;
}

async function ofTheAgent(args: Arguments, terminal: Terminal): Promise<number> {
  const given = ['need', 'by', 'from', 'max-starts'].filter((name) => args.text(name) !== undefined);
  if (given.length > 0)
    throw new UsageError(
      ...given.map((name) => `--${name}: goes with --forecast; the configuration says what its loads need`),
    );
  const { runningPlans, runningText } = await import('./plan-running.ts');
  const plans = await runningPlans(args, terminal, Date.now() as Instant);
  terminal.out(args.flag('json') ? `${JSON.stringify({ loads: plans.loads })}\n` : runningText(plans));
  return 0;
}

interface Asked {
  readonly file: string;
  readonly need: Duration;
  readonly by: Instant;
  readonly from?: Instant;
  readonly minOn: Duration;
  readonly minOff: Duration;
  readonly maxStarts: number;
  readonly power: Kilowatt;
}

function needed<Value>(row: string, value: Value | undefined, why = 'a plan needs it'): Value {
  if (value === undefined) throw new UsageError(`--${row} is missing: ${why}`);
  return value;
}

function needOf(args: Arguments): Duration {
  const need = needed('need', lengthAsked(args, 'need'));
  if (need <= 0) throw new UsageError('--need 0: expected more than nothing');
  return need;
}

function askedFor(args: Arguments): Asked {
  const { from, ...asked } = allAsked({
    file: () => needed('forecast', args.text('forecast'), 'a plan needs it, or --config FILE of the agent that runs'),
    need: () => needOf(args),
    by: () => needed('by', timeAsked(args, 'by')),
    from: () => timeAsked(args, 'from'),
    minOn: () => lengthAsked(args, 'min-on') ?? minutes(0),
    minOff: () => lengthAsked(args, 'min-off') ?? minutes(0),
    maxStarts: () => args.number('max-starts', { from: 1, whole: true }) ?? Number.POSITIVE_INFINITY,
    power: () => (args.number('power', { from: 0.001, to: 100_000 }) ?? 1) as Kilowatt,
  });
  if (from !== undefined && from >= asked.by) throw new UsageError('--from is not before --by');
  return from === undefined ? asked : { ...asked, from };
}

async function outlookOf(file: string): Promise<Outlook> {
  const { points, period, units, generatedAt } = await savedForecast(file);
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined)
    throw new JobError(
      `${file}: it holds no usable point, so nothing was planned; gridtide signal forecast --json > FILE saves another`,
    );
  const values = Array<number>(Math.round(between(first.at, last.at) / period) + 1).fill(Number.NaN);
  for (const { at, value } of points) values[Math.round(between(first.at, at) / period)] = value;
  const validUntil = after(last.at, period);
  return { basis: 'fresh-forecast', from: first.at, period, values, units, generatedAt, validUntil };
}

interface Slot {
  readonly start: string;
  readonly minutes: number;
  readonly kw: number;
}

export interface Planned {
  /** Maximal runs. */
  readonly slots: readonly Slot[];
  readonly starts: number;
  readonly emissions: { readonly value: number; readonly units: string };
  readonly feasible: boolean;
  readonly shortfallMinutes: number;
}

/** The cheapest schedule, or running from the first moment on when the need cannot be met. */
function planFor(outlook: Outlook, asked: Asked): Planned {
  const { need, by, minOn, minOff, maxStarts, power } = asked;
  const from = (asked.from === undefined ? outlook.from : Math.max(asked.from, outlook.from)) as Instant;
  const end = Math.min(by, outlook.validUntil) as Instant;
  const plan = planJob({
    outlook,
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
  const runs = plan?.runs ?? atOnce(from, end, need);
  const delivered = runs.reduce((sum, run) => sum + run.to - run.from, 0);
  return {
    slots: runs.map((run) => ({ start: iso(run.from), minutes: rounded((run.to - run.from) / 60_000), kw: power })),
    starts: plan?.starts ?? runs.length,
    emissions: emissionsOf(outlook, runs, power),
    feasible: plan !== undefined,
    shortfallMinutes: rounded(Math.max(0, need - delivered) / 60_000),
  };
}

/** Kilograms of CO2; for a signal that is no rate of CO2 what its own unit counts, such as the `usd` of `usd_per_mwh`. */
function emissionsOf(outlook: Outlook, runs: JobPlan['runs'], power: Kilowatt): Planned['emissions'] {
  const mass = kilograms(outlook, runs, power);
  if (outlook.units === 'lbs_co2_per_mwh') return { value: rounded(mass), units: 'kg' };
  const ofOnePerMwh = emissions(1_000 as KilowattHour, 1 as LbsPerMwh);
  return { value: rounded(mass / ofOnePerMwh), units: outlook.units.replace(/_per_mwh$/, '') };
}

const atOnce = (from: Instant, by: Instant, need: Duration): JobPlan['runs'] =>
  by <= from ? [] : [{ from, to: Math.min(by, from + need) as Instant }];

/** Six places are more than any forecast knows, and hide no rounding of sums. */
const rounded = (value: number) => Math.round(value * 1e6) / 1e6;

function table({ slots, starts, emissions: { value, units } }: Planned, { power }: Asked): string {
  const lines = slots.map(
    ({ start, minutes: length }) => `${start}  ${String(rounded(length)).padStart(6)} min  ${power} kW\n`,
  );
  const cost = `${value.toFixed(2)} ${units === 'kg' ? 'kg CO2' : units}`;
  return `${lines.join('')}${counted(starts, 'start')}, ${cost}\n`;
}
