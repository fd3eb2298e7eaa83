/** Sends one command at a time to a device that is asked for its state, and asks until it confirms. */

import { waitAbortable } from '../domain/abortable-wait.ts';
import type { Level } from '../domain/load-types.ts';
import type { Clock } from '../domain/ports.ts';
import { addDuration, type Duration, seconds } from '../domain/units.ts';
import {
  CLOSED,
  type CommandSender,
  type DeviceCommand,
  formatReading,
  formatTimes,
  MAX_COMMAND_SENDS,
  OVERTAKEN,
} from './command-sender.ts';
import { addAnswer } from './compressor-rest.ts';
import type { PolledDevice, PolledState } from './devices/polled-device.ts';
import { isOutputFailure, type OutputFailure } from './output.ts';
import type { StatePoller } from './state-poller.ts';

/** Doubled after each question. */
const FIRST_CONFIRM_WAIT = seconds(0.5);

export interface PolledSenderParts {
  readonly load: string;
  readonly device: PolledDevice;
  readonly clock: Clock;
  readonly poller: StatePoller;
  /** Each "on" may start a compressor, also one after which the device reports "off". */
  readonly restsAfterStop: boolean;
  readonly maxSends?: number;
}

export function createPolledSender(parts: PolledSenderParts): CommandSender {
  const { device, poller, maxSends = MAX_COMMAND_SENDS } = parts;
  let underWay: AbortController | undefined;

  const sendUntilConfirmed = async (command: DeviceCommand, signal: AbortSignal, hasFailed: boolean) => {
    const { level } = command;
    for (let sends = 1; ; sends += 1) {
      const failure = await device.send(command, AbortSignal.any([signal, poller.signal]));
      if (signal.aborted) return signal.reason as OutputFailure;
      if (failure !== undefined || level === undefined || device.read === undefined) return failure;
      const answer = await awaitLevel(parts, level, signal);
      if (signal.aborted) return signal.reason as OutputFailure;
      if (isOutputFailure(answer)) return answer;
      if (answer?.reading === level) return undefined;
      if (answer?.available === false) return buildUnavailableFailure(device);
      const failed = buildUnconfirmedFailure(parts, level, hasFailed ? undefined : sends);
      const unconfirmed = addAnswer(parts, command, failed, answer?.reading);
      if (hasFailed || sends >= maxSends || unconfirmed?.answer !== undefined) return unconfirmed;
    }
  };

  return {
    async send(command, { hasFailed = false } = {}) {
      underWay?.abort(OVERTAKEN);
      const own = new AbortController();
      underWay = own;
      try {
        return await sendUntilConfirmed(command, own.signal, hasFailed);
      } finally {
        if (underWay === own) underWay = undefined;
      }
    },
    isSending: () => underWay !== undefined,
    close: () => underWay?.abort(CLOSED),
  };
}

/** The answer in which the device reports the level, else the last one before its time is over, or a failure that time does not end. */
async function awaitLevel(
  { load, device, clock, poller }: PolledSenderParts,
  level: Level,
  signal: AbortSignal,
): Promise<PolledState | OutputFailure | undefined> {
  const end = addDuration(clock.now().uptime, device.confirmTimeout);
  for (let wait = FIRST_CONFIRM_WAIT; !signal.aborted && !poller.signal.aborted; wait = (wait * 2) as Duration) {
    const answer = await poller.read();
    const isOver = isOutputFailure(answer) ? answer.kind !== 'offline' : answer?.reading === level;
    const left = (end - clock.now().uptime) as Duration;
    if (isOver || left <= 0) return answer;
    await waitAbortable({ clock, wait: Math.min(wait, left) as Duration, name: `report of ${load}`, signal });
  }
  return undefined;
}

export const buildUnavailableFailure = ({ stateSource }: PolledDevice): OutputFailure => ({
  kind: 'offline',
  detail: `the device is not available (${stateSource}), so it is not switched: check its power and its network`,
});

function buildUnconfirmedFailure(
  { device, poller }: PolledSenderParts,
  level: Level | undefined,
  sends: number | undefined,
): OutputFailure {
  const reading = poller.state()?.reading;
  const answer = reading === undefined ? 'tells no state' : `reports ${formatReading(reading)}`;
  return {
    kind: 'unconfirmed',
    detail: `the device was sent ${level} ${formatTimes(sends)} and ${answer} (${device.stateSource}): check its power, its network and the configured states`,
  };
}
