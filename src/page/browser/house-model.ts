/** The documents of a house as the browser knows them, and the texts made of them. */

import { formatHoursMinutes } from '../../domain/duration-text.ts';
import { milliseconds } from '../../domain/units.ts';

export interface Load {
  readonly name: string;
  readonly type: string;
  readonly levels: readonly string[];
  readonly powerKw: number;
  readonly onBelow: number;
  readonly offAbove: number;
  readonly hasGoal: boolean;
  readonly observeOnly: boolean;
}

export interface LoadDocument {
  readonly time: string;
  readonly level: string;
  readonly told: string | null;
  readonly confirmed: string | null;
  readonly available: boolean | null;
  readonly running: boolean;
  readonly why: string;
  /** What the rules want while a limit decides. */
  readonly wantedWhy?: string | null;
  readonly text: string;
  readonly override: string;
  /** Absent from a document of an older agent. */
  readonly paused?: boolean;
  readonly onBelow?: number;
  readonly offAbove?: number;
  readonly until: string | null;
  readonly nextStart: string | null;
  readonly nextEnd: string | null;
  /** Absent from a document of an older agent. */
  readonly nextIsExpected?: boolean;
  readonly job: { by: string; needMinutes: number; doneMinutes: number; shortfallMinutes: number } | null;
  readonly energyKwh: number | null;
  readonly energyTodayKwh: number | null;
}

interface Series {
  readonly from: string;
  readonly periodSeconds: number;
  readonly units: string;
  readonly values: readonly (number | null)[];
  readonly profileFrom?: string | null;
  readonly basis?: string;
  readonly validUntil?: string;
}

interface Sum {
  readonly energyKwh: number;
  readonly kg: number;
  readonly insteadKg: number;
  readonly savedKg: number;
  readonly settledShare: number;
  /** Absent from a document of an older agent. */
  readonly bill?: { readonly currency: string; readonly paid: number; readonly saved: number } | null;
}

interface Coordinates {
  readonly latitude: number;
  readonly longitude: number;
}

export interface House {
  page?: {
    readonly now: string;
    readonly version: string;
    readonly device: string;
    readonly timezone: string;
    readonly place?: Coordinates;
    readonly link: string;
    readonly problem: string | null;
    readonly savedAsOf: string | null;
  };
  availability?: string;
  signal?: {
    readonly index: number | null;
    readonly rate: number | null;
    readonly units: string;
    readonly basis: string;
    readonly validUntil: string | null;
  };
  forecast?: Series;
  history?: Series;
  prices?: {
    readonly currency: string;
    readonly spans: readonly { readonly start: string; readonly end: string; readonly price: number }[];
  };
  totals?: {
    readonly today: Sum;
    readonly month: Sum;
    readonly all: Sum;
    readonly days: readonly { day: string; savedKg: number }[];
  };
  health?: {
    readonly ok: boolean;
    readonly problem: string;
    readonly basis: string;
    readonly lastForecast: string | null;
    readonly plan: string | null;
    readonly warnings: readonly string[];
  };
  info?: {
    readonly region: string | null;
    readonly regionFullName: string | null;
    readonly mapLastUpdated: string | null;
    readonly acceptsCommands: boolean;
    readonly units: string;
    readonly loads: readonly Load[];
  };
  runs?: Readonly<Record<string, readonly { from: number; to?: number }[]>>;
  outline?: {
    readonly path: string;
    readonly width: number;
    readonly height: number;
    readonly house: readonly [number, number];
  };
  readonly [path: string]: unknown;
}

export const getLoad = (house: House, name: string) => house[`loads/${name}`] as LoadDocument | undefined;

/** The thresholds in use of the first load that has no goal, else of the first. */
export function findThresholds(house: House): readonly [number, number] {
  const loads = house.info?.loads ?? [];
  const load = loads.find(({ hasGoal }) => !hasGoal) ?? loads[0];
  if (load === undefined) return [33, 43];
  const { onBelow = load.onBelow, offAbove = load.offAbove } = getLoad(house, load.name) ?? {};
  return [onBelow, offAbove];
}

interface PlanDocument {
  readonly runs: readonly { readonly start: string; readonly end: string }[];
  /** Absent from a document of an older agent. */
  readonly expected?: readonly { readonly start: string | null; readonly end: string | null }[];
}

const getPlan = (house: House, name: string) => house[`loads/${name}/plan`] as PlanDocument | undefined;

export const getPlannedRuns = (house: House, name: string) =>
  (getPlan(house, name)?.runs ?? []).map(({ start, end }) => ({ from: Date.parse(start), to: Date.parse(end) }));

/** A stretch of time in milliseconds. */
export interface TimeSpan {
  readonly from: number;
  /** Infinite where what is known ends before it does. */
  readonly to: number;
}

/** At most three digits. */
export function formatNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number(value.toFixed(digits)).toLocaleString();
}

export const formatMoney = (value: number, currency: string) =>
  value.toLocaleString(undefined, { style: 'currency', currency });

/** A time less far ahead than this is the next one of its kind. */
const UNAMBIGUOUS = 20 * 3_600_000;

