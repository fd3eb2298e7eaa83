/** Rewrites past months: joins neighbouring lines, and after 13 months replaces each load's slots with daily sums. */

import type { Disk } from '../domain/ports.ts';
import { days, type Instant, subtractDuration } from '../domain/units.ts';
import type { CarriedEntry, Entry, HeaderEntry, JobEntry } from './entries.ts';
import { getLedgerFile, getMonthStart, type LedgerMonth, listLedgerFiles, readLedgerMonths } from './ledger-files.ts';
import { formatEntries, listForeignLines, parseLedger } from './ledger-lines.ts';
import { createSavingsAccounting } from './savings-accounting.ts';

export interface TidyOptions {
  /** Whose days the sums are of. */
  readonly timezone: string;
  readonly now: Instant;
}

type TidyDisk = Pick<Disk, 'list' | 'read' | 'open' | 'replace'>;

/** Months whose slots stay, beside the present one: a year can be compared with the one before. */
const KEPT_MONTHS = 13;
/** By then everything that ran at the end of a month has been written. */
const CLOSED_AFTER = days(1);
/** Longer than any local day, so that the mean of the month's last day can be made. */
const LAST_DAY = days(2);
/** Enough of a file to hold its header. */
const HEADER_BYTES = 256;

/** Rewrites the oldest month that wants it; false when none does. Rejects with `DiskError`. */
export async function tidyLedger(disk: TidyDisk, { timezone, now }: TidyOptions): Promise<boolean> {
  const names = listLedgerFiles(await disk.list());
  const oldest = new Date(now);
  const keptFrom = Date.UTC(oldest.getUTCFullYear(), oldest.getUTCMonth() - KEPT_MONTHS) as Instant;
  const present = getLedgerFile(subtractDuration(now, CLOSED_AFTER));
  for (const [i, name] of names.entries()) {
    if (name >= present) return false;
    const header = await readHeader(disk, name);
    const isOld = getMonthStart(name) < keptFrom;
    if (isOld && header?.timezone === undefined)
      await foldMonth(disk, names.slice(Math.max(0, i - 1), i + 3), name, { timezone, now });
    else if (header === undefined) await joinLines(disk, name);
    else continue;
    return true;
  }
  return false;
}

async function readHeader(disk: TidyDisk, name: string): Promise<HeaderEntry | undefined> {
  const file = await disk.open(name);
  if (file === undefined) return undefined;
  try {
    const [line = ''] = new TextDecoder().decode(await file.read(0, HEADER_BYTES)).split('\n');
    const [first] = parseLedger(line).entries;
    return first?.kind === 'header' ? first : undefined;
  } finally {
    await file.close();
  }
}

/** Lines of another version stay as they are: it may be in use again. */
async function writeMonth(
  disk: TidyDisk,
  name: string,
  header: Omit<HeaderEntry, 'kind' | 'foreign'>,
  entries: Iterable<Entry>,
): Promise<void> {
  const present = new TextDecoder().decode(await disk.read(name));
  const { foreign = 0 } = (await readHeader(disk, name)) ?? {};
  const counted = [...entries].filter(({ kind }) => kind !== 'header');
  const lines = formatEntries([{ ...header, kind: 'header', foreign }, ...counted]);
  await disk.replace(name, new TextEncoder().encode(lines + listForeignLines(present).join('')));
}

async function joinLines(disk: TidyDisk, name: string): Promise<void> {
  for await (const { damaged, entries } of readLedgerMonths(disk, [name]))
    await writeMonth(disk, name, { damaged }, entries);
}

/** `names`: the month with the one before it and the two after it, as far as there are any. */
async function foldMonth(disk: TidyDisk, names: readonly string[], name: string, options: TidyOptions): Promise<void> {
  const months: LedgerMonth[] = [];
  for await (const month of readLedgerMonths(disk, names)) months.push(month);
  const month = months.find((one) => one.name === name);
  if (month === undefined) return;
  const before = months.filter((one) => one.from < month.from);
  const after = months.filter((one) => one.from > month.from);

  const accounting = createSavingsAccounting({ ...options, by: 'day', from: month.from });
  for (const { entries } of months) accounting.learn(entries);
  for (const { entries } of [...before, month]) accounting.count(entries);
  const sums = accounting
    .listGroups()
    .map(({ load, span, at, sums }) => ({ kind: 'day', load, day: span, at, ...sums }) as const);
  const context = buildContext([...before, month], accounting.listCarried(), after, getMonthEnd(month));

  await writeMonth(disk, name, { damaged: month.damaged, timezone: options.timezone }, [...sums, ...context]);
  for (const one of before) await dropContext(disk, one);
}

function* listEntries(months: readonly LedgerMonth[]): Generator<Entry> {
  for (const { entries } of months) yield* entries;
}

function getMonthEnd({ from }: LedgerMonth): Instant {
  const start = new Date(from);
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1) as Instant;
}

const buildJobKey = ({ load, job }: { readonly load: string; readonly job?: string }) => `${load} ${job}`;

/** What the month after needs of a folded one: where its loads stood, the jobs that go on, and the rates since those were armed. */
function buildContext(
  known: readonly LedgerMonth[],
  carried: readonly CarriedEntry[],
  after: readonly LedgerMonth[],
  end: Instant,
): readonly Entry[] {
  const open = new Set<string>();
  for (const one of listEntries(after)) if (one.kind === 'slot') open.add(buildJobKey(one));
  const jobs: JobEntry[] = [];
  for (const one of listEntries(known)) if (one.kind === 'job' && open.has(buildJobKey(one))) jobs.push(one);
  const from = Math.min(end - LAST_DAY, ...jobs.map(({ armedAt }) => armedAt));
  const rates: Entry[] = [];
  for (const one of listEntries(known)) {
    if (one.kind === 'seen' && one.at >= from) rates.push(one);
    if (one.kind === 'price' && one.at + one.for > from) rates.push(one);
    if (one.kind !== 'settled') continue;
    const points = one.points.filter(({ at }) => at >= from);
    if (points.length > 0) rates.push({ ...one, points });
  }
  const standing = carried.map(({ done, ...one }) => ({
    ...one,
    done: Object.fromEntries(Object.entries(done).filter(([job]) => open.has(buildJobKey({ load: one.load, job })))),
  }));
  return [...standing, ...jobs, ...rates];
}

/** The month after is folded now: what it needed of this one is not wanted any more. */
async function dropContext(disk: TidyDisk, { name, entries }: LedgerMonth): Promise<void> {
  const { header } = entries;
  const all = [...entries];
  const counted = all.filter(({ kind }) => kind === 'day' || kind === 'slot');
  if (header?.timezone !== undefined && counted.length + 1 < all.length)
    await writeMonth(disk, name, { damaged: header.damaged, timezone: header.timezone }, counted);
}
