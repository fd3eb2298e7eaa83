/** The ledger of a state directory, for the commands that read it. */

import { join } from 'node:path';
import { DiskError } from '../../domain/ports.ts';
import { formatCount } from '../../domain/units.ts';
import { type LedgerMonth, listLedgerFiles, readLedgerMonths } from '../../ledger/ledger-files.ts';
import { isFileMissing, translateDiskError } from '../../platform/disk-error-text.ts';
import { readdir, readFile } from '../../platform/files.ts';
import { keepYoungHeapSmall } from '../../platform/young-heap.ts';
import { JobError, type Terminal } from './command.ts';

export interface LedgerDirectory {
  /** Names of its files, the oldest first. */
  readonly names: readonly string[];
  read(names: readonly string[]): AsyncGenerator<LedgerMonth>;
}

/** One sentence a kind: lines torn or changed, and lines of another version. */
export function warnOfSkippedLines(
  { damaged, foreign }: Pick<LedgerMonth, 'damaged' | 'foreign'>,
  terminal: Terminal,
): void {
  if (damaged > 0) terminal.err(`${formatCount(damaged, 'damaged line')} of the ledger skipped\n`);
  if (foreign > 0)
    terminal.err(`${formatCount(foreign, 'line')} of the ledger skipped: written by another version of gridtide\n`);
}

/** Throws `JobError` when the directory has no ledger. */
export async function openLedger(directory: string): Promise<LedgerDirectory> {
  const names = listLedgerFiles(
    await readdir(directory).catch((error: unknown) => {
      const failure = translateDiskError(error, directory, 'read');
      if (isFileMissing(error) || !(failure instanceof DiskError)) return [];
      throw new JobError(failure.message);
    }),
  );
  if (names.length === 0)
    throw new JobError(
      `${directory} has no ledger, so there is nothing to report; the agent writes one within an hour: let it run, or give its --state`,
    );
  keepYoungHeapSmall();
  const read = (name: string) =>
    readFile(join(directory, name)).catch((error: unknown) => {
      if (isFileMissing(error)) return undefined;
      const failure = translateDiskError(error, join(directory, name), 'read');
      throw failure instanceof DiskError ? new JobError(failure.message) : failure;
    });
  return { names, read: (chosen) => readLedgerMonths({ read }, chosen) };
}
