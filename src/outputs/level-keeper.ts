/** Keeps an MQTT device at the level of its last command: sends it again when the device leaves it, within a bound. */

import type { Level } from '../domain/load-types.ts';
import type { Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, minutes, subtractDuration, type Uptime } from '../domain/units.ts';
import { type CommandSender, type DeviceCommand, formatReading } from './command-sender.ts';
import type { DeviceLink } from './device-link.ts';
import type { DeviceReading, OutputFailure } from './output.ts';

/** A device that leaves its level more often than this is something else's to switch. */
const MAX_REASSERTIONS = 3;
const REASSERT_WINDOW = minutes(10);

export interface LevelKeeperParts {
  readonly load: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly link: DeviceLink;
  readonly sender: CommandSender;
  readonly report: (news: Level | OutputFailure) => void;
}

export interface LevelKeeper {
  /** Replaces the command and sends it; undefined leaves the device to itself. */
  apply(command: DeviceCommand | undefined): Promise<OutputFailure | undefined>;
  /** The level sent last. */
  told(): Level | undefined;
  /** Compares what the device reports with its last command. */
  checkReading(reading: DeviceReading): void;
  /** After the device was gone: sends the last command once more, within the bound; no switch for the core. */
  reassert(): void;
  /** After the broker was gone: the same without the bound, unless the device has the level. */
  resume(): Promise<void>;
  stop(): void;
}

export function createLevelKeeper({ load, clock, log, link, sender, report }: LevelKeeperParts): LevelKeeper {
  let command: DeviceCommand | undefined;
  let reassertedAt: readonly Uptime[] = [];
  let isUnconfirmed = false;
  let retryTimer: Cancel | undefined;

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
    reassertedAt = reassertedAt.filter((at) => at > subtractDuration(uptime, REASSERT_WINDOW));
    const [oldest] = reassertedAt;
    if (oldest !== undefined && reassertedAt.length >= MAX_REASSERTIONS) {
      isUnconfirmed = true;
      retryAt(addDuration(oldest, REASSERT_WINDOW));
      report({
        kind: 'unconfirmed',
        detail: `the device reports ${answer} after each command ${wanted}: something else switches it; find it, or give this load another output`,
      });
      return;
    }
    reassertedAt = [...reassertedAt, uptime];
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
      if (command === next) isUnconfirmed = failure !== undefined;
      return failure;
    },
    told: () => command?.level,
    checkReading(reading) {
      if (command?.level !== undefined && reading !== command.level) return reassert();
      if (reading !== 'other' && (isUnconfirmed || command === undefined)) report(reading);
      isUnconfirmed = false;
    },
    reassert,
    async resume() {
      if (command !== undefined && link.reading() !== command.level && !sender.isSending()) await resend();
    },
    stop() {
      retryTimer?.();
      command = undefined;
    },
  };
}
