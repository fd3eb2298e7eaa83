/** Holds the outputs of all loads: opens them, passes on what they report, brings the loads to the level they are left at. Chooses no level. */

import type { Config } from '../config/config.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { Broker, Clock, GpioLines, Log } from '../domain/ports.ts';
import { createDeviceLease } from '../mqtt/device-lease.ts';
import { createOutput } from '../outputs/create-output.ts';
import { isOutputFailure, type Output, type OutputFailure } from '../outputs/output.ts';
import type { Problems } from './problems.ts';

export interface LoadOutputsParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly problems: Problems;
  readonly pins: GpioLines | undefined;
  readonly broker: Broker | undefined;
  /** A device told its level by itself, or will not keep the one it was told (undefined). */
  readonly onReport: (load: string, level: Level | undefined) => void;
}

export interface LoadOutputs {
  readonly byLoad: ReadonlyMap<string, Output>;
  /** The levels found, of the loads that can be read. */
  open(): Promise<Record<string, Level>>;
  /** Raises the trouble of a load, or clears it. */
  reportFault(load: string, failure: OutputFailure | undefined): void;
  /** Brings a load to where its owner wants it without the agent. The level it took; `held` when it was not to be told, undefined when it could not be. */
  applyStopLevel(load: LoadConfig): Promise<Level | 'held' | undefined>;
  close(): Promise<void>;
}

export function createLoadOutputs(parts: LoadOutputsParts): LoadOutputs {
  const { config, clock, log, problems, pins, broker, onReport } = parts;
  const byLoad = new Map<string, Output>();
  for (const load of config.loads) {
    const output = createOutput(load, {
      clock,
      log,
      ...(pins === undefined ? {} : { pins }),
      ...(broker === undefined
        ? {}
        : { broker, createLease: (topic: string) => createDeviceLease(topic, config.device, broker) }),
    });
    byLoad.set(load.name, output);
  }

  const reportFault = (load: string, failure: OutputFailure | undefined): void => {
    if (failure === undefined) problems.resolve(`outputs:${load}`);
    else problems.raise(`outputs:${load}`, `load ${load}: ${failure.detail}`);
  };

  return {
    byLoad,
    async open() {
      // Without a prototype: a load may be called `constructor`.
      const levels: Record<string, Level> = Object.create(null);
      const openOne = async ([load, output]: readonly [string, Output]): Promise<void> => {
        output.watch((newReport) => {
          reportFault(load, isOutputFailure(newReport) ? newReport : undefined);
          onReport(load, isOutputFailure(newReport) ? undefined : newReport);
        });
        const found = await output.open();
        if (isOutputFailure(found)) reportFault(load, found);
        else if (found.level !== undefined) levels[load] = found.level;
      };
      // Side by side: a device that is slow to say its state delays no other load.
      await Promise.all([...byLoad].map(openOne));
      return levels;
    },
    reportFault,
    async applyStopLevel({ name, onStop, observeOnly: shadow, failSafe }) {
      const output = byLoad.get(name);
      if (output === undefined || onStop === 'hold' || shadow) return 'held';
      const failure = await output.apply(failSafe);
      if (isOutputFailure(failure)) log('warn', `load ${name} was not brought to ${failSafe}: ${failure.detail}`);
      await output.release();
      return isOutputFailure(failure) ? undefined : failSafe;
    },
    async close() {
      for (const output of byLoad.values()) await output.close();
    },
  };
}
