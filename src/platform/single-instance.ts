/** Finds out whether another agent uses a state directory, by a file with its process id. */

import { readFileSync } from 'node:fs';
import { type Disk, DiskError } from '../domain/ports.ts';

export const PROCESS_FILE = 'agent.process';

function readProcText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * One process and no other: its number, when it started, and what it was started as, for numbers are used again. Undefined
 * when it is dead, not waited for yet, or hidden: nobody is kept from starting by what cannot be proven.
 */
export function identifyProcess(pid: number): string | undefined {
  // proc(5): the name of the program may hold anything; the state and the start are the 1st and 20th field after it.
  const fields =
    readProcText(`/proc/${pid}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ') ?? [];
  const [state, start] = [fields[0] ?? 'X', fields[19]];
  const command = readProcText(`/proc/${pid}/cmdline`);
  if (state === 'Z' || state === 'X' || start === undefined || command === undefined) return undefined;
  return `${pid} ${start} ${command.replaceAll('\0', ' ').trim()}`;
}

/** The process id of another agent that uses this directory. */
export async function findOtherAgent(disk: Pick<Disk, 'read'>): Promise<number | undefined> {
  const bytes = await disk.read(PROCESS_FILE).catch(ignoreDiskError);
  if (bytes === undefined) return undefined;
  const identity = new TextDecoder().decode(bytes);
  const pid = Number.parseInt(identity, 10);
  return pid > 0 && pid !== process.pid && identifyProcess(pid) === identity ? pid : undefined;
}

/** From now on `findOtherAgent` finds this process. Other writes report a disk that refuses this one. */
export async function registerAgent(disk: Pick<Disk, 'replace'>): Promise<void> {
  const identity = identifyProcess(process.pid);
  if (identity !== undefined)
    await disk.replace(PROCESS_FILE, new TextEncoder().encode(identity)).catch(ignoreDiskError);
}

function ignoreDiskError(error: unknown): undefined {
  if (!(error instanceof DiskError)) throw error;
}
