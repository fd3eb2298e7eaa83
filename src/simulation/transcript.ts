/** Formats the demo: events as sentences, the day as a strip, the result as a summary. */

import { formatMoney } from '../domain/tariff.ts';
import { formatCount, type Instant, minutes } from '../domain/units.ts';
import type { Baseline } from '../ledger/entries.ts';

interface Moment<Name extends string> {
  readonly event: Name;
  readonly at: string;
}

export type DemoEvent =
  | (Moment<'region'> & { readonly region: string; readonly regionFullName: string; readonly map: string | null })
  | (Moment<'signal'> & { readonly index: number; readonly rate: number | null; readonly basis: string })
  | (Moment<'decision'> & DemoDecision)
  | (Moment<'problem'> & { readonly problem: string })
  | { readonly result: DemoResult };

interface DemoDecision {
  readonly load: string;
  readonly level: string;
  readonly switched: boolean;
  readonly why: string;
  readonly text: string;
}

export interface DemoLoadResult {
  readonly load: string;
  readonly energyKwh: number;
  readonly kg: number;
  /** The emissions of the same energy in the case of `comparedWith`. */
  readonly insteadKg: number;
  readonly savedKg: number;
  readonly comparedWith: Baseline | null;
  /** By the tariff of the house; `instead` as for the emissions. */
  readonly bill?: { readonly paid: number; readonly instead: number; readonly currency: string };
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

const createClockFormat = (timeZone: string) => {
  const fields = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, ...fields });
  return (at: string) => format.format(new Date(at)).replace(',', '');
};

const formatIndex = (index: number, rate: number | null) =>
  `index ${`${Math.round(index)}`.padStart(3)}${rate === null ? '' : `  ${`${Math.round(rate)}`.padStart(4)} lb/MWh`}`;

/** Reasons shown although nothing is switched. */
const NOTABLE_REASONS: ReadonlySet<string> = new Set(
  'plan-waits goal-done vehicle-away vehicle-full not-armed no-data untrusted-clock flat output-fault power-budget override remote-override'.split(
    ' ',
  ),
);

/** Selects the decisions for people: a switch, or a changed reason worth a line. */
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

/** One cell of the strip, before cells are merged to fit the terminal. */
export const STRIP_CELL = minutes(15);

/** `size` cells as one: the first index, and every load that ran in any of them. */
function mergeCells(cells: readonly StripCell[], size: number): StripCell[] {
  return Array.from({ length: Math.ceil(cells.length / size) }, (_, i) => {
    const group = cells.slice(i * size, (i + 1) * size);
    return { index: group[0]?.index, running: new Set(group.flatMap(({ running }) => [...running])) };
  });
}

/** The day in one row a load, coloured by the index: full where it ran, a dot where it did not. */
export function formatStrip(cells: readonly StripCell[], options: StripOptions): string {
  const { loads, from, timezone, columns, coloured } = options;
  const width = Math.max(...loads.map((load) => load.length), 'index'.length);
  const merged = Math.max(1, Math.ceil(cells.length / Math.max(12, columns - width - 2)));
  const columnCells = mergeCells(cells, merged);
  const paint = (index: number | undefined, text: string) => (coloured ? paintByIndex(index, text) : text);
  const row = (name: string, cellText: (cell: StripCell) => string) =>
    `${name.padEnd(width)}  ${columnCells.map((cell) => paint(cell.index, cellText(cell))).join('')}`;
  const ruler = formatRuler(columnCells.length, { from, timezone, cell: STRIP_CELL * merged });
  return [
    `${' '.repeat(width)}  ${ruler}`,
    row('index', () => '▄'),
    ...loads.map((load) => row(load, ({ running }) => (running.has(load) ? '█' : '·'))),
    `${' '.repeat(width)}  █ ran, · did not${coloured ? '; green is clean, red is dirty' : ''}`,
  ].join('\n');
}

/** The hours above the strip, about every 3 of them; `cell` in milliseconds. */
function formatRuler(length: number, start: { from: Instant; timezone: string; cell: number }): string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: start.timezone, hour: '2-digit', hourCycle: 'h23' });
  const every = Math.max(3, Math.round((12 * STRIP_CELL) / start.cell));
  const marks = Array.from({ length: Math.ceil(length / every) }, (_, i) =>
    format.format(new Date(start.from + i * every * start.cell)).padEnd(every),
  );
  return marks.join('').slice(0, length);
}

const formatKilograms = (value: number) => `${value.toFixed(2)} kg`;

const formatSaving = (kg: number) => (kg < 0 ? `${formatKilograms(-kg)} more` : `${formatKilograms(kg)} saved`);
const BASELINE_TEXT = { 'at-once': 'at once', timer: 'by a timer', 'even-day': 'spread evenly over the day' } as const;

const formatBill = ({ bill }: DemoLoadResult) =>
  bill === undefined
    ? ''
    : `, ${formatMoney(bill.paid, bill.currency)} instead of ${formatMoney(bill.instead, bill.currency)}`;

/** The result as text: the whole, a line a load, and what it cost in requests. */
export function formatSummary({ hours, kg, savedKg, loads, deadlines, requests, logins }: DemoResult): string {
  const width = Math.max(...loads.map(({ load }) => load.length));
  const rows = loads.map((one) => {
    const baseline = one.comparedWith && `${formatKilograms(one.insteadKg)} ${BASELINE_TEXT[one.comparedWith]}`;
    const saved = baseline === null ? '' : `  ${baseline}: ${formatSaving(one.savedKg)}`;
    const energy = `${one.energyKwh.toFixed(1).padStart(5)} kWh  ${formatKilograms(one.kg).padStart(9)} CO2`;
    return `  ${one.load.padEnd(width)}  ${energy}${saved}${formatBill(one)}  (${formatCount(one.switches, 'switch')})`;
  });
  return [
    `${formatCount(hours, 'hour')}: ${formatKilograms(kg)} CO2, ${formatSaving(savedKg)}`,
    ...rows,
    `  deadlines: ${deadlines.met} met, ${deadlines.missed} missed; ${formatCount(requests, 'request')}, ${formatCount(logins, 'login')}`,
  ].join('\n');
}
