/** Creates the output of a load from its configuration. */

import type { LoadConfig, MqttOutputConfig, SgReadySwitches } from '../domain/load-types.ts';
import type { Broker, BrokerWill, Clock, GpioLines, Http, Log, Secrets } from '../domain/ports.ts';
import { hasCompressor, isStoppedUnseen } from './compressor-rest.ts';
import { createPolledDevice } from './devices/create-polled-device.ts';
import { createDryRunOutput } from './dry-run-output.ts';
import { createMqttOutput, type MqttOutputParts } from './mqtt-output.ts';
import type { DeviceLease, Output, OutputFailure } from './output.ts';
import { createPolledOutput } from './polled-output.ts';
import { createRelayOutput } from './relay-output.ts';
import { RELEASE_DELAY_SECONDS } from './release-link.ts';
import { CONTACTS, createSgReadyOutput, isSgReadyState } from './sg-ready-output.ts';
import { createSgReadyPairOutput } from './sg-ready-pair-output.ts';

export interface CreateOutputParts {
  readonly pins?: GpioLines;
  readonly broker?: Broker;
  /** For devices over HTTP, with the files of their tokens. */
  readonly web?: { readonly http: Http; readonly secrets: Secrets };
  /** Absent where this program alone commands the devices of its broker. */
  readonly createLease?: (commandTopic: string) => DeviceLease;
  /** A link of its own with this last will; absent where the death of this program releases nothing. */
  readonly createReleaseBroker?: (load: string, will: BrokerWill) => Broker;
  readonly clock: Clock;
  readonly log: Log;
  /** Sends of one command to a device that does not confirm it; the output's own number when absent. */
  readonly maxSends?: number;
}

/** Opens nothing: the output does at `open`. A load with `observeOnly` gets a dry-run output. */
export function createOutput(load: LoadConfig, parts: CreateOutputParts): Output {
  const { pins, log } = parts;
  const { output: config, name } = load;
  if (load.observeOnly) return createDryRunOutput({ load: name, log });
  switch (config.kind) {
    case 'dry-run':
      return createDryRunOutput({ load: name, log });
    case 'relay':
      return pins === undefined
        ? createMissingOutput(NO_LINES_DETAIL)
        : createRelayOutput({ load: name, config, initialLevel: load.initialLevel, pins, clock: parts.clock });
    case 'sg-ready':
      if ('switches' in config) return createSwitchPair(load, config, parts);
      return pins === undefined
        ? createMissingOutput(NO_LINES_DETAIL)
        : createSgReadyOutput({ load: name, config, pins });
    case 'mqtt':
      return createDeviceOutput(load, config, parts);
    case 'http':
    case 'home-assistant':
      if (parts.web === undefined) return createMissingOutput('no request is sent to its device from here');
      return createPolledOutput({
        ...parts,
        load: name,
        hasCompressor: hasCompressor(load),
        device: createPolledDevice(config, { ...parts, ...parts.web }),
      });
  }
}

function createDeviceOutput(load: LoadConfig, config: MqttOutputConfig, parts: CreateOutputParts): Output {
  const { broker, clock, log, maxSends } = parts;
  if (broker === undefined)
    return createMissingOutput('no broker is configured, so no command reaches its device: add mqtt.url');
  return createMqttOutput({
    load: load.name,
    config,
    broker,
    clock,
    log,
    hasCompressor: hasCompressor(load),
    lease: parts.createLease?.(config.commandTopic) ?? SOLE_LEASE,
    ...buildRelease(load, config, parts),
    ...(maxSends === undefined ? {} : { maxSends }),
  });
}

/** Each contact is a switch of its own, and at the load's fail-safe state its own level. */
function createSwitchPair(load: LoadConfig, { switches }: SgReadySwitches, parts: CreateOutputParts): Output {
  const { failSafe } = load;
  const safeContacts = CONTACTS[isSgReadyState(failSafe) ? failSafe : 'normal'];
  const [a, b] = switches.map((config, i): Output => {
    const contact: LoadConfig = { ...load, name: `${load.name}-${'ab'[i]}`, failSafe: safeContacts[i] ? 'on' : 'off' };
    return createDeviceOutput(contact, config, parts);
  });
  if (a === undefined || b === undefined) throw new Error(`load ${load.name}: SG-Ready has two contacts`);
  return createSgReadyPairOutput({ load: load.name, contacts: [a, b] });
}

/** As a stop would leave the device, so does the death of the program; `onStop: hold` leaves it as it is. */
function buildRelease(
  load: LoadConfig,
  config: MqttOutputConfig,
  { createReleaseBroker }: CreateOutputParts,
): Pick<MqttOutputParts, 'createReleaseBroker' | 'stopsUnseen'> {
  const { name, onStop, failSafe } = load;
  if (createReleaseBroker === undefined || onStop === 'hold') return {};
  const payload = config.releasePayload ?? (failSafe === 'on' ? config.onPayload : config.offPayload);
  const will = { topic: config.commandTopic, payload, delaySeconds: RELEASE_DELAY_SECONDS, retain: false } as const;
  return {
    createReleaseBroker: () => createReleaseBroker(name, will),
    stopsUnseen: isStoppedUnseen(load, config, payload),
  };
}

const SOLE_LEASE: DeviceLease = {
  async acquire() {},
  otherHolder: () => undefined,
  watchHolder() {},
  async release() {},
};

const NO_LINES_DETAIL =
  'this machine has no output lines, so it cannot be switched: run on a board, or set output.kind: dry-run';

function createMissingOutput(detail: string): Output {
  const failure: OutputFailure = { kind: 'missing', detail };
  return {
    open: async () => failure,
    apply: async () => failure,
    read: async () => failure,
    watch() {},
    release: async () => false,
    async close() {},
  };
}
