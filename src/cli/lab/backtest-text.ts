/** Prints the results of a backtest: table, bars, explanations and CSV. */

import { convertRate, formatRate, type RateUnit } from '../../domain/rate-units.ts';
import { formatMoney } from '../../domain/tariff.ts';
import { formatCount, formatFixed, formatInstant } from '../../domain/units.ts';
import type { Basis } from '../../signal/signal-view.ts';
import type { BacktestResult, JobRecord } from '../../simulation/backtest/run-backtest.ts';
import { type CsvColumns, formatColumns } from '../shared/table.ts';

export interface BacktestReport {
  readonly series: {
    readonly from: string;
    readonly to: string;
    readonly points: number;
    readonly forecasts: boolean;
    readonly lbsPerMwh: { readonly least: number; readonly mean: number; readonly most: number };
  };
  readonly results: readonly BacktestResult[];
  readonly faults: readonly string[];
  readonly byMonth: boolean;
  /** For people; the JSON names pounds. */
  readonly unit: RateUnit;
}

/** Explains the columns and bars, once, below everything. */
const LEGEND: readonly string[] = [
  'saved: against the baseline, by default running at once; timer: against a plain timer set to the daily window;',
  'of hindsight, and the bars: share of the savings of perfect knowledge; starts: average per job (most);',
  'on/off min: shortest run and pause; deadlines: met of all; broken: how often a limit of the load was broken',
];

const TABLE_HEAD = [
  'policy',
  'kWh',
  'kg',
  'saved',
  '',
  'timer',
  'of hindsight',
  'starts',
  'on/off min',
  'deadlines',
  'broken',
];

const formatPercent = (share: number) => `${formatFixed(100 * share, 1)} %`;

function formatResultRow(result: BacktestResult): readonly string[] {
  const { deadlines, shortestOnMinutes: on, shortestOffMinutes: off } = result;
  return [
    result.policy,
    formatFixed(result.energyKwh, 0),
    formatFixed(result.kg, 1),
    `${formatFixed(result.savedKg, 1)} kg`,
    `${formatFixed(result.savedPercent, 1)} %`,
    `${formatFixed(result.savedAgainstTimerPercent, 1)} %`,
    formatPercent(result.shareOfHindsight),
    `${formatFixed(result.startsPerJob.mean, 1)} (${result.startsPerJob.most})`,
    on === undefined || off === undefined ? '' : `${formatFixed(on, 0)}/${formatFixed(off, 0)}`,
    `${deadlines.met}/${deadlines.met + deadlines.missed}`,
    String(result.violations),
  ];
}

const EIGHTHS = ' ▏▎▍▌▋▊▉█';

/** A bar of `share` of `columns`, in eighths of a column; a negative share has none. */
function drawBar(share: number, columns: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * columns * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + (eighths % 8 === 0 ? '' : (EIGHTHS[eighths % 8] ?? ''));
}

function drawResultBars(results: readonly BacktestResult[], columns: number): readonly string[] {
  const width = Math.max(...results.map(({ policy }) => policy.length));
  const room = Math.max(10, Math.min(60, columns - width - 10));
  return results.map(
    ({ policy, shareOfHindsight }) =>
      `${policy.padEnd(width)} ${drawBar(shareOfHindsight, room)} ${formatFixed(100 * shareOfHindsight, 0)}`,
  );
}

/** Minutes by the basis of the decisions, the savings lost to each cause, and the days that lost most. */
function explainResult({
  policy,
  minutesByBasis,
  regret,
  worstDays,
  violationsByRule,
  bill,
}: BacktestResult): readonly string[] {
  const total = Object.values(minutesByBasis).reduce((sum, minutes) => sum + minutes, 0);
  const basisShares = Object.entries(minutesByBasis)
    .sort(([, a], [, b]) => b - a)
    .map(([basis, minutes]) => `${basis} ${formatFixed(minutes, 0)} min (${formatPercent(minutes / total)})`);
  const days = worstDays
    .filter(({ lostKg }) => lostKg >= 0.05)
    .slice(0, 3)
    .map(({ from, lostKg }) => `${from.slice(0, 10)} ${formatFixed(lostKg, 1)} kg`);
  const broken = Object.entries(violationsByRule).map(([rule, count]) => `${rule} ${count}`);
  const worst = days.length === 0 ? '' : `; worst days ${days.join(', ')}`;
  return [
    `  ${policy}: ${basisShares.length === 0 ? 'computed from the series, without decisions' : basisShares.join(', ')}`,
    `    lost to the load's limits ${formatFixed(regret.constraintsKg, 1)} kg, to forecast errors ${formatFixed(regret.forecastKg, 1)} kg, by leaving the plan ${formatFixed(regret.executionKg, 1)} kg${worst}`,
    ...formatBill(bill),
    ...(broken.length === 0 ? [] : [`    broken limits: ${broken.join(', ')}`]),
  ];
}

