/** The flags that `backtest` and `tune` share: recorded files, their unit, and the loads. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { readSeries, type Series, SeriesError, seriesUnits } from '../../reference/world/recorded-signal.ts';
import { JobError, UsageError } from '../shared/command.ts';

export const unitNames: readonly string[] = Object.keys(seriesUnits);

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
