/** Holds the outputs of all loads: opens them, passes on what they report, brings the loads to the level they are left at. Chooses no level. */

import type { Config, Level, LoadConfig } from '../config/config.ts';
import { openOutput } from '../outputs/open.ts';
import { isFailure, type Output, type OutputFailure } from '../outputs/output.ts';
import type { Broker, Clock, Log, Pins } from '../world.ts';
import type { Troubles } from './troubles.ts';

export interface LoadOutputsParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly troubles: Troubles;
  readonly pins: Pins | undefined;
  readonly broker: Broker | undefined;
  /** A device told its level by itself, or will not keep the one it was told (undefined). */
  readonly reported: (load: string, level: Level | undefined) => void;
}

export interface LoadOutputs {
  readonly byLoad: ReadonlyMap<string, Output>;
  /** The levels found, of the loads that can be read. */
  open(): Promise<Record<string, Level>>;
  /** Raises the trouble of a load, or clears it. */
  fault(load: string, failure: OutputFailure | undefined): void;
  /** Brings a load to where its owner wants it without the agent. The level it took; `held` when it was not to be told, undefined when it could not be. */
  leave(load: LoadConfig): Promise<Level | 'held' | undefined>;
  close(): Promise<void>;
}

export function createLoadOutputs(parts: LoadOutputsParts): LoadOutputs {
  const { config, clock, log, troubles, pins, broker, reported } = parts;
  const byLoad = new Map<string, Output>();
  for (const load of config.loads) {
    const output = openOutput(load, {
      device: config.device,
      clock,
      log,
      ...(pins === undefined ? {} : { pins }),
      ...(broker === undefined ? {} : { broker }),
    });
    byLoad.set(load.name, output);
  }

  const fault = (load: string, failure: OutputFailure | undefined): void => {
    if (failure === undefined) troubles.clear(`outputs:${load}`);
    else troubles.raise(`outputs:${load}`, `load ${load}: ${failure.detail}`);
  };

  return {
    byLoad,
    async open() {
      const levels: Record<string, Level> = {};
      const openOne = async ([load, output]: readonly [string, Output]): Promise<void> => {
        output.watch((news) => {
          fault(load, isFailure(news) ? news : undefined);
          reported(load, isFailure(news) ? undefined : news);
        });
        const found = await output.open();
        if (isFailure(found)) fault(load, found);
        else if (found.level !== undefined) levels[load] = found.level;
      };
      // Side by side: a device that is slow to say its state delays no other load.
      await Promise.all([...byLoad].map(openOne));
      return levels;
    },
    fault,
    async leave({ name, onStop, shadow, failSafe }) {
      const output = byLoad.get(name);
      if (output === undefined || onStop === 'hold' || shadow) return 'held';
      const failure = await output.apply(failSafe);
      if (isFailure(failure)) log('warn', `load ${name} was not brought to ${failSafe}: ${failure.detail}`);
      await output.release();
      return isFailure(failure) ? undefined : failSafe;
    },
    async close() {
      for (const output of byLoad.values()) await output.close();
    },
  };
}
