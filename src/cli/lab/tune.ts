/** Proposes thresholds and wider goals from what the last days would have been with them. A proposal only: writes nothing, switches nothing. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { days, formatCount, formatInstant, type Instant } from '../../domain/units.ts';
import { collectRates, type Entry, getBestRate } from '../../ledger/entries.ts';
import { readSeries, type Series, SeriesError, seriesUnits } from '../../reference/world/recorded-signal.ts';
import { builtInLoads } from '../../simulation/backtest/backtest-loads.ts';
import {
  buildRecordedSeries,
  FORECAST_POINTS,
  SLOT,
  TEACHING_DAYS,
} from '../../simulation/backtest/recorded-series.ts';
import {
  type Proposal,
  proposeTuning,
  type SlackTrial,
  type ThresholdTrial,
} from '../../simulation/tune-thresholds.ts';
import { readLedger } from '../agent/report.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { loadConfig } from '../shared/load-configuration.ts';
import { createProgress } from '../shared/progress.ts';
import { locateStateDirectory, STATE_ROW } from '../shared/state-directory.ts';

/** The days that teach, and one in which the first job may begin. */
const LEAD_DAYS = TEACHING_DAYS + 1;

export const spec = {
  name: 'tune',
  summary: 'proposes thresholds and goals from the last days; writes nothing',
  positionals: '',
  options: {
    series: { value: 'FILE', help: 'recorded file, .gz too; without it the rates of the ledger', isRepeatable: true },
    units: { value: 'UNIT', help: `unit of a time,value file: ${Object.keys(seriesUnits).join(', ')}` },
    state: STATE_ROW,
    config: { value: 'FILE', help: 'loads and time zone; else ev-overnight, ev-day and heat-pump' },
    load: { value: 'NAME', help: 'only this load', isRepeatable: true },
    days: { value: 'N', help: 'how many of the last days to try on, 3 to 60', default: '14' },
    json: { help: 'one JSON document' },
  },
  notes: [
    `Needs ${LEAD_DAYS} days more than --days: they teach the profile.`,
    'A load without a scheduled goal: thresholds that run at least as many hours as today, the cleanest first.',
    'A load whose jobs are armed by command (plugging in) has no window to try: nothing is proposed for it.',
    'A load with one: what an hour or two more before or after its window would have been worth.',
    'example: gridtide tune --config gridtide.yaml --days 21',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

const MAX_DAYS = 60;
const MIN_DAYS = 3;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const dayCount = args.number('days') ?? 14;
  if (!Number.isInteger(dayCount) || dayCount < MIN_DAYS || dayCount > MAX_DAYS)
    throw new UsageError(`--days ${dayCount}: expected a whole number of days, ${MIN_DAYS} to ${MAX_DAYS}`);
  const units = args.text('units');
  if (units !== undefined && seriesUnits[units] === undefined)
    throw new UsageError(`--units ${units}: expected one of ${Object.keys(seriesUnits).join(', ')}`);
  const file = args.text('config');
  const config = file === undefined ? undefined : await loadConfig(file);
  const loads = selectLoads(config?.loads ?? builtInLoads, args.all('load'));
  const state = locateStateDirectory(terminal.env, { option: args.text('state'), config: config?.state });
  const files = args.all('series');
  const series = takeLastDays(
    files.length > 0 ? await readRecordedFiles(files, units) : await readLedgerSeries(state),
    dayCount,
  );
  const to = ((series.slots.at(-1) ?? 0) + 1) * SLOT;
  const from = (to - days(dayCount)) as Instant;
  const timezone = config?.place.timezone ?? 'America/Los_Angeles';
  const progress = createProgress(terminal);
  const proposals = proposeTuning({
    record: buildRecordedSeries(series),
    loads,
    timezone,
    from,
    onLoad: (load) => progress.show(`trying ${load}`),
  });
  progress.end();
  if (args.flag('json'))
    terminal.out(
      `${JSON.stringify({ from: formatInstant(from), to: formatInstant(to as Instant), days: dayCount, proposals })}\n`,
    );
  else terminal.out(proposals.map((proposal) => formatProposal(proposal, dayCount)).join('\n'));
  return 0;
}

function selectLoads(loads: readonly LoadConfig[], names: readonly string[]): readonly LoadConfig[] {
  const unknown = names.filter((name) => !loads.some((load) => load.name === name));
  if (unknown.length > 0)
    throw new UsageError(
      ...unknown.map((name) => `--load ${name}: expected one of ${loads.map((load) => load.name).join(', ')}`),
    );
  return names.length === 0 ? loads : loads.filter(({ name }) => names.includes(name));
}

async function readRecordedFiles(files: readonly string[], units: string | undefined): Promise<Series> {
  try {
    return await readSeries(files, units);
  } catch (error) {
    if (error instanceof SeriesError) throw new JobError(`${error.message}; nothing was tried`);
    throw error;
  }
}

/** The best rates the ledger knows of the region it speaks of last. */
async function readLedgerSeries(state: string): Promise<Series> {
  const { entries } = await readLedger(state);
  const last = entries.findLast((entry: Entry) => entry.kind === 'seen');
  const rates = last?.kind === 'seen' ? collectRates(entries, last.region) : undefined;
  const known = [...(rates?.bySlot ?? [])]
    .flatMap(([at, record]) => {
      const rate = getBestRate(record);
      return rate === undefined || at % SLOT !== 0 ? [] : [{ slot: at / SLOT, rate }];
    })
    .sort((a, b) => a.slot - b.slot);
  return {
    slots: Int32Array.from(known, ({ slot }) => slot),
    values: Float64Array.from(known, ({ rate }) => rate),
    forecasts: new Float64Array(known.length * FORECAST_POINTS).fill(Number.NaN),
  };
}

/** The days to try on and those that teach before them. */
function takeLastDays({ slots, values, forecasts }: Series, wanted: number): Series {
  const perDay = days(1) / SLOT;
  const whole = (wanted + LEAD_DAYS) * perDay;
  const end = (slots.at(-1) ?? 0) + 1;
  const span = slots.length === 0 ? 0 : (end - (slots[0] ?? 0)) / perDay;
  if (span < wanted + LEAD_DAYS)
    throw new JobError(
      `the rates span ${span.toFixed(1)} days; --days ${wanted} needs ${wanted + LEAD_DAYS}, for the first ${LEAD_DAYS} only teach the profile; let the agent run longer, or give --series FILE`,
    );
  const first = slots.findIndex((slot) => slot >= end - whole);
  return {
    slots: slots.slice(first),
    values: values.slice(first),
    forecasts: forecasts.slice(first * FORECAST_POINTS),
  };
}

const formatThreshold = (one: ThresholdTrial) => [
  String(one.onBelow),
  String(one.offAbove),
  one.hoursPerDay.toFixed(1),
  one.startsPerDay.toFixed(1),
  one.lbsPerMwh.toFixed(0),
  `${one.cleanerPercent.toFixed(0)} %`,
];
const formatSlack = (one: SlackTrial) => [
  `${one.earlierMinutes / 60} h`,
  `${one.laterMinutes / 60} h`,
  String(one.jobs),
  one.kgPerJob.toFixed(2),
  one.startsPerJob.toFixed(1),
  String(one.missed),
];
const TABLE_HEADS = {
  thresholds: ['onBelow', 'offAbove', 'h/day', 'starts/day', 'lb/MWh', 'cleaner'],
  goal: ['earlier', 'later', 'jobs', 'kg/job', 'starts/job', 'missed'],
} as const;
const SHOWN_ROWS = 5;

function formatProposal(proposal: Proposal, wanted: number): string {
  const { load, kind } = proposal;
  if (kind === 'armed')
    return `${load}: its jobs are armed by command, each with its own window; nothing is proposed\n`;
  const rows = kind === 'thresholds' ? thresholdRows(proposal) : slackRows(proposal);
  const lines = [[...TABLE_HEADS[kind], ''], ...rows];
  const widths = TABLE_HEADS[kind].map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  const table = lines.map((line) => `  ${line.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ')}`.trimEnd());
  return `${load}, the last ${formatCount(wanted, 'day')}: ${explainProposal(proposal)}\n${table.join('\n')}\n`;
}

function thresholdRows({ now, proposed, tried }: Extract<Proposal, { kind: 'thresholds' }>): readonly string[][] {
  const enough = tried.filter(({ hoursPerDay }) => hoursPerDay >= now.hoursPerDay && hoursPerDay > 0);
  const next = enough.sort((a, b) => a.lbsPerMwh - b.lbsPerMwh).filter((one) => one !== proposed);
  return [
    [...formatThreshold(now), 'now'],
    ...(proposed === undefined ? [] : [[...formatThreshold(proposed), 'proposed']]),
    ...next.slice(0, SHOWN_ROWS).map((one) => [...formatThreshold(one), '']),
  ];
}

const slackRows = ({ now, proposed, tried }: Extract<Proposal, { kind: 'goal' }>): readonly string[][] => [
  [...formatSlack(now), 'now'],
  ...tried.map((one) => [...formatSlack(one), one === proposed ? 'proposed' : '']),
];

function explainProposal(proposal: Exclude<Proposal, { kind: 'armed' }>): string {
  if (proposal.kind === 'thresholds') {
    const { now, proposed } = proposal;
    if (proposed === undefined) return `onBelow ${now.onBelow}, offAbove ${now.offAbove} are as good as any tried`;
    return `onBelow ${proposed.onBelow}, offAbove ${proposed.offAbove} would have run as long on a cleaner grid`;
  }
  const { now, proposed, tried } = proposal;
  if (now.jobs === 0) return 'no job lies wholly inside';
  if (tried.length === 0) return 'its window has the whole day already';
  if (proposed === undefined) return 'a wider window would have been worth nothing';
  const less = now.kgPerJob - proposed.kgPerJob;
  const what = proposed.earlierMinutes > 0 ? 'beginning' : 'ending';
  const when = proposed.earlierMinutes > 0 ? 'earlier' : 'later';
  const hours = (proposed.earlierMinutes + proposed.laterMinutes) / 60;
  return `${what} ${hours} h ${when} would have saved ${less.toFixed(2)} kg a job`;
}
