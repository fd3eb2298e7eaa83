/** Keeps a device at the level of its last command: repeats the command a limited number of times when the device leaves it. */

import type { Level } from '../domain/load-types.ts';
import type { Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, type Duration, minutes, seconds, subtractDuration, type Uptime } from '../domain/units.ts';
import { type CommandSender, type DeviceCommand, formatReading } from './command-sender.ts';
import type { DeviceLink } from './device-link.ts';
import type { DeviceReading, OutputFailure } from './output.ts';

/** A device that leaves its level more often than this is something else's to switch. */
const MAX_REASSERTIONS = 3;
const REASSERT_WINDOW = minutes(10);
/** A device that is back reports what it fell to; the echo of a command may come late. */
const RETURN_QUIET = seconds(10);
const COMMAND_QUIET = seconds(2);

export interface LevelKeeperParts {
  readonly load: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly link: Pick<DeviceLink, 'reading' | 'isOnline'>;
  readonly sender: CommandSender;
  /** Whether another agent switches the device now: then no report is a press, and nothing is sent again. */
  readonly isOthers?: () => boolean;
  /** Whether an on or off that is reported now and was not commanded is a person's. */
  readonly mayBePress: () => boolean;
  readonly report: (update: Level | OutputFailure) => void;
  readonly onPress: (level: Level) => void;
}

export interface LevelKeeper {
  /** Replaces the command and sends it; undefined leaves the device to itself. */
  apply(command: DeviceCommand | undefined): Promise<OutputFailure | undefined>;
  /** The level sent last. */
  sentLevel(): Level | undefined;
  /** Compares what the device reports with its last command. */
  checkReading(reading: DeviceReading): void;
  /** Sends the last command to a device that is back, within the bound; no switch for the core. */
  deviceReturned(): void;
  /** After a lost link, or a release of the device: sends the level without the limit, unless the device has it. */
  resume(): Promise<void>;
  /** The broker may release the device within `wait`: what it then reports is neither a press nor its own doing. */
  expectRelease(wait: Duration): void;
  /** The device is silent: its next report that agrees is news. */
  expectReport(): void;
  stop(): void;
}

const isLevel = (reading: DeviceReading): reading is Level => reading !== 'other' && reading !== 'other-current';

export function createLevelKeeper(parts: LevelKeeperParts): LevelKeeper {
  const { load, clock, log, link, sender, isOthers = () => false, mayBePress, report, onPress } = parts;
  let command: DeviceCommand | undefined;
  let reassertedAt: readonly Uptime[] = [];
  let isUnconfirmed = false;
  let retryTimer: Cancel | undefined;
  /** Until then a report is the device's own: of its return, or a late one of a command. */
  let quietUntil: Uptime | undefined;
  let releaseExpectedUntil: Uptime | undefined;

  const isPress = (reading: DeviceReading): reading is Level => {
    if (!isLevel(reading) || isOthers() || !mayBePress()) return false;
    return quietUntil === undefined || clock.now().uptime >= quietUntil;
  };

  const retryAt = (at: Uptime): void => {
    retryTimer?.();
    retryTimer = clock.wakeAt(at, `retry ${load}`, reassert);
  };

  const reassert = (): void => {
    const wanted = command?.level;
    const reading = link.reading();
    if (wanted === undefined || reading === wanted || sender.isSending() || !link.isOnline()) return;
    const answer = reading === undefined ? 'nothing' : formatReading(reading);
    const { uptime } = clock.now();
    if (isOthers()) {
      retryAt(addDuration(uptime, REASSERT_WINDOW));
      return;
    }
    reassertedAt = reassertedAt.filter((at) => at > subtractDuration(uptime, REASSERT_WINDOW));
    const [oldest] = reassertedAt;
    if (oldest !== undefined && reassertedAt.length >= MAX_REASSERTIONS) {
      isUnconfirmed = true;
      retryAt(addDuration(oldest, REASSERT_WINDOW));
      report(buildFoughtFailure(answer, wanted));
      return;
    }
    if (releaseExpectedUntil === undefined || uptime >= releaseExpectedUntil) reassertedAt = [...reassertedAt, uptime];
    log('info', `"${load}": the device reports ${answer}; ${wanted} is sent again`, { load, sent: wanted });
    void resend();
  };

  const resend = async (): Promise<void> => {
    if (command === undefined) return;
    const resent = command;
    const failure = await sender.send(resent, { isAgain: true });
    if (command !== resent) return;
    isUnconfirmed = failure !== undefined;
    if (failure === undefined) {
      if (resent.level !== undefined) report(resent.level);
      return;
    }
    report(failure);
    if (failure.kind !== 'offline') retryAt(addDuration(clock.now().uptime, REASSERT_WINDOW));
  };

  return {
    async apply(next) {
      retryTimer?.();
      command = next;
      if (next === undefined) return undefined;
      const failure = await sender.send(next);
      quietUntil = addDuration(clock.now().uptime, COMMAND_QUIET);
      if (command === next) isUnconfirmed = failure !== undefined;
      return failure;
    },
    sentLevel: () => command?.level,
    checkReading(reading) {
      if (command?.level !== undefined && reading !== command.level) {
        if (!isPress(reading)) return reassert();
        // A person has switched: no command until the core has decided on it.
        command = undefined;
        onPress(reading);
        return;
      }
      if (isLevel(reading) && (isUnconfirmed || command === undefined)) report(reading);
      isUnconfirmed = false;
    },
    deviceReturned() {
      quietUntil = addDuration(clock.now().uptime, RETURN_QUIET);
      reassert();
    },
    async resume() {
      quietUntil = addDuration(clock.now().uptime, RETURN_QUIET);
      if (command !== undefined && link.reading() !== command.level && !sender.isSending()) await resend();
    },
    expectReport() {
      isUnconfirmed = true;
    },
    expectRelease(wait) {
      releaseExpectedUntil = addDuration(clock.now().uptime, wait);
      quietUntil = releaseExpectedUntil;
    },
    stop() {
      retryTimer?.();
      command = undefined;
    },
  };
}

const buildFoughtFailure = (answer: string, wanted: Level): OutputFailure => ({
  kind: 'unconfirmed',
  detail: `the device reports ${answer} after each command ${wanted}: something else switches it; find it, or give this load another output`,
});
