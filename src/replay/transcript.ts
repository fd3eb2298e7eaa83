/** The demo's story: events as JSON lines, as sentences, and as a strip of the day. Formats only; decides nothing. */

import { counted, type Instant } from '../units.ts';

export type DemoEvent =
  | {
      readonly event: 'region';
      readonly at: string;
      readonly region: string;
      readonly regionFullName: string;
      readonly map: string | null;
    }
  | {
      readonly event: 'signal';
      readonly at: string;
      readonly index: number;
      readonly rate: number | null;
      readonly basis: string;
    }
  | {
      readonly event: 'decision';
      readonly at: string;
      readonly load: string;
      readonly level: string;
      readonly switched: boolean;
      readonly why: string;
      readonly words: string;
    }
  | { readonly event: 'trouble'; readonly at: string; readonly trouble: string }
  | { readonly result: DemoResult };

export interface LoadResult {
  readonly load: string;
  readonly energyKwh: number;
  readonly kg: number;
  /** What the same energy would have emitted otherwise; `comparedWith` says how. */
  readonly insteadKg: number;
  readonly savedKg: number;
  readonly comparedWith: 'at-once' | 'even-day' | null;
  readonly switches: number;
}

export interface DemoResult {
  readonly hours: number;
  readonly seed: number;
  readonly loads: readonly LoadResult[];
  readonly kg: number;
  readonly savedKg: number;
  readonly switches: number;
  readonly requests: number;
  readonly logins: number;
  readonly deadlines: { readonly met: number; readonly missed: number };
}

/** One slot of the strip. */
export interface StripCell {
  readonly index: number | undefined;
  readonly running: ReadonlySet<string>;
}

const clockTime = (timezone: string) => {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (at: string) => format.format(new Date(at)).replace(',', '');
};

const indexWords = (index: number, rate: number | null) =>
  `index ${`${Math.round(index)}`.padStart(3)}${rate === null ? '' : `  ${`${Math.round(rate)}`.padStart(4)} lb/MWh`}`;

/** What people want to hear of although nothing is switched. */
const WORTH_A_LINE: ReadonlySet<string> = new Set([
  'plan-waits',
  'goal-done',
  'not-armed',
  'no-data',
  'untrusted-clock',
  'flat',
  'output-fault',
  'power-budget',
  'override',
  'remote-override',
]);

/** Keeps the decisions that are news to people: a switch, or another reason worth a line. */
export function createNews(): (event: DemoEvent) => boolean {
  const last = new Map<string, string>();
  return (event) => {
    if ('result' in event || event.event !== 'decision') return true;
    const isNew = event.switched || (WORTH_A_LINE.has(event.why) && last.get(event.load) !== event.why);
    if (isNew) last.set(event.load, event.why);
    return isNew;
  };
}

/** An event as a line for people; undefined for the result, which has a text of its own. */
export function lineOf(event: DemoEvent, timezone: string, width: number): string | undefined {
  if ('result' in event) return undefined;
  const time = clockTime(timezone)(event.at);
  switch (event.event) {
    case 'region':
      return `${time}  region ${event.region}, ${event.regionFullName}: found offline in the map of ${event.map?.slice(0, 10) ?? 'today'}`;
    case 'signal':
      return `${time}  ${indexWords(event.index, event.rate)}`;
    case 'decision':
      return `${time}  ${event.load.padEnd(width)} ${event.switched ? '->' : '  '} ${event.level.padEnd(9)} ${event.words}`;
    case 'trouble':
      return `${time}  trouble: ${event.trouble}`;
  }
}

const PALETTE = [46, 82, 118, 154, 190, 226, 220, 214, 208, 202, 196];
const colour = (index: number) =>
  PALETTE[Math.min(PALETTE.length - 1, Math.floor((index / 100) * PALETTE.length))] ?? 250;
const painted = (index: number | undefined, text: string) =>
  index === undefined ? text : `\u001b[38;5;${colour(index)}m${text}\u001b[0m`;

export interface StripOptions {
  readonly loads: readonly string[];
  /** Of the first cell. */
  readonly from: Instant;
  readonly timezone: string;
  /** Width of the terminal: longer days get coarser cells. */
  readonly columns: number;
  readonly coloured: boolean;
}

const QUARTER = 900_000;

/** `size` cells as one: the first index, and every load that ran in any of them. */
function joined(cells: readonly StripCell[], size: number): StripCell[] {
  return Array.from({ length: Math.ceil(cells.length / size) }, (_, i) => {
    const group = cells.slice(i * size, (i + 1) * size);
    return { index: group[0]?.index, running: new Set(group.flatMap(({ running }) => [...running])) };
  });
}

/** The day in one row a load, coloured by the index: full where it ran, a dot where it did not. */
export function strip(cells: readonly StripCell[], { loads, from, timezone, columns, coloured }: StripOptions): string {
  const width = Math.max(...loads.map((load) => load.length), 'index'.length);
  const size = Math.max(1, Math.ceil(cells.length / Math.max(12, columns - width - 2)));
  const shown = joined(cells, size);
  const paint = (index: number | undefined, text: string) => (coloured ? painted(index, text) : text);
  const hourOf = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', hourCycle: 'h23' });
  const every = Math.max(3, Math.round(12 / size));
  const ruler = shown
    .map((_, i) => (i % every === 0 ? hourOf.format(new Date(from + i * size * QUARTER)).padEnd(every) : ''))
    .join('')
    .slice(0, shown.length);
  const rows = loads.map(
    (load) =>
      `${load.padEnd(width)}  ${shown.map(({ index, running }) => paint(index, running.has(load) ? '█' : '·')).join('')}`,
  );
  const index = `${'index'.padEnd(width)}  ${shown.map((cell) => paint(cell.index, '▄')).join('')}`;
  const legend = `${' '.repeat(width)}  █ ran, · did not${coloured ? '; green is clean, red is dirty' : ''}`;
  return [`${' '.repeat(width)}  ${ruler}`, index, ...rows, legend].join('\n');
}

const kg = (value: number) => `${value.toFixed(2)} kg`;

/** The end of the story. */
export function summary(result: DemoResult): string {
  const width = Math.max(...result.loads.map(({ load }) => load.length));
  const versus = { 'at-once': 'at once', 'even-day': 'spread evenly over the day' } as const;
  const rows = result.loads.map(({ load, energyKwh, kg: mine, insteadKg, savedKg, comparedWith, switches }) => {
    const saved =
      comparedWith === null
        ? ''
        : `  ${kg(insteadKg)} ${versus[comparedWith]}: ${savedKg < 0 ? `${kg(-savedKg)} more` : `${kg(savedKg)} saved`}`;
    return `  ${load.padEnd(width)}  ${energyKwh.toFixed(1).padStart(5)} kWh  ${kg(mine).padStart(9)} CO2${saved}  (${counted(switches, 'switch')})`;
  });
  const { met, missed } = result.deadlines;
  return [
    `${counted(result.hours, 'hour')}: ${kg(result.kg)} CO2, ${result.savedKg < 0 ? `${kg(-result.savedKg)} more` : `${kg(result.savedKg)} saved`}`,
    ...rows,
    `  deadlines: ${met} met, ${missed} missed; ${counted(result.requests, 'request')}, ${counted(result.logins, 'login')}`,
  ].join('\n');
}
