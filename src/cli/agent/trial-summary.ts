/** The end of `gridtide try`: what each load did, where it stands, and what a dry run does not prove. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import type { Decision } from '../../control/control-types.ts';
import { explainDecision } from '../../control/explain.ts';
import { formatDuration } from '../../domain/duration-text.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { type Duration, durationBetween, formatCount, type Instant, minutes } from '../../domain/units.ts';
import { listLedgerFiles, readLedgerMonths } from '../../ledger/ledger-files.ts';
import { computeTotalsByMonth, type Total } from '../../ledger/load-totals.ts';
import { getRateUnit } from '../../mqtt/payloads.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';

const BACKTEST_HINT =
  'gridtide backtest --config FILE --seed 1 computes what loads with a daily goal save in a month of a seeded grid, that of Northern California unless --region REGION names another.';

const toWholeMinutes = (length: number): Duration => minutes(Math.round(length / 60_000));

function formatRun({ powerKw }: LoadConfig, total: Total | undefined): string {
  if (total === undefined || total.energy === 0) return 'did not run';
  const length = toWholeMinutes((total.energy / powerKw) * 3_600_000);
  return `ran ${formatDuration(length)} in ${formatCount(total.starts, 'start')}, ${total.energy.toFixed(1)} kWh`;
}

/** The moment before the stop and the decisions of then: the fail-safe levels that the stop sets are no part of the trial. */
export interface TrialEnd {
  readonly at: Instant;
  readonly decisions: readonly Decision[];
}

/** The trial from `from` to `end`, by the ledger that its agent saved. */
export async function summarizeTrial(config: LocatedConfig, from: Instant, end: TrialEnd): Promise<string> {
  const disk = createSharedFileDisk(config.state);
  const { timezone } = config.place;
  const unit = getRateUnit(config);
  const months = readLedgerMonths(disk, listLedgerFiles(await disk.list()));
  const { totals } = await computeTotalsByMonth(months, { timezone, by: 'all', now: end.at, to: end.at });
  const width = Math.max(...config.loads.map(({ name }) => name.length));
  const lines = config.loads.map((load) => {
    const run = formatRun(
      load,
      totals.find((one) => one.load === load.name),
    );
    const decision = end.decisions.find((one) => one.load === load.name);
    const last =
      decision === undefined ? '' : `; at the end ${decision.level}: ${explainDecision(decision, timezone, unit)}`;
    return `  ${load.name.padEnd(width)}  ${run}${last}`;
  });
  return [
    `${formatDuration(toWholeMinutes(durationBetween(from, end.at)))} of ${config.device}:`,
    ...lines,
    'No saving is claimed: in a dry run no device confirms that it ran.',
    ...(config.loads.some(({ goal }) => goal?.armedBy === 'schedule') ? [BACKTEST_HINT] : []),
    '',
  ].join('\n');
}
