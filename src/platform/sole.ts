/** Tells whether another agent lives on a state directory, by a file in it that names its process; a dead process holds nothing. */

import { readFileSync } from 'node:fs';
import { type Disk, DiskError } from '../world.ts';

const FILE = 'agent.process';

function textOf(path: string): string | undefined {
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
export function processNamed(pid: number): string | undefined {
  // proc(5): the name of the program may hold anything; the state and the start are the 1st and 20th field after it.
  const fields =
    textOf(`/proc/${pid}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ') ?? [];
  const [state, start] = [fields[0] ?? 'X', fields[19]];
  const command = textOf(`/proc/${pid}/cmdline`);
  if (state === 'Z' || state === 'X' || start === undefined || command === undefined) return undefined;
  return `${pid} ${start} ${command.replaceAll('\0', ' ').trim()}`;
}

/** The number of the other process whose agent lives on this directory. */
export async function otherAgentOn(disk: Pick<Disk, 'read'>): Promise<number | undefined> {
  const bytes = await disk.read(FILE).catch(unlessOfDisk);
  if (bytes === undefined) return undefined;
  const named = new TextDecoder().decode(bytes);
  const pid = Number.parseInt(named, 10);
  return pid > 0 && pid !== process.pid && processNamed(pid) === named ? pid : undefined;
}

/** From now on `otherAgentOn` tells of this process. A disk that refuses is told of by all else that is kept there. */
export async function takeFor(disk: Pick<Disk, 'replace'>): Promise<void> {
  const named = processNamed(process.pid);
  if (named !== undefined) await disk.replace(FILE, new TextEncoder().encode(named)).catch(unlessOfDisk);
}

function unlessOfDisk(error: unknown): undefined {
  if (!(error instanceof DiskError)) throw error;
}
