/** The outputs of all loads: opens them and forwards their reports. */

import type { Config } from '../config/config.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { Broker, BrokerWill, Clock, GpioLines, Log } from '../domain/ports.ts';
import { createDeviceLease } from '../mqtt/device-lease.ts';
import { type CreateOutputParts, createOutput } from '../outputs/create-output.ts';
import {
  type DeviceStatus,
  type FoundLevel,
  isOutputFailure,
  type MeterReading,
  type Output,
  type OutputFailure,
} from '../outputs/output.ts';
import type { Problems } from './problems.ts';
import { applyStopLevels, type LoadOutput } from './stop-levels.ts';

export interface LoadOutputsParts extends Pick<CreateOutputParts, 'web'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly problems: Problems;
  readonly pins: GpioLines | undefined;
  readonly broker: Broker | undefined;
  readonly createReleaseBroker?: (load: string, will: BrokerWill) => Broker;
  /** A device reported its level, or leaves the level of its last command (undefined). */
  readonly onReport: (load: string, level: Level | undefined) => void;
  readonly onStatus: (load: string, status: DeviceStatus) => void;
  readonly onMeter: (load: string, reading: MeterReading) => void;
  /** A person switched the device at the device itself. */
  readonly onPress: (load: LoadConfig, level: Level) => void;
  /** A person asked for a level at the load's button. */
  readonly onButton: (load: LoadConfig, level: Level) => void;
}

/** By load. */
export interface LoadsFound {
  readonly levels: Readonly<Record<string, Level>>;
  /** That chargers report to be set to. */
  readonly amps: Readonly<Record<string, number>>;
}

export interface LoadOutputs {
  readonly byLoad: ReadonlyMap<string, Output>;
  open(): Promise<void>;
  /** By `open`, of the loads that can be read. */
  found(): LoadsFound;
  /** Raises the problem of a load, or resolves it. */
  reportFault(load: string, failure: OutputFailure | undefined): void;
  /**
   * Brings each load to where its owner wants it without the agent; `onApplied` for each that took its level. False when one did
   * not.
   */
  applyStopLevels(onApplied: (load: string, level: Level) => void): Promise<boolean>;
  close(): Promise<void>;
}

export function createLoadOutputs(parts: LoadOutputsParts): LoadOutputs {
  const { problems, onReport, onStatus, onMeter, onPress, onButton } = parts;
  const outputs = createOutputs(parts);
  const byLoad = new Map(outputs.map(({ load, output }) => [load.name, output]));
  const opened = createFoundLoads();

  const reportFault = (load: string, failure: OutputFailure | undefined) =>
    raiseFailure(problems, `outputs:${load}`, load, failure);

  const openOutput = async ({ load, output }: LoadOutput): Promise<void> => {
    const { name } = load;
    output.watchDevice?.({
      onStatus: (status) => onStatus(name, status),
      onPress: (level) => onPress(load, level),
      onButton: (level) => onButton(load, level),
      onInputs: (failure) => raiseFailure(problems, `outputs:${name}:inputs`, name, failure),
      onMeter: (reading) => onMeter(name, reading),
    });
    output.watch((report) => {
      const failure = isOutputFailure(report) ? report : undefined;
      reportFault(name, failure);
      onReport(name, isOutputFailure(report) ? undefined : report);
      if (failure?.answer !== undefined) onReport(name, failure.answer);
    });
    const found = await output.open();
    if (isOutputFailure(found)) reportFault(name, found);
    else opened.add(name, found);
  };

  return {
    byLoad,
    found: () => opened.found,
    // Side by side: a device that is slow to report its state delays no other load.
    open: async () => void (await Promise.all(outputs.map(openOutput))),
    reportFault,
    applyStopLevels: (onApplied) => applyStopLevels(outputs, parts.log, onApplied),
    async close() {
      await Promise.all(outputs.map(({ output }) => output.close()));
    },
  };
}

function createFoundLoads() {
  // Without a prototype: a load may be called `constructor`.
  const levels: Record<string, Level> = Object.create(null);
  const amps: Record<string, number> = Object.create(null);
  return {
    found: { levels, amps } as LoadsFound,
    add(load: string, found: FoundLevel): void {
      if (found.level !== undefined) levels[load] = found.level;
      if (found.amps !== undefined) amps[load] = found.amps;
    },
  };
}

function raiseFailure(problems: Problems, subject: string, load: string, failure: OutputFailure | undefined): void {
  if (failure === undefined) problems.resolve(subject);
  else problems.raise(subject, `load ${load}: ${failure.detail}`);
}

const createOutputs = ({
  config,
  clock,
  log,
  pins,
  web,
  broker,
  createReleaseBroker,
}: LoadOutputsParts): readonly LoadOutput[] =>
  config.loads.map((load) => ({
    load,
    output: createOutput(load, {
      clock,
      log,
      ...(web === undefined ? {} : { web }),
      ...(pins === undefined ? {} : { pins }),
      ...(broker === undefined
        ? {}
        : {
            broker,
            createLease: (topic: string) => createDeviceLease(topic, config.device, broker),
            ...(createReleaseBroker === undefined ? {} : { createReleaseBroker }),
          }),
    }),
  }));
