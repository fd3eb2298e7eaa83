/** A cellar for output tests: loads to configure, and an embedded broker with the real link and devices on it, in time that stands still until it is moved. */

import type { LoadConfig, MqttOutputConfig, OutputConfig } from '../../src/config/config.ts';
import { type OutputParts, openOutput } from '../../src/outputs/open.ts';
import { createBrokers } from '../../src/platform/broker.ts';
import { createSystemClock } from '../../src/platform/clock.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from '../../src/replay/broker.ts';
import { createVirtualClock, type VirtualClock } from '../../src/replay/clock.ts';
import { after, type Duration, hours, type Instant, type Kilowatt, minutes, type Percentile } from '../../src/units.ts';
import type { Broker } from '../../src/world.ts';
import { createGathering } from '../doubles/gathering.ts';

const START = Date.UTC(2026, 2, 1, 12) as Instant;

export const load = (output: OutputConfig, more: Partial<LoadConfig> = {}): LoadConfig => ({
  name: 'car',
  type: 'ev',
  output,
  power: 7.2 as Kilowatt,
  onBelow: 33 as Percentile,
  offAbove: 43 as Percentile,
  minOn: minutes(15),
  minOff: minutes(15),
  hold: minutes(10),
  maxStartsPerHour: 4,
  maxStartsPerDay: 6,
  maxBlock: hours(2),
  maxBlocksPerDay: 3,
  jitter: minutes(5),
  failSafe: 'on',
  boot: 'off',
  onStop: 'failsafe',
  overrideFor: hours(4),
  shadow: false,
  ...more,
});

export interface Quiet extends Omit<OutputParts, 'broker'> {
  readonly clock: VirtualClock;
  readonly said: string[];
}

/** The parts of an output without lines and without a broker; `said` is its log. */
export function quiet(): Quiet {
  const said: string[] = [];
  return {
    device: 'cellar',
    clock: createVirtualClock(START),
    said,
    log: (level, message) => void said.push(`${level}: ${message}`),
  };
}

export const output = (config: LoadConfig, parts: OutputParts) => openOutput(config, parts);

/** What a device on the broker does with a command: says so at once, or stays silent. */
export interface Device {
  obeys: boolean;
  readonly commands: readonly string[];
  /** Resolves when it has been told `count` times in all. */
  told(count: number): Promise<void>;
  /** Says its state unasked, as after a reset or a press of its button. */
  says(state: string): Promise<void>;
}

export interface Cellar extends Quiet {
  readonly embedded: EmbeddedBroker;
  readonly broker: Broker;
  readonly tasmota: MqttOutputConfig;
  /** The same without a state topic. */
  readonly mute: MqttOutputConfig;
  addDevice(commandTopic: string, stateTopic: string): Device;
  passes(time: Duration): Promise<void>;
  close(): Promise<void>;
}

const link = (url: string, clientId: string): Broker =>
  createBrokers({ clock: createSystemClock(), random: { fraction: () => 0.5 } })({ url, clientId });

export async function cellar(): Promise<Cellar> {
  const embedded = await startEmbeddedBroker();
  const broker = link(embedded.url, 'gridtide-cellar');
  const online = new Promise<void>((resolve) => {
    broker.watch(({ kind }) => {
      if (kind === 'online') resolve();
    });
  });
  broker.start();
  await online;
  const parts = quiet();
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
    mute,
    tasmota: { ...mute, stateTopic: 'stat/car/POWER' },
    addDevice: (commandTopic, stateTopic) => deviceOn(embedded, commandTopic, stateTopic),
    async passes(time) {
      await parts.clock.runUntil(after(parts.clock.now().wall, time));
    },
    async close() {
      await broker.stop();
      await embedded.close();
    },
  };
}

function deviceOn(embedded: EmbeddedBroker, commandTopic: string, stateTopic: string): Device {
  const commands = createGathering<string>();
  const device: Device = {
    obeys: true,
    commands: commands.all,
    told: (count) => commands.reaches(count),
    says: (state) => embedded.publish(stateTopic, state, { retain: false }),
  };
  embedded.onPublish(async (topic, payload) => {
    if (topic !== commandTopic) return;
    commands.add(payload);
    if (device.obeys) await device.says(payload);
  });
  return device;
}
