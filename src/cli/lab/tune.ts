/** `gridtide tune`: proposes thresholds and wider goals by trying them on recent days; changes no configuration. */

import { days, formatCount, formatInstant, type Instant } from '../../domain/units.ts';
import { createRateBook, getBestRate } from '../../ledger/rates.ts';
import type { Series } from '../../reference/world/recorded-signal.ts';
import { builtInLoads } from '../../simulation/backtest/backtest-loads.ts';
import {
  buildRecordedSeries,
  FORECAST_POINTS,
  SLOT,
  TEACHING_DAYS,
} from '../../simulation/backtest/recorded-series.ts';
import {
  MIN_GAIN,
  MIN_HOURS_SHARE,
  type Proposal,
  proposeTuning,
  type SlackTrial,
  type ThresholdTrial,
} from '../../simulation/tune-thresholds.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import { openLedger, warnOfSkippedLines } from '../shared/ledger-directory.ts';
import { loadOptionalConfig } from '../shared/load-configuration.ts';
import { createProgress } from '../shared/progress.ts';
import { locateStateDirectory, STATE_ROW } from '../shared/state-directory.ts';
import { formatColumns } from '../shared/table.ts';
import { readRecordedFiles, selectLoads, unitNames } from './history-flags.ts';

/** The days that train the profile, and one in which the first job may begin. */
const LEAD_DAYS = TEACHING_DAYS + 1;

const MIN_DAYS = 3;
const MAX_DAYS = 60;

