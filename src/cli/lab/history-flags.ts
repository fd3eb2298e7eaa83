/** The flags that `backtest` and `tune` share: recorded files, their unit, and the loads. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { readSeries, type Series, SeriesError, seriesUnits } from '../../reference/world/recorded-signal.ts';
import { type Arguments, JobError, UsageError } from '../shared/command.ts';

export const unitNames = Object.keys(seriesUnits).join(', ');

/** Throws `UsageError` for a unit that no recorded file can have. */
export function parseUnitsFlag(args: Arguments<'units'>): string | undefined {
  const units = args.text('units');
  if (units !== undefined && !Object.hasOwn(seriesUnits, units))
    throw new UsageError(`--units ${units}: expected one of ${unitNames}`);
  return units;
}

/** Throws `JobError` for a file that cannot be read or holds no series. */
export async function readRecordedFiles(files: readonly string[], units: string | undefined): Promise<Series> {
  try {
    return await readSeries(files, units);
  } catch (error) {
    if (error instanceof SeriesError) throw new JobError(`${error.message}; nothing was computed`);
    throw error;
  }
}

/** The loads that are named, or all when none is. Throws `UsageError` for an unknown name. */
export function selectLoads(loads: readonly LoadConfig[], names: readonly string[]): readonly LoadConfig[] {
  const known = loads.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new UsageError(...unknown.map((name) => `--load ${name}: expected one of ${known.join(', ')}`));
  return names.length === 0 ? loads : loads.filter(({ name }) => names.includes(name));
}
