/** The demo's story: events as JSON lines, as sentences, and as a strip of the day. Formats only; decides nothing. */

import { formatCount, type Instant } from '../domain/units.ts';

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
      readonly text: string;
    }
  | { readonly event: 'problem'; readonly at: string; readonly problem: string }
  | { readonly result: DemoResult };

export interface DemoLoadResult {
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
  readonly loads: readonly DemoLoadResult[];
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

const createClockFormat = (timezone: string) => {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (at: string) => format.format(new Date(at)).replace(',', '');
};

const formatIndex = (index: number, rate: number | null) =>
  `index ${`${Math.round(index)}`.padStart(3)}${rate === null ? '' : `  ${`${Math.round(rate)}`.padStart(4)} lb/MWh`}`;

/** What people want to hear of although nothing is switched. */
const NOTABLE_REASONS: ReadonlySet<string> = new Set([
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
export function createNewsFilter(): (event: DemoEvent) => boolean {
  const lastReasons = new Map<string, string>();
  return (event) => {
    if ('result' in event || event.event !== 'decision') return true;
    const isNew = event.switched || (NOTABLE_REASONS.has(event.why) && lastReasons.get(event.load) !== event.why);
    if (isNew) lastReasons.set(event.load, event.why);
    return isNew;
  };
}

/** An event as a line for people; undefined for the result, which has a text of its own. */
export function formatDemoEvent(event: DemoEvent, timezone: string, width: number): string | undefined {
  if ('result' in event) return undefined;
  const time = createClockFormat(timezone)(event.at);
  switch (event.event) {
    case 'region':
      return `${time}  region ${event.region}, ${event.regionFullName}: found offline in the map of ${event.map?.slice(0, 10) ?? 'today'}`;
    case 'signal':
      return `${time}  ${formatIndex(event.index, event.rate)}`;
    case 'decision':
      return `${time}  ${event.load.padEnd(width)} ${event.switched ? '->' : '  '} ${event.level.padEnd(9)} ${event.text}`;
    case 'problem':
      return `${time}  problem: ${event.problem}`;
  }
}

const INDEX_PALETTE = [46, 82, 118, 154, 190, 226, 220, 214, 208, 202, 196];
const pickColour = (index: number) =>
  INDEX_PALETTE[Math.min(INDEX_PALETTE.length - 1, Math.floor((index / 100) * INDEX_PALETTE.length))] ?? 250;
const paintByIndex = (index: number | undefined, text: string) =>
  index === undefined ? text : `\u001b[38;5;${pickColour(index)}m${text}\u001b[0m`;

export interface StripOptions {
  readonly loads: readonly string[];
  /** Of the first cell. */
  readonly from: Instant;
  readonly timezone: string;
  /** Width of the terminal: longer days get coarser cells. */
  readonly columns: number;
  readonly coloured: boolean;
}

const STRIP_CELL = 900_000;

/** `size` cells as one: the first index, and every load that ran in any of them. */
function mergeCells(cells: readonly StripCell[], size: number): StripCell[] {
  return Array.from({ length: Math.ceil(cells.length / size) }, (_, i) => {
    const group = cells.slice(i * size, (i + 1) * size);
    return { index: group[0]?.index, running: new Set(group.flatMap(({ running }) => [...running])) };
  });
}

/** The day in one row a load, coloured by the index: full where it ran, a dot where it did not. */
export function formatStrip(
  cells: readonly StripCell[],
  { loads, from, timezone, columns, coloured }: StripOptions,
): string {
  const width = Math.max(...loads.map((load) => load.length), 'index'.length);
  const cellsPerColumn = Math.max(1, Math.ceil(cells.length / Math.max(12, columns - width - 2)));
  const columnCells = mergeCells(cells, cellsPerColumn);
  const paint = (index: number | undefined, text: string) => (coloured ? paintByIndex(index, text) : text);
  const hourFormat = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', hourCycle: 'h23' });
  const rulerEvery = Math.max(3, Math.round(12 / cellsPerColumn));
  const ruler = columnCells
    .map((_, i) =>
      i % rulerEvery === 0
        ? hourFormat.format(new Date(from + i * cellsPerColumn * STRIP_CELL)).padEnd(rulerEvery)
        : '',
    )
    .join('')
    .slice(0, columnCells.length);
  const rows = loads.map(
    (load) =>
      `${load.padEnd(width)}  ${columnCells.map(({ index, running }) => paint(index, running.has(load) ? '█' : '·')).join('')}`,
  );
  const index = `${'index'.padEnd(width)}  ${columnCells.map((cell) => paint(cell.index, '▄')).join('')}`;
  const legend = `${' '.repeat(width)}  █ ran, · did not${coloured ? '; green is clean, red is dirty' : ''}`;
  return [`${' '.repeat(width)}  ${ruler}`, index, ...rows, legend].join('\n');
}

const formatKilograms = (value: number) => `${value.toFixed(2)} kg`;

/** The end of the story. */
export function formatSummary(result: DemoResult): string {
  const width = Math.max(...result.loads.map(({ load }) => load.length));
  const baselineText = { 'at-once': 'at once', 'even-day': 'spread evenly over the day' } as const;
  const rows = result.loads.map(({ load, energyKwh, kg: loadKg, insteadKg, savedKg, comparedWith, switches }) => {
    const saved =
      comparedWith === null
        ? ''
        : `  ${formatKilograms(insteadKg)} ${baselineText[comparedWith]}: ${savedKg < 0 ? `${formatKilograms(-savedKg)} more` : `${formatKilograms(savedKg)} saved`}`;
    return `  ${load.padEnd(width)}  ${energyKwh.toFixed(1).padStart(5)} kWh  ${formatKilograms(loadKg).padStart(9)} CO2${saved}  (${formatCount(switches, 'switch')})`;
  });
  const { met, missed } = result.deadlines;
  return [
    `${formatCount(result.hours, 'hour')}: ${formatKilograms(result.kg)} CO2, ${result.savedKg < 0 ? `${formatKilograms(-result.savedKg)} more` : `${formatKilograms(result.savedKg)} saved`}`,
    ...rows,
    `  deadlines: ${met} met, ${missed} missed; ${formatCount(result.requests, 'request')}, ${formatCount(result.logins, 'login')}`,
  ].join('\n');
}