export const spec = {
  name: 'tune',
  positionals: '',
  options: {
    series: { value: 'FILE', help: 'recorded file, .gz too; without it the rates of the ledger', isRepeatable: true },
    units: { value: 'UNIT', choices: unitNames, help: 'unit of a time,value file' },
    state: STATE_ROW,
    config: { value: 'FILE', help: 'loads and time zone; default ev-overnight, ev-day and heat-pump' },
    load: { value: 'NAME', help: 'only this load', isRepeatable: true },
    days: {
      value: 'N',
      range: { from: MIN_DAYS, to: MAX_DAYS, whole: true },
      help: `the number of recent days to try, ${MIN_DAYS} to ${MAX_DAYS}`,
      default: '14',
    },
    json: { help: 'one JSON document' },
  },
  notes: [
    `Needs ${LEAD_DAYS} more days than --days: they train the profile.`,
    'A load without a scheduled goal: thresholds that run at least as many hours as today, the cleanest first.',
    'A load with a scheduled goal: the savings of one or two hours more before or after its window.',
    'A load whose jobs start with a command has no fixed window: nothing is proposed for it.',
    'A trial plans each half hour, an agent after each forecast: kg and starts of a job differ a little from those of backtest.',
    'example: gridtide tune --config gridtide.yaml --days 21',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

/** Files of whole months that hold so many days up to any day of the last one. */
const countMonths = (dayCount: number) => Math.ceil(dayCount / 28) + 1;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const dayCount = args.number('days') ?? 14;
  const units = args.text('units');
  const state = args.text('state');
  const files = args.all('series');
  // Recorded files are no part of a house: its configuration counts only when it is given.
  const file = args.text('config');
  const config =
    file === undefined && files.length > 0
      ? undefined
      : await loadOptionalConfig(file, terminal, { state, allowsMissingCredentials: true });
  const loads = selectLoads(config?.loads ?? builtInLoads, args.all('load'));
  const recorded =
    files.length > 0
      ? await readRecordedFiles(files, units)
      : await readLedgerSeries(config?.state ?? locateStateDirectory(terminal, state), dayCount + LEAD_DAYS, terminal);
  const series = selectLastDays(recorded, dayCount);
  const to = ((series.slots.at(-1) ?? 0) + 1) * SLOT;
  const from = (to - days(dayCount)) as Instant;
  const timezone = config?.place.timezone ?? 'America/Los_Angeles';
  const progress = createProgress(terminal);
  const proposals = proposeTuning({
    record: buildRecordedSeries(series),
    loads,
    timezone,
    from,
    onProgress: (kind, share) => progress.show(`trying ${kind}: ${(100 * share).toFixed(0)} %`),
  });
  progress.end();
  if (args.flag('json'))
    terminal.out(
      `${JSON.stringify({ from: formatInstant(from), to: formatInstant(to as Instant), days: dayCount, proposals })}\n`,
    );
  else terminal.out(proposals.map((proposal) => formatProposal(proposal, dayCount)).join('\n'));
  return 0;
}

/** The best rates of the last days in the ledger, of its most recent region. */
async function readLedgerSeries(state: string, dayCount: number, terminal: Terminal): Promise<Series> {
  const { names, read } = await openLedger(state);
  const book = createRateBook();
  let region = '';
  const lost = { damaged: 0, foreign: 0 };
  for await (const { entries, damaged, foreign } of read(names.slice(-countMonths(dayCount)))) {
    lost.damaged += damaged;
    lost.foreign += foreign;
    for (const entry of entries) {
      book.add(entry);
      if (entry.kind === 'seen') region = entry.region;
    }
  }
  warnOfSkippedLines(lost, terminal);
  const rates = book.find(region);
  const known = [...(rates?.bySlot ?? [])]
    .flatMap(([at, record]) => {
      const rate = getBestRate(record);
      return rate === undefined || at % SLOT !== 0 ? [] : [{ slot: at / SLOT, rate }];
    })
    .sort((a, b) => a.slot - b.slot);
  const start = (known.at(-1)?.slot ?? 0) + 1 - (dayCount * days(1)) / SLOT;
  // With the last one before them: how far the rates reach back counts, whatever gap they have there.
  const wanted = known.slice(
    Math.max(
      0,
      known.findLastIndex(({ slot }) => slot <= start),
    ),
  );
  return {
    slots: Int32Array.from(wanted, ({ slot }) => slot),
    values: Float64Array.from(wanted, ({ rate }) => rate),
    forecasts: new Float64Array(wanted.length * FORECAST_POINTS).fill(Number.NaN),
  };
}

/** The days to try and the training days before them. */
function selectLastDays({ slots, values, forecasts }: Series, wanted: number): Series {
  const perDay = days(1) / SLOT;
  const whole = (wanted + LEAD_DAYS) * perDay;
  const end = (slots.at(-1) ?? 0) + 1;
  const span = slots.length === 0 ? 0 : (end - (slots[0] ?? 0)) / perDay;
  if (span < wanted + LEAD_DAYS)
    throw new JobError(
      `the rates span ${span.toFixed(1)} days; --days ${wanted} needs ${wanted + LEAD_DAYS}, because the first ${LEAD_DAYS} only train the profile; let the agent run longer, or give --series FILE`,
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
    return `${load}: its jobs start with a command, each with its own window; nothing is proposed\n`;
  const rows = kind === 'thresholds' ? buildThresholdRows(proposal) : buildSlackRows(proposal);
  const head = TABLE_HEADS[kind];
  const table = formatColumns([head, ...rows], (i) => i < head.length).map((line) => `  ${line}\n`);
  return `${load}, the last ${formatCount(wanted, 'day')}: ${explainProposal(proposal)}\n${table.join('')}`;
}

function buildThresholdRows({ now, proposed, tried }: Extract<Proposal, { kind: 'thresholds' }>): readonly string[][] {
  const enough = tried.filter(({ hoursPerDay }) => hoursPerDay >= now.hoursPerDay && hoursPerDay > 0);
  const next = enough.toSorted((a, b) => a.lbsPerMwh - b.lbsPerMwh).filter((one) => one !== proposed);
  return [
    [...formatThreshold(now), 'now'],
    ...(proposed === undefined ? [] : [[...formatThreshold(proposed), 'proposed']]),
    ...next.slice(0, SHOWN_ROWS).map((one) => [...formatThreshold(one), '']),
  ];
}

const buildSlackRows = ({ now, proposed, tried }: Extract<Proposal, { kind: 'goal' }>): readonly string[][] => [
  [...formatSlack(now), 'now'],
  ...tried.map((one) => [...formatSlack(one), one === proposed ? 'proposed' : '']),
];

const formatShare = (share: number) => `${(100 * share).toFixed(0)} %`;

function explainProposal(proposal: Exclude<Proposal, { kind: 'armed' }>): string {
  if (proposal.kind === 'thresholds') {
    const { now, proposed, tried } = proposal;
    const present = `onBelow ${now.onBelow}, offAbove ${now.offAbove}`;
    if (now.hoursPerDay === 0) return `with ${present} it would never have run`;
    if (proposed === undefined)
      return `none of the ${tried.length} pairs tried would have run ${formatShare(MIN_HOURS_SHARE)} of the hours of ${present} on a grid ${formatShare(MIN_GAIN)} cleaner`;
    const hours = `${proposed.hoursPerDay.toFixed(1)} h a day instead of ${now.hoursPerDay.toFixed(1)}`;
    const gain = formatShare(1 - proposed.lbsPerMwh / now.lbsPerMwh);
    return `onBelow ${proposed.onBelow}, offAbove ${proposed.offAbove} would have run ${hours} on a grid ${gain} cleaner`;
  }
  const { now, proposed, tried } = proposal;
  if (now.jobs === 0) return 'no job lies wholly inside these days';
  if (tried.length === 0) return 'no window an hour wider fits in its day';
  if (proposed === undefined)
    return `none of the ${formatCount(tried.length, 'wider window')} tried would have saved ${formatShare(MIN_GAIN)} without missing more deadlines`;
  const less = now.kgPerJob - proposed.kgPerJob;
  const change = proposed.earlierMinutes > 0 ? ['starting', 'earlier'] : ['ending', 'later'];
  const hours = (proposed.earlierMinutes + proposed.laterMinutes) / 60;
  return `${change[0]} ${hours} h ${change[1]} would have saved ${less.toFixed(2)} kg a job`;
}
