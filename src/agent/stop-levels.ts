/** What a stop of the agent leaves behind: each load released, or at its fail-safe level. */

import { formatMayRun } from '../domain/levels.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { Log } from '../domain/ports.ts';
import type { Output, OutputFailure } from '../outputs/output.ts';

export interface LoadOutput {
  readonly load: LoadConfig;
  readonly output: Output;
}

/** `onApplied` for each load that took its fail-safe level. False when one was neither released nor took it. */
export async function applyStopLevels(
  outputs: readonly LoadOutput[],
  log: Log,
  onApplied: (load: string, level: Level) => void,
): Promise<boolean> {
  const switched = outputs.filter(({ load }) => load.onStop !== 'hold' && !load.observeOnly);
  const results = await Promise.all(
    switched.map(async (one) => {
      const released = await releaseDevice(one, log);
      if (released !== false) return released === true;
      const isApplied = await applyStopLevel(one, log);
      if (isApplied) onApplied(one.load.name, one.load.failSafe);
      return isApplied;
    }),
  );
  return results.every((isApplied) => isApplied);
}

async function applyStopLevel({ load: { name, failSafe }, output }: LoadOutput, log: Log): Promise<boolean> {
  const failure = await output.apply(failSafe);
  if (failure === undefined) log('info', `load ${name} is left at its fail-safe level ${formatMayRun(failSafe)}`);
  else log('warn', `load ${name} did not take its fail-safe level ${failSafe}: ${failure.detail}`);
  return failure === undefined;
}

/** A device that follows rules of its own is left to them, without a level forced on it first. */
async function releaseDevice({ load: { name }, output }: LoadOutput, log: Log): Promise<boolean | OutputFailure> {
  const released = await output.release();
  if (released === true) log('info', `load ${name} is left to the rules of its device, which may let it run`);
  else if (released !== false) log('warn', `load ${name} was not left to the rules of its device: ${released.detail}`);
  return released;
}
