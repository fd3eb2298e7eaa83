/** Chooses the output of a load by its configuration; switches nothing. */

import type { LoadConfig } from '../config/config.ts';
import type { Broker, Clock, Log, Pins } from '../world.ts';
import { createDryRun } from './dry-run.ts';
import { createMqttOutput } from './mqtt.ts';
import type { Output, OutputFailure } from './output.ts';
import { ownerOf } from './ownership.ts';
import { createRelay } from './relay.ts';
import { createSgReady } from './sg-ready.ts';

export interface OutputParts {
  /** The name of this agent's device. */
  readonly device: string;
  readonly pins?: Pins;
  readonly broker?: Broker;
  readonly clock: Clock;
  readonly log: Log;
  /** Of one command to a device that does not confirm it; as many as it likes when absent. */
  readonly sends?: number;
}

/** Nothing is touched before `open` of the output. A load in shadow gets a dry run whatever its output. */
export function openOutput(load: LoadConfig, parts: OutputParts): Output {
  const { pins, broker, clock, log, sends } = parts;
  const { output: config, name } = load;
  if (load.shadow) return createDryRun({ load: name, log });
  switch (config.kind) {
    case 'dry-run':
      return createDryRun({ load: name, log });
    case 'relay':
      return pins === undefined ? missing(NO_LINES) : createRelay({ load: name, config, first: load.boot, pins });
    case 'sg-ready':
      return pins === undefined ? missing(NO_LINES) : createSgReady({ load: name, config, pins });
    case 'mqtt':
      return broker === undefined
        ? missing('no broker is configured, so its device cannot be told anything: add mqtt.url')
        : createMqttOutput({
            load: name,
            config,
            broker,
            clock,
            log,
            owner: ownerOf(config.commandTopic, parts.device, broker),
            ...(sends === undefined ? {} : { sends }),
          });
  }
}

const NO_LINES =
  'this machine has no output lines, so it cannot be switched: run on a board, or set output.kind: dry-run';

function missing(detail: string): Output {
  const failure: OutputFailure = { kind: 'missing', detail };
  return {
    open: async () => failure,
    apply: async () => failure,
    read: async () => failure,
    watch() {},
    async release() {},
    async close() {},
  };
}
