/** Prints the best schedule for a job: from a saved forecast answer, or of the running configuration. Switches nothing. */

import { readFile } from 'node:fs/promises';
import { type JobPlan, kilograms, planJob } from '../control/schedule.ts';
import { decodeForecast } from '../service/envelopes.ts';
import type { Outlook } from '../signal/view.ts';
import { type Duration, type Instant, iso, type Kilowatt, minutes } from '../units.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { STATE_ROW } from './state-directory.ts';

export const spec = {
  name: 'plan',
  summary: 'the best schedule for a job; without a forecast, what the agent has planned',
  positionals: '',
  options: {
    forecast: { value: 'FILE', help: 'a saved answer of /v3/forecast' },
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
  const plan = planFor(outlook, asked);
  if (args.flag('json')) terminal.out(`${JSON.stringify(plan)}\n`);
  else terminal.out(table(plan, asked));
  return 0;
}

async function ofTheAgent(args: Arguments, terminal: Terminal): Promise<number> {
  const given = ['need', 'by', 'from', 'max-starts'].filter((name) => args.text(name) !== undefined);
  if (given.length > 0)
    throw new UsageError(
      ...given.map((name) => `--${name}: goes with --forecast; the configuration says what its loads need`),
    );
  const { runningPlans, runningText } = await import('./plan-running.ts');
  const plans = await runningPlans(args, terminal, Date.now() as Instant);
  terminal.out(args.flag('json') ? `${JSON.stringify({ loads: plans })}\n` : runningText(plans));
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

function askedFor(args: Arguments): Asked {
  const mistakes: string[] = [];
  const given = <Value>(name: string, read: (text: string) => Value | undefined, wanted: string) => {
    const text = args.text(name);
    if (text === undefined) return undefined;
    const value = read(text);
    if (value === undefined) mistakes.push(`--${name} ${text}: expected ${wanted}`);
    return value;
  };
  if (args.text('forecast') === undefined)
    mistakes.push('--forecast is missing: a plan needs it, or --config FILE of the agent that runs');
  for (const name of ['need', 'by']) if (args.text(name) === undefined) mistakes.push(`--${name} is missing`);
  const length = 'a length such as 4h, 90m or 1h30m';
  const time = 'a time with a zone, such as 2026-03-02T07:00:00-08:00';
  const need = given('need', lengthOf, length);
  const by = given('by', timeOf, time);
  const from = given('from', timeOf, time);
  const minOn = given('min-on', lengthOf, length);
  const minOff = given('min-off', lengthOf, length);
  if (need !== undefined && need <= 0) mistakes.push('--need 0: expected more than nothing');
  if (by !== undefined && from !== undefined && from >= by) mistakes.push('--from is not before --by');
  const maxStarts = args.number('max-starts', { from: 1, whole: true }) ?? Number.POSITIVE_INFINITY;
  const power = args.number('power', { from: 0.001, to: 100_000 }) ?? 1;
  if (mistakes.length > 0 || need === undefined || by === undefined) throw new UsageError(...mistakes);
  return {
    file: args.text('forecast') ?? '',
    need,
    by,
    ...(from === undefined ? {} : { from }),
    minOn: minOn ?? minutes(0),
    minOff: minOff ?? minutes(0),
    maxStarts,
    power: power as Kilowatt,
  };
}

/** `4h`, `90m`, `1h30m`, `45s`. */
function lengthOf(text: string): Duration | undefined {
  const match = /^(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?$/.exec(text.trim());
  if (match === null || match[0] === '') return undefined;
  const [, hours = '0', mins = '0', secs = '0'] = match;
  return (Number(hours) * 3_600_000 + Number(mins) * 60_000 + Number(secs) * 1_000) as Duration;
}

function timeOf(text: string): Instant | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : (at as Instant);
}

async function outlookOf(file: string): Promise<Outlook> {
  let body: unknown;
  try {
    body = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    const cause = error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read';
    throw new JobError(`${file}: ${cause}; nothing was planned; save an answer of /v3/forecast there`);
  }
  const meta = metaOf(body);
  const forecast = decodeForecast(body, { region: meta.region, signalType: meta.signalType as 'co2_moer' });
  if (!forecast.ok || forecast.value.points.length === 0) {
    const what = forecast.ok ? 'it holds no usable point' : 'it is not an answer of /v3/forecast';
    throw new JobError(`${file}: ${what}; nothing was planned; save an answer of /v3/forecast there`);
  }
  const { points, period, units, generatedAt } = forecast.value;
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) throw new JobError(`${file}: it holds no usable point`);
  const values = Array<number>(Math.round((last.at - first.at) / period) + 1).fill(Number.NaN);
  for (const { at, value } of points) values[Math.round((at - first.at) / period)] = value;
  const validUntil = (last.at + period) as Instant;
  return { basis: 'fresh-forecast', from: first.at, period, values, units, generatedAt, validUntil };
}

/** A saved answer says itself which region and signal it is about. */
function metaOf(body: unknown): { readonly region: string; readonly signalType: string } {
  const meta = typeof body === 'object' && body !== null && 'meta' in body ? body.meta : undefined;
  const field = (name: string) => {
    const value = typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>)[name] : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  return { region: field('region') ?? '', signalType: field('signal_type') ?? 'co2_moer' };
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
    emissions: { value: rounded(kilograms(outlook, runs, power)), units: 'kg' },
    feasible: plan !== undefined,
    shortfallMinutes: rounded(Math.max(0, need - delivered) / 60_000),
  };
}

const atOnce = (from: Instant, by: Instant, need: Duration): JobPlan['runs'] =>
  by <= from ? [] : [{ from, to: Math.min(by, from + need) as Instant }];

/** Six places are more than any forecast knows, and hide no rounding of sums. */
const rounded = (value: number) => Math.round(value * 1e6) / 1e6;

function table({ slots, starts, emissions: mass, feasible, shortfallMinutes }: Planned, { power }: Asked): string {
  const lines = slots.map(
    ({ start, minutes: length }) => `${start}  ${String(rounded(length)).padStart(6)} min  ${power} kW`,
  );
  const total = `${starts} ${starts === 1 ? 'start' : 'starts'}, ${mass.value.toFixed(2)} ${mass.units} CO2`;
  const verdict = feasible
    ? ''
    : `not possible as asked: ${Math.ceil(shortfallMinutes)} minutes will be missing; runs at once\n`;
  return `${lines.join('\n')}${lines.length > 0 ? '\n' : ''}${total}\n${verdict}`;
}
