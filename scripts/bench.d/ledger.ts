/** What ten years of three loads cost: bytes of a young and of an old year, and memory and processor time of `report` and of `tune`'s reading over bare Node. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { appendFile, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { addDuration, days, type Instant } from '../../src/domain/units.ts';
import { getEntryTime, type RecordedEntry } from '../../src/ledger/entries.ts';
import { getLedgerFile } from '../../src/ledger/ledger-files.ts';
import { formatEntries } from '../../src/ledger/ledger-lines.ts';
import { tidyLedger } from '../../src/ledger/tidy-ledger.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { listRandomEntries } from '../../test/ledger/random-ledger.ts';
import { judge } from './idle/house.ts';

const YEARS = Number(process.argv[2] ?? 10);
// An old year is the third before now.
if (!(YEARS >= 3)) {
  console.error(`scripts/bench ledger ${process.argv[2]}: expected a number of years, 3 or more`);
  process.exit(2);
}
const MOST_MEGABYTES = 80;
const MOST_SECONDS = 2;
const MOST_YOUNG_YEAR = 12e6;
const MOST_OLD_YEAR = 0.5e6;
const LOADS = [
  { name: 'car', power: 7.2, hours: 4, hasJobs: true },
  { name: 'heating', power: 2, hours: 9, hasJobs: false },
  { name: 'water', power: 3, hours: 3, hasJobs: false },
];
/** The agent appends about four times an hour. */
const APPEND_BATCH = 12;

const work = process.env.GRIDTIDE_WORK ?? '.';
const state = join(work, 'state');
const program = join(process.env.GRIDTIDE_DIST ?? 'dist', 'main.js');
const now = Date.now() as Instant;
const from = addDuration((Math.floor(now / days(1)) * days(1)) as Instant, days(-365 * YEARS));
let seed = 1;
const random = () => {
  seed = (seed * 16_807) % 2_147_483_647;
  return seed / 2_147_483_647;
};

const appended = new Map<string, string>();
function add(batch: readonly RecordedEntry[]): void {
  for (const file of new Set(batch.map((one) => getLedgerFile(getEntryTime(one))))) {
    const lines = formatEntries(batch.filter((one) => getLedgerFile(getEntryTime(one)) === file));
    appended.set(file, (appended.get(file) ?? '') + lines);
  }
}

/** A month at a time, as an agent would have left it: appended to in small batches, tidied once a day. */
async function writeLedger(): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 });
  const disk = createFileDisk(state);
  for (let day = 0; day < 365 * YEARS; day += 30) {
    const count = Math.min(30, 365 * YEARS - day);
    const entries = listRandomEntries({ from: addDuration(from, days(day)), days: count, loads: LOADS, random });
    for (let i = 0; i < entries.length; i += APPEND_BATCH) add(entries.slice(i, i + APPEND_BATCH) as RecordedEntry[]);
    for (const [file, lines] of appended) await appendFile(join(state, file), lines);
    appended.clear();
    while (await tidyLedger(disk, { timezone: 'America/Los_Angeles', now: addDuration(from, days(day + count)) }));
  }
  while (await tidyLedger(disk, { timezone: 'America/Los_Angeles', now }));
}

/** Bytes of the files whose months end in the year before `to`. */
async function countYear(to: Instant): Promise<number> {
  const names = (await readdir(state)).sort();
  const last = names.indexOf(getLedgerFile(to));
  const sizes = names.slice(Math.max(0, last - 12), last).map(async (name) => (await stat(join(state, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const MEASURE = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.GRIDTIDE_USAGE, JSON.stringify(process.resourceUsage())));`;

interface Usage {
  readonly megabytes: number;
  readonly seconds: number;
}

/** One run of node: its peak of resident memory and its processor time. */
function measure(...args: readonly string[]): Usage {
  const file = join(work, 'usage.json');
  const hook = `--import=data:text/javascript,${encodeURIComponent(MEASURE)}`;
  const env = { ...process.env, GRIDTIDE_USAGE: file, HOME: work };
  const { status, stderr } = spawnSync(process.execPath, [hook, ...args], { env, encoding: 'utf8', maxBuffer: 1e9 });
  if (status !== 0) throw new Error(`${args.join(' ')} exited ${status}: ${stderr}`);
  const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(readFileSync(file, 'utf8'));
  return { megabytes: maxRSS / 1_000, seconds: (userCPUTime + systemCPUTime) / 1e6 };
}

await writeLedger();
const young = await countYear(now);
const old = await countYear(addDuration(now, days(-365 * 2)));
console.log(
  `a year of three loads: ${(young / 1e6).toFixed(2)} MB in its first 13 months, ${(old / 1e6).toFixed(2)} MB after`,
);

/** The last months alone: trying settings takes as long there, and reading takes nothing of the years before. */
async function copyLastMonths(): Promise<string> {
  const recent = join(work, 'recent');
  await mkdir(recent, { mode: 0o700 });
  for (const name of (await readdir(state)).sort().slice(-2)) await copyFile(join(state, name), join(recent, name));
  return recent;
}

const bare = measure('-e', '0');
const tune = (from: string) => measure(program, 'tune', '--days', '14', '--state', from);
const trying = tune(await copyLastMonths()).seconds - bare.seconds;
const runs = [
  ['report --month', measure(program, 'report', '--month', '--state', state)],
  [
    'report of a day',
    measure(program, 'report', '--state', state, '--from', new Date(addDuration(now, days(-1))).toISOString()),
  ],
  ['tune --days 14', tune(state)],
] as const;
for (const [name, { megabytes, seconds }] of runs)
  console.log(
    `${name}, ${YEARS} years: ${(megabytes - bare.megabytes).toFixed(0)} MB and ${(seconds - bare.seconds).toFixed(2)} s of processor time over bare Node`,
  );
console.log(
  `tune --days 14 with the last two months alone: ${trying.toFixed(2)} s of processor time over bare Node: a signal of 24 days, and 7 settings of three loads planned each half hour of 16 days`,
);

judge([
  [`a young year at most ${MOST_YOUNG_YEAR / 1e6} MB`, young <= MOST_YOUNG_YEAR],
  [`an old year at most ${MOST_OLD_YEAR / 1e6} MB`, old <= MOST_OLD_YEAR],
  ...runs.flatMap(([name, { megabytes, seconds }]) => [
    [`${name}: at most ${MOST_MEGABYTES} MB over bare Node`, megabytes - bare.megabytes <= MOST_MEGABYTES] as const,
    [`${name}: at most ${MOST_SECONDS} s of processor time`, seconds - bare.seconds <= MOST_SECONDS] as const,
  ]),
]);
