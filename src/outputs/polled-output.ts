/** The output of a load behind a device that must be asked over HTTP: commands, the level read back, and release. */

import { waitAtMost } from '../domain/abortable-wait.ts';
import type { Level } from '../domain/load-types.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import type { DeviceCommand } from './command-sender.ts';
import type { PolledDevice, PolledState } from './devices/polled-device.ts';
import { createLevelKeeper } from './level-keeper.ts';
import {
  type DeviceHandlers,
  type DeviceStatus,
  isOutputFailure,
  type Output,
  type OutputFailure,
  toConfirmedLevel,
  toFoundLevel,
} from './output.ts';
import { buildUnavailableFailure, createPolledSender } from './polled-sender.ts';
import { createStatePoller } from './state-poller.ts';

/** For the first answer at the start; then the agent goes on without. */
const OPEN_TIMEOUT = seconds(3);

export interface PolledOutputParts {
  readonly load: string;
  readonly device: PolledDevice;
  readonly clock: Clock;
  readonly log: Log;
  /** It switches a compressor, which may not start again right after a stop. */
  readonly hasCompressor?: boolean;
  readonly maxSends?: number;
}

export function createPolledOutput(parts: PolledOutputParts): Output {
  const { load, device, clock } = parts;
  let report: (update: Level | OutputFailure) => void = () => {};
  let handlers: DeviceHandlers = { onStatus() {}, onPress() {}, onMeter() {} };
  /** What the device reports until then is the answer of `open`. */
  let isOpened = false;
  const { poller, sender, keeper } = createPolledControl(parts, {
    onReport: (update) => isOpened && report(update),
    onStatus: (status) => handlers.onStatus(status),
    onPress: (level) => handlers.onPress(level),
    onMeter: (reading) => handlers.onMeter(reading),
  });
  const applyCommand = (command: DeviceCommand | undefined) => {
    poller.start();
    isOpened = true;
    const result = keeper.apply(command);
    handlers.onStatus(buildStatus(keeper.sentLevel(), poller.state()));
    return result;
  };

  return {
    async open() {
      poller.start();
      const found = await waitAtMost({ clock, wait: OPEN_TIMEOUT, name: `state of ${load}` }, poller.read());
      isOpened = true;
      return isOutputFailure(found) ? found : buildFound(found);
    },
    async apply(level, current) {
      if (level !== 'on' && level !== 'off')
        throw new Error(`load ${load}: a device over HTTP has the levels on and off, not "${level}"`);
      return applyCommand({ level, current });
    },
    async read() {
      const found = await poller.read();
      return isOutputFailure(found) ? found : toFoundLevel(found?.reading);
    },
    watch(listener) {
      report = listener;
    },
    watchDevice(newHandlers) {
      handlers = newHandlers;
    },
    async release() {
      return (await applyCommand(device.canRelease ? {} : undefined)) ?? device.canRelease;
    },
    async close() {
      keeper.stop();
      sender.close();
      poller.stop();
    },
  };
}

interface ControlHandlers extends DeviceHandlers {
  /** A level that the device has again, or why it does not keep it. */
  onReport(update: Level | OutputFailure): void;
}

/** The poller, whose answers the keeper compares with the last command. */
function createPolledControl(parts: PolledOutputParts, handlers: ControlHandlers) {
  const { device } = parts;
  let isPress = false;
  const publishStatus = () => handlers.onStatus(buildStatus(keeper.sentLevel(), poller.state()));
  const reportLoss = (failure: OutputFailure): void => {
    publishStatus();
    keeper.expectReport();
    handlers.onReport(failure);
  };
  const poller = createStatePoller({
    ...parts,
    onState(state, before) {
      isPress = isSetByPerson(state, before);
      if (state.meter !== undefined) handlers.onMeter(state.meter);
      const wasLost = before?.available === false;
      if (state.available === false) return wasLost ? undefined : reportLoss(buildUnavailableFailure(device));
      publishStatus();
      if (wasLost) keeper.deviceReturned();
      if (state.reading !== undefined && !sender.isSending()) keeper.checkReading(state.reading);
    },
    onFailure: reportLoss,
  });
  const restsAfterStop = parts.hasCompressor === true && device.read !== undefined;
  const sender = createPolledSender({ ...parts, poller, restsAfterStop });
  const keeper = createLevelKeeper({
    ...parts,
    link: { reading: () => poller.state()?.reading, isOnline: () => true },
    sender,
    restsAfterStop,
    mayBePress: () => isPress,
    report: handlers.onReport,
    onPress: handlers.onPress,
  });
  return { poller, sender, keeper };
}

/** A state that came after another one: what was so before the last command is nobody's answer to it. */
const isSetByPerson = ({ isByPerson = false, reading }: PolledState, before: PolledState | undefined) =>
  isByPerson && before?.reading !== undefined && before.reading !== reading;

function buildFound(found: PolledState | undefined): { readonly level?: Level } {
  const level = toFoundLevel(found?.reading);
  return level === undefined ? {} : { level };
}

function buildStatus(sent: Level | undefined, state: PolledState | undefined): DeviceStatus {
  const { available, vehicle } = state ?? {};
  const confirmed = toConfirmedLevel(state?.reading);
  return {
    ...(sent === undefined ? {} : { sent }),
    ...(confirmed === undefined ? {} : { confirmed }),
    ...(available === undefined ? {} : { available }),
    ...(vehicle === undefined ? {} : { vehicle }),
  };
}
