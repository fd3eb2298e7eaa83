/** The output of a load behind an MQTT device: commands, reported level and release. */

import { hasRelease } from '../domain/levels.ts';
import type { Level, MqttOutputConfig } from '../domain/load-types.ts';
import type { Broker, Clock, Log } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import {
  buildBusyFailure,
  buildGoneFailure,
  buildSilentFailure,
  createCommandSender,
  type DeviceCommand,
} from './command-sender.ts';
import { createDeviceLink, type DeviceLink } from './device-link.ts';
import { createLevelKeeper, type LevelKeeper } from './level-keeper.ts';
import {
  type DeviceHandlers,
  type DeviceLease,
  type DeviceStatus,
  type FoundLevel,
  type Output,
  type OutputFailure,
  toConfirmedLevel,
  toFoundLevel,
} from './output.ts';
import { createReleaseLink } from './release-link.ts';

/** For the link and the first state at the start; then the agent goes on without. */
export const OPEN_TIMEOUT = seconds(3);

export interface MqttOutputParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: DeviceLease;
  /** A link whose last will releases the device; absent: nothing does. */
  readonly createReleaseBroker?: () => Broker;
  /** It switches a compressor, which may not start again right after a stop. */
  readonly hasCompressor?: boolean;
  /** It switches a compressor, is stopped by its release, and reports no state. */
  readonly stopsUnseen?: boolean;
  /** Sends of one command; fewer where a person waits for the end of it. */
  readonly maxSends?: number;
}

export function createMqttOutput(parts: MqttOutputParts): Output {
  const { config, broker, lease, hasCompressor = false } = parts;
  const restsAfterStop = hasCompressor && config.stateTopic !== undefined;
  let report: (update: Level | OutputFailure) => void = () => {};
  /** What the device reports until then is the answer of `open`. */
  let isOpened = false;

  let handlers: DeviceHandlers = { onStatus() {}, onPress() {}, onMeter() {} };
  const publishStatus = () => handlers.onStatus(buildStatus(keeper, link));
  /** What the device does while another agent switches it does not end that trouble. */
  const reportUpdate = (update: Level | OutputFailure) =>
    isOpened && lease.otherHolder() === undefined && report(update);

  const link = createDeviceLink({
    ...parts,
    onReading(reading) {
      if (!sender.isSending()) keeper.checkReading(reading);
    },
    onAvailability(isAvailable) {
      if (!isAvailable) return reportUpdate(buildGoneFailure(config));
      if (restsAfterStop) void link.query();
      keeper.deviceReturned();
    },
    acquire: () => lease.acquire(),
    async onUp() {
      await switchReleaseLink();
      await keeper.resume();
    },
    onMeter: (reading) => handlers.onMeter(reading),
    onSilence() {
      keeper.expectReport();
      reportUpdate(buildSilentFailure(config));
    },
    onChange: publishStatus,
  });
  const sender = createCommandSender({ ...parts, link, restsAfterStop });
  const keeper = createLevelKeeper({
    ...parts,
    link,
    sender,
    isOthers: () => lease.otherHolder() !== undefined,
    restsAfterStop,
    mayBePress: () => config.press === 'always' || (config.press === 'while-available' && link.isAvailable() === true),
    mayBeReleased: async () => (await releaseLink?.mayHaveReleased()) ?? false,
    report: reportUpdate,
    onPress: (level) => handlers.onPress(level),
  });
  const releaseLink =
    parts.createReleaseBroker &&
    createReleaseLink({
      ...parts,
      createBroker: parts.createReleaseBroker,
      expectRelease: (wait) => keeper.expectRelease(wait),
      onReleased: () => void keeper.resume(),
    });
  /** Only the agent that commands the device may release it by its death. */
  const switchReleaseLink = async () =>
    lease.otherHolder() === undefined ? releaseLink?.start() : await releaseLink?.stop();
  lease.watchHolder(() => void switchReleaseLink());
  const applyCommand = (command: DeviceCommand | undefined) => {
    const result = keeper.apply(command);
    publishStatus();
    return result;
  };

  return {
    async open() {
      await link.start();
      if (config.stateTopic !== undefined) await awaitFirstReport(link, broker);
      isOpened = true;
      const other = lease.otherHolder();
      return other === undefined ? buildFound(link) : buildBusyFailure(other);
    },
    async apply(level, current) {
      await link.start();
      isOpened = true;
      return applyCommand({ level, current });
    },
    read: async () => toFoundLevel(link.reading()),
    watchDevice(newHandlers) {
      handlers = newHandlers;
    },
    watch(listener) {
      report = listener;
    },
    async release() {
      const canRelease = hasRelease(config);
      return (await applyCommand(canRelease ? {} : undefined)) ?? canRelease;
    },
    async close() {
      keeper.stop();
      sender.close();
      link.stop();
      await Promise.all([lease.release(), releaseLink?.stop()]);
    },
  };
}

const awaitFirstReport = (link: DeviceLink, broker: Broker): Promise<void> =>
  link.waitUntil(
    () => link.reading() !== undefined || !link.isStarted() || broker.state.kind === 'offline',
    OPEN_TIMEOUT,
  );

function buildFound(link: DeviceLink): FoundLevel {
  const [level, amps] = [toFoundLevel(link.reading()), link.reportedAmps()];
  return { ...(level === undefined ? {} : { level }), ...(amps === undefined ? {} : { amps }) };
}

function buildStatus(keeper: LevelKeeper, link: DeviceLink): DeviceStatus {
  const [sent, confirmed, available] = [keeper.sentLevel(), toConfirmedLevel(link.reading()), link.isAvailable()];
  const vehicle = link.vehicle();
  return {
    ...(sent === undefined ? {} : { sent }),
    ...(confirmed === undefined ? {} : { confirmed }),
    ...(available === undefined ? {} : { available }),
    ...(vehicle === undefined ? {} : { vehicle }),
  };
}