/** `07:00`, of an earlier or a later day with its name, in the zone of the house. */
export function createClockFormat(timezone: string) {
  const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: timezone });
  const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: timezone });
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: timezone });
  return {
    date: (at: number) => date.format(at),
    time: (at: number) => time.format(at),
    clock: (at: number, now: number) =>
      date.format(at) === date.format(now) || (at > now && at - now < UNAMBIGUOUS)
        ? time.format(at)
        : `${day.format(at)} ${time.format(at)}`,
  };
}
export type ClockFormat = ReturnType<typeof createClockFormat>;

export const toTitle = (name: string) => {
  const words = name.replace(/[_-]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const parse = (text: string | null | undefined) => (text ? Date.parse(text) : undefined);

/** The state of a load in one word. */
export function describeState(load: LoadDocument): string {
  if (load.available === false) return 'Away';
  if (load.why === 'output-fault') return 'Trouble';
  if (load.told !== null && load.confirmed !== null && load.confirmed !== load.told) return 'Switching';
  if (load.override !== 'auto') return load.running ? 'On by you' : 'Off by you';
  if (load.why === 'paused') return 'Paused';
  if (load.running) return 'Runs';
  return load.why === 'goal-done' ? 'Ready' : 'Waits';
}

/** `01:10–05:10`, with the day once; of several runs how long they are together. */
function describeRuns(runs: readonly TimeSpan[], now: number, format: ClockFormat): string {
  const [first] = runs;
  const last = runs.at(-1);
  if (first === undefined || last === undefined) return '';
  const start = format.clock(first.from, now);
  if (last.to === Number.POSITIVE_INFINITY) return `from ${start}`;
  const end = format.date(first.from) === format.date(last.to) ? format.time(last.to) : format.clock(last.to, now);
  if (runs.length === 1) return `${start}–${end}`;
  const length = runs.reduce((sum, { from, to }) => sum + to - Math.max(from, now), 0);
  return `${formatHoursMinutes(milliseconds(length))} between ${start} and ${end}`;
}

/** `01:10–03:00, 04:20–05:05`: each stretch from now on, the first three of them. */
export function listTimeSpans(spans: readonly TimeSpan[], now: number, format: ClockFormat): string {
  const ahead = spans.filter(({ to }) => to > now);
  const texts = ahead.slice(0, 3).map(({ from, to }) => describeRuns([{ from: Math.max(from, now), to }], now, format));
  return texts.join(', ') + (ahead.length > texts.length ? ' …' : '');
}

/** When a load without a goal is expected to run by the forecast. */
export const findExpectedRuns = (house: House, name: string, now: number): readonly TimeSpan[] =>
  (getPlan(house, name)?.expected ?? [])
    .map(({ start, end }) => ({ from: parse(start) ?? now, to: parse(end) ?? Number.POSITIVE_INFINITY }))
    .filter(({ to }) => to > now);

/** Until when its owner, a minimum time or another limit keeps a load at its level, or a block lasts. */
export function findHold(house: House, name: string, now: number): TimeSpan | undefined {
  const load = getLoad(house, name);
  const to = parse(load?.until);
  if (load === undefined || to === undefined || to <= now) return undefined;
  const isHeld = load.override !== 'auto' || (load.wantedWhy ?? null) !== null || load.level === 'block';
  return isHeld ? { from: now, to } : undefined;
}

const DAY_MILLISECONDS = 24 * 3_600_000;

/** Whether the sun is below the horizon, right to about a quarter of an hour. */
export function isNight(at: number, { latitude, longitude }: Coordinates): boolean {
  const toRadians = (degrees: number) => (degrees * Math.PI) / 180;
  const days = at / DAY_MILLISECONDS;
  const declination = toRadians(-23.44 * Math.cos((2 * Math.PI * (days + 10)) / 365.2422));
  const hourAngle = toRadians(360 * (days % 1) - 180 + longitude);
  const height =
    Math.sin(toRadians(latitude)) * Math.sin(declination) +
    Math.cos(toRadians(latitude)) * Math.cos(declination) * Math.cos(hourAngle);
  return height < Math.sin(toRadians(-0.83));
}

/** What one load does next, as part of the sentence. */
function describeNext(house: House, config: Load, load: LoadDocument, moment: Moment): string {
  const { now, format } = moment;
  const { name } = config;
  const title = toTitle(name);
  const ahead = getPlannedRuns(house, name).filter(({ to }) => to > now);
  const [start, end, by, until] = [load.nextStart, load.nextEnd, load.job?.by, load.until].map(parse);
  const isOpen = load.job !== null && load.why !== 'goal-done';
  const shortfall = Math.round(load.job?.shortfallMinutes ?? 0);
  const deadline = by === undefined || !isOpen ? '' : format.clock(by, now);
  const ready =
    deadline === '' ? '' : shortfall > 0 ? `, ${shortfall} min short by ${deadline}` : `, ready by ${deadline}`;
  if (load.available === false) return `${title} is away.`;
  if (load.override !== 'auto')
    return `${title} is ${load.running ? 'on' : 'off'} by you${until ? ` until ${format.clock(until, now)}` : ''}.`;
  if (load.why === 'paused')
    return `${title} is paused by you at its fail-safe level${load.running ? ' and may run' : ''}.`;
  if (load.running) {
    const later = ahead.filter(({ from }) => from > now);
    const again = later.length === 0 ? '' : ` and again ${describeRuns(later, now, format)}`;
    const until = `${load.nextIsExpected ? ', expected' : ''} until`;
    return `${title} runs${end ? `${until} ${format.clock(end, now)}${again}` : ''}${ready}.`;
  }
  if (load.why === 'goal-done') return `${title} is ready.`;
  if (load.why === 'not-armed') return `${title} waits for you.`;
  if (isOpen && ahead.length > 0) return `${title} runs ${describeRuns(ahead, now, format)}${ready}.`;
  if (start && !load.nextIsExpected) return `${title} waits until ${format.clock(start, now)}${ready}.`;
  const likely = start ? `, expected from ${format.clock(start, now)}` : '';
  return `${title} waits for cleaner hours${likely}${ready}.`;
}

interface Moment {
  readonly now: number;
  readonly format: ClockFormat;
}

/** What the house does and will do. */
export function buildSentence(house: House, moment: Moment): string {
  const parts = (house.info?.loads ?? []).flatMap((config) => {
    const load = getLoad(house, config.name);
    return load === undefined ? [] : [describeNext(house, config, load, moment)];
  });
  return parts.length === 0 ? 'No load has reported yet; it follows when the agent has started.' : parts.join(' ');
}

/** What is wrong, first of all what keeps the page from knowing. */
export function findTrouble(house: House, now: number, format: ClockFormat): string | undefined {
  const { page, availability, health } = house;
  if (page === undefined) return undefined;
  if (page.link !== 'online') {
    const saved = parse(page.savedAsOf);
    const state = saved === undefined ? '' : ` What follows is as of ${format.clock(saved, now)}.`;
    return `No link to the broker${page.problem === null ? '' : ` (${page.problem})`}.${state}`;
  }
  if (availability === 'offline') return 'The agent is offline: start it with gridtide run, or look at its log.';
  if (health !== undefined && !health.ok) return health.problem;
  return undefined;
}

/** What the agent said last of its parts; empty where the trouble above it says that already. */
export function describeHealth({ page, availability, health }: House): string {
  if (health === undefined) return '';
  const text = health.ok ? 'All parts work.' : health.problem;
  if (page?.link !== 'online' || availability === 'offline') return `Last reported: ${text}`;
  return health.ok ? text : '';
}

/** The price of each moment (seconds); null where none is known. */
function findPrices({ prices }: House, at: readonly number[]): (number | null)[] {
  const spans = (prices?.spans ?? []).map(({ start, end, price }) => ({
    ...{ from: Date.parse(start) / 1_000, to: Date.parse(end) / 1_000, price },
  }));
  return at.map((moment) => spans.find(({ from, to }) => from <= moment && moment < to)?.price ?? null);
}

/** Past, present and future rates on one time axis. */
export interface Timeline {
  readonly at: number[];
  readonly price: (number | null)[];
  readonly rate: (number | null)[];
  readonly index: (number | null)[];
  readonly units: string;
  readonly profileFrom: number;
}

const LEAST_SHARE = 0.75;

/** The rank of each value among those of the 24 hours from it on, where enough of them are known. */
function rankValues(values: readonly (number | null)[], period: number): (number | null)[] {
  const pool = Math.round(DAY_MILLISECONDS / period);
  return values.map((value, i) => {
    if (value === null) return null;
    let [below, equal, known] = [0, 0, 0];
    for (const other of values.slice(i, i + pool)) {
      if (other === null) continue;
      known++;
      if (other < value) below++;
      else if (other === value) equal++;
    }
    return known < pool * LEAST_SHARE ? null : (100 * (below + equal / 2)) / known;
  });
}

export function buildTimeline(house: House): Timeline {
  const { history, forecast } = house;
  const first = history ?? forecast;
  if (first === undefined)
    return { at: [], price: [], rate: [], index: [], units: '', profileFrom: Number.POSITIVE_INFINITY };
  const period = first.periodSeconds * 1_000;
  const from = Date.parse(first.from);
  const rate: (number | null)[] = [];
  for (const series of [history, forecast]) {
    if (series === undefined || series.units !== first.units) continue;
    const offset = Math.round((Date.parse(series.from) - from) / period);
    for (const [i, value] of series.values.entries()) if (value !== null && offset + i >= 0) rate[offset + i] = value;
  }
  const filled = Array.from(rate, (value) => value ?? null);
  const at = filled.map((_, i) => (from + i * period) / 1_000);
  return {
    at,
    price: findPrices(house, at),
    rate: filled,
    index: rankValues(filled, period),
    units: first.units,
    profileFrom: parse(forecast?.profileFrom) ?? Number.POSITIVE_INFINITY,
  };
}
