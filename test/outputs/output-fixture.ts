/** A cellar for output tests: loads to configure, and an embedded broker with the real link and devices on it, in time that stands still until it is moved. */

import type { LoadConfig, MqttOutputConfig, OutputConfig } from '../../src/domain/load-types.ts';
import type { Broker } from '../../src/domain/ports.ts';
import {
  addDuration,
  type Duration,
  hours,
  type Instant,
  type Kilowatt,
  minutes,
  type Percentile,
} from '../../src/domain/units.ts';
import { type CreateOutputParts, createOutput } from '../../src/outputs/create-output.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';

const START = Date.UTC(2026, 2, 1, 12) as Instant;

export const buildLoad = (output: OutputConfig, more: Partial<LoadConfig> = {}): LoadConfig => ({
  name: 'car',
  type: 'ev',
  output,
  powerKw: 7.2 as Kilowatt,
  onBelow: 33 as Percentile,
  offAbove: 43 as Percentile,
  minOn: minutes(15),
  minOff: minutes(15),
  minStateTime: minutes(10),
  maxStartsPerHour: 4,
  maxStartsPerDay: 6,
  maxBlock: hours(2),
  maxBlocksPerDay: 3,
  startSpread: minutes(5),
  failSafe: 'on',
  initialLevel: 'off',
  onStop: 'failsafe',
  overrideFor: hours(4),
  observeOnly: false,
  ...more,
});

export interface OfflineParts extends Omit<CreateOutputParts, 'broker'> {
  readonly clock: VirtualClock;
  readonly logLines: string[];
}

/** The parts of an output without lines and without a broker; `said` is its log. */
export function createOfflineParts(): OfflineParts {
  const logLines: string[] = [];
  return {
    clock: createVirtualClock(START),
    logLines,
    log: (level, message) => void logLines.push(`${level}: ${message}`),
  };
}

export const createTestOutput = (config: LoadConfig, parts: CreateOutputParts) => createOutput(config, parts);

/** What a device on the broker does with a command: says so at once, or stays silent. */
interface FakeDevice {
  answersCommands: boolean;
  readonly commands: readonly string[];
  /** Resolves when it has been told `count` times in all. */
  whenCommands(count: number): Promise<void>;
  /** Says its state unasked, as after a reset or a press of its button. */
  publishState(state: string): Promise<void>;
}

export interface OutputFixture extends OfflineParts {
  readonly embedded: EmbeddedBroker;
  readonly broker: Broker;
  readonly tasmota: MqttOutputConfig;
  /** The same without a state topic. */
  readonly tasmotaWithoutState: MqttOutputConfig;
  addDevice(commandTopic: string, stateTopic: string): FakeDevice;
  pass(time: Duration): Promise<void>;
  close(): Promise<void>;
}

const createTestBroker = (url: string, clientId: string): Broker =>
  createBrokerFactory({ clock: createSystemClock(), random: { fraction: () => 0.5 } })({ url, clientId });

export async function createOutputFixture(): Promise<OutputFixture> {
  const embedded = await startEmbeddedBroker();
  const broker = createTestBroker(embedded.url, 'gridtide-cellar');
  const online = new Promise<void>((resolve) => {
    broker.watchState(({ kind }) => {
      if (kind === 'online') resolve();
    });
  });
  broker.start();
  await online;
  const parts = createOfflineParts();
  const mute: MqttOutputConfig = {
    kind: 'mqtt',
    preset: 'tasmota',
    commandTopic: 'cmnd/car/POWER',
    onPayload: 'ON',
    offPayload: 'OFF',
  };
  return {
    ...parts,
    embedded,
    broker,
    tasmotaWithoutState: mute,
    tasmota: { ...mute, stateTopic: 'stat/car/POWER' },
    addDevice: (commandTopic, stateTopic) => createFakeDevice(embedded, commandTopic, stateTopic),
    async pass(time) {
      await parts.clock.runUntil(addDuration(parts.clock.now().wall, time));
    },
    async close() {
      await broker.stop();
      await embedded.close();
    },
  };
}

function createFakeDevice(embedded: EmbeddedBroker, commandTopic: string, stateTopic: string): FakeDevice {
  const commands = createAwaitableList<string>();
  const device: FakeDevice = {
    answersCommands: true,
    commands: commands.all,
    whenCommands: (count) => commands.whenCount(count),
    publishState: (state) => embedded.publish(stateTopic, state, { retain: false }),
  };
  embedded.onPublish(async (topic, payload) => {
    if (topic !== commandTopic) return;
    commands.add(payload);
    if (device.answersCommands) await device.publishState(payload);
  });
  return device;
}
