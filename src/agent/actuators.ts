/** Sends each output the newest level requested of it, one call at a time. */

import type { Level, LoadCurrent } from '../domain/load-types.ts';
import { isOutputFailure, type Output, type OutputFailure } from '../outputs/output.ts';

export interface ActuatorsParts {
  readonly outputs: ReadonlyMap<string, Output>;
  /** The output took the level. */
  readonly onApplied: (load: string, level: Level) => void;
  /** The output failed; `failures` counts those in a row. */
  readonly onFailed: (load: string, failure: OutputFailure, failures: number) => void;
}

export interface Actuators {
  /** Replaces a level that is still waiting. */
  requestLevel(load: string, level: Level, current?: LoadCurrent): void;
  /** Whether no level was ever requested, or the last one has been dealt with. */
  isIdle(load: string): boolean;
  /** Drops what waits; resolves when no call is under way. */
  stop(): Promise<void>;
}

interface Actuator {
  readonly output: Output;
  pending: { readonly level: Level; readonly current: LoadCurrent | undefined } | undefined;
  busy: Promise<void> | undefined;
  failures: number;
}

export function createActuators({ outputs, onApplied, onFailed }: ActuatorsParts): Actuators {
  const actuators = new Map<string, Actuator>();
  for (const [load, output] of outputs)
    actuators.set(load, { output, pending: undefined, busy: undefined, failures: 0 });

  const applyPending = async (load: string, actuator: Actuator): Promise<void> => {
    while (actuator.pending !== undefined) {
      const { level, current } = actuator.pending;
      actuator.pending = undefined;
      const failure = await actuator.output.apply(level, current);
      actuator.failures = isOutputFailure(failure) ? actuator.failures + 1 : 0;
      if (isOutputFailure(failure)) onFailed(load, failure, actuator.failures);
      else onApplied(load, level);
    }
    actuator.busy = undefined;
  };

  return {
    requestLevel(load, level, current) {
      const actuator = actuators.get(load);
      if (actuator === undefined) return;
      actuator.pending = { level, current };
      actuator.busy ??= applyPending(load, actuator);
    },
    isIdle: (load) => actuators.get(load)?.busy === undefined,
    async stop() {
      for (const actuator of actuators.values()) actuator.pending = undefined;
      await Promise.all([...actuators.values()].map(({ busy }) => busy));
    },
  };
}