function formatBill(bill: BacktestResult['bill']): readonly string[] {
  if (bill === undefined) return [];
  const { paid, currency, abovePercent, cheapest, immediate, timer } = bill;
  const rest = [`at once ${formatMoney(immediate, currency)}`, `by the timer ${formatMoney(timer, currency)}`].join(
    ', ',
  );
  const above = `${formatFixed(abovePercent, 1)} % above the cheapest ${formatMoney(cheapest, currency)}`;
  return [`    bill ${formatMoney(paid, currency)}, ${above}; ${rest}`];
}

function formatSeriesHead(
  { points, from, to, lbsPerMwh, forecasts }: BacktestReport['series'],
  unit: RateUnit,
): string {
  const { least, mean, most } = lbsPerMwh;
  const rates = `${formatRate(mean, unit)} on average, ${formatFixed(convertRate(least, unit), 0)} to ${formatFixed(convertRate(most, unit), 0)}`;
  return `${formatCount(points, 'slot')} of 5 minutes from ${from} to ${to}: ${rates}, ${forecasts ? 'with' : 'without'} forecasts`;
}

/** One line a month and policy: savings and their share of hindsight. */
const formatMonths = (results: readonly BacktestResult[]) =>
  formatColumns(
    results.flatMap(({ policy, months }) =>
      months.map(({ month, savedKg, savedPercent, shareOfHindsight }) => [
        month,
        policy,
        `${formatFixed(savedKg, 1)} kg`,
        `${formatFixed(savedPercent, 1)} %`,
        formatPercent(shareOfHindsight),
      ]),
    ),
    (i) => i > 1,
  );

export function formatBacktest({ series, results, faults, byMonth, unit }: BacktestReport, columns: number): string {
  const loads = [...new Set(results.map(({ load }) => load))];
  const parts = loads.flatMap((load) => {
    const resultsOfLoad = results.filter((result) => result.load === load);
    return [
      '',
      load,
      ...formatColumns([TABLE_HEAD, ...resultsOfLoad.map(formatResultRow)], (i) => i > 0),
      '',
      ...drawResultBars(resultsOfLoad, columns),
      ...resultsOfLoad.flatMap(explainResult),
      ...(byMonth ? ['', ...formatMonths(resultsOfLoad)] : []),
    ];
  });
  const faultLines = faults.length === 0 ? [] : [`faults: ${faults.join('; ')}`];
  return `${[formatSeriesHead(series, unit), ...faultLines, ...parts, '', ...LEGEND].join('\n')}\n`;
}

const BASES: readonly Basis[] = [
  'fresh-forecast',
  'live-index',
  'ageing-forecast',
  'own-profile',
  'default-window',
  'fail-safe',
];

export const CSV_COLUMNS: CsvColumns<BacktestResult> = [
  ['load', ({ load }) => load],
  ['policy', ({ policy }) => policy],
  ['energyKwh', ({ energyKwh }) => energyKwh],
  ['kg', ({ kg }) => kg],
  ['savedKg', ({ savedKg }) => savedKg],
  ['savedPercent', ({ savedPercent }) => savedPercent],
  ['savedAgainstTimerPercent', ({ savedAgainstTimerPercent }) => savedAgainstTimerPercent],
  ['shareOfHindsight', ({ shareOfHindsight }) => shareOfHindsight],
  ['startsPerDay', ({ startsPerDay }) => startsPerDay],
  ['met', ({ deadlines }) => deadlines.met],
  ['missed', ({ deadlines }) => deadlines.missed],
  ['violations', ({ violations }) => violations],
  ['mostStartsPerJob', ({ startsPerJob }) => startsPerJob.most],
  ['shortestOnMinutes', ({ shortestOnMinutes }) => shortestOnMinutes],
  ['shortestOffMinutes', ({ shortestOffMinutes }) => shortestOffMinutes],
  ['constraintsKg', ({ regret }) => regret.constraintsKg],
  ['forecastKg', ({ regret }) => regret.forecastKg],
  ['executionKg', ({ regret }) => regret.executionKg],
  ['bill', ({ bill }) => bill?.paid],
  ['cheapestBill', ({ bill }) => bill?.cheapest],
  ...BASES.map(
    (basis) => [`${basis}-minutes`, ({ minutesByBasis }: BacktestResult) => minutesByBasis[basis] ?? 0] as const,
  ),
  ['worstDay', ({ worstDays }) => worstDays[0]?.from],
  ['worstDayLostKg', ({ worstDays }) => worstDays[0]?.lostKg],
];

export const JOB_COLUMNS: CsvColumns<JobRecord> = [
  ['load', ({ load }) => load],
  ['policy', ({ policy }) => policy],
  ['from', ({ from }) => formatInstant(from)],
  ['by', ({ by }) => formatInstant(by)],
  ['kg', ({ kg }) => kg],
  ['immediateKg', ({ immediateKg }) => immediateKg],
  ['timerKg', ({ timerKg }) => timerKg],
  ['hindsightKg', ({ hindsightKg }) => hindsightKg],
  ['runs', ({ runs }) => runs.map(({ from, to }) => `${formatInstant(from)}/${formatInstant(to)}`).join(' ')],
];
