/** Keeps an MQTT device at the level of its last command: sends it again when the device leaves it, within a bound. */

import type { Level } from '../domain/load-types.ts';
import type { Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, minutes, subtractDuration, type Uptime } from '../domain/units.ts';
import type { CommandSender, DeviceCommand } from './command-sender.ts';
import type { DeviceLink } from './device-link.ts';
import type { OutputFailure } from './output.ts';

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
  /** Replaces the command; undefined when the device is left to itself. */
  setCommand(command: DeviceCommand | undefined): void;
  /** Compares what the device reports with its last command. */
  checkLevel(level: Level): void;
  /** Sends the last command once more, on the output's own account: no switch for the core. */
  resend(): Promise<void>;
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
    const reported = link.reportedLevel();
    if (wanted === undefined || reported === wanted || sender.isSending()) return;
    const { uptime } = clock.now();
    reassertedAt = reassertedAt.filter((at) => at > subtractDuration(uptime, REASSERT_WINDOW));
    const [oldest] = reassertedAt;
    if (oldest !== undefined && reassertedAt.length >= MAX_REASSERTIONS) {
      isUnconfirmed = true;
      retryAt(addDuration(oldest, REASSERT_WINDOW));
      report({
        kind: 'unconfirmed',
        detail: `the device goes back to ${reported} after each command ${wanted}: something else switches it; find it, or give this load another output`,
      });
      return;
    }
    reassertedAt = [...reassertedAt, uptime];
    log('info', `"${load}": the device reports ${reported}; ${wanted} is sent again`, { load, sent: wanted });
    void resend();
  };

  const resend = async (): Promise<void> => {
    if (command === undefined) return;
    const resent = command;
    const failure = await sender.send(resent);
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
    setCommand(next) {
      retryTimer?.();
      command = next;
    },
    checkLevel(level) {
      if (command?.level !== undefined && level !== command.level) return reassert();
      if (isUnconfirmed || command === undefined) report(level);
      isUnconfirmed = false;
    },
    resend,
    stop() {
      retryTimer?.();
      command = undefined;
    },
  };
}
