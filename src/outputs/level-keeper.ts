/** Keeps a device at the level of its last command: repeats the command a limited number of times when the device leaves it. */

import type { Level } from '../domain/load-types.ts';
import type { Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, type Duration, minutes, seconds, subtractDuration, type Uptime } from '../domain/units.ts';
import { type CommandSender, type DeviceCommand, formatReading } from './command-sender.ts';
import { mayHaveStopped } from './compressor-rest.ts';
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
  /** A compressor whose device reports its state: once it has stopped by itself the core decides when it starts again. */
  readonly restsAfterStop: boolean;
  /** A compressor that its release stops and that reports nothing: after a lost link it is switched off for certain, and the core decides when it starts again. */
  readonly stopsUnseen?: boolean;
  /** Whether an on or off that is reported now and was not commanded is a person's. */
  readonly mayBePress: () => boolean;
  /** Whether the broker may have released the device without the agent's knowledge: then what it reports is no press. */
  readonly mayBeReleased?: () => Promise<boolean>;
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
  const { clock, link, sender, isOthers = () => false, mayBePress, report, onPress } = parts;
  const { load, log, stopsUnseen = false, mayBeReleased = async () => false } = parts;
  const sent: SentCommand = { command: undefined, confirmed: undefined, isUnconfirmed: false };
  const limit = createReassertionLimit(clock);
  const reassertion = createReassertion(parts, sent, limit);
  /** Until then a report is the device's own: of its return, or a late one of a command. */
  let quietUntil: Uptime | undefined;
  /** The level of a command that the device did not confirm: it may do so late. */
  let late: { readonly level: Level; readonly until: Uptime } | undefined;

  const beQuiet = (wait: Duration): void => {
    quietUntil = addDuration(clock.now().uptime, wait);
  };
  const isPress = (reading: DeviceReading): reading is Level => {
    if (!isLevel(reading) || isOthers() || !mayBePress()) return false;
    const { uptime } = clock.now();
    if (late?.level === reading && uptime < late.until) return false;
    return quietUntil === undefined || uptime >= quietUntil;
  };
  const judgePress = async (reading: Level): Promise<void> => {
    const { command } = sent;
    const isReleased = await mayBeReleased();
    if (sent.command !== command || link.reading() !== reading) return;
    if (isReleased) return reassertion.start();
    // A person has switched: that is kept until the core decides, which may agree and command nothing.
    sent.command = { level: reading };
    onPress(reading);
  };

  return {
    async apply(next) {
      reassertion.cancel();
      const isRepeated = sent.command?.level === next?.level && sent.command?.current?.amps === next?.current?.amps;
      const hasFailed = isRepeated && late?.level === next?.level && clock.now().uptime < (late?.until ?? 0);
      sent.command = next;
      if (next === undefined) return undefined;
      const failure = await sender.send(next, { hasFailed });
      beQuiet(COMMAND_QUIET);
      if (next.level !== undefined && failure !== undefined && failure.kind !== 'offline')
        late = { level: next.level, until: addDuration(clock.now().uptime, REASSERT_WINDOW) };
      if (failure === undefined && late?.level === next.level) late = undefined;
      if (sent.command !== next) return failure;
      if (failure === undefined) sent.confirmed = next.level;
      sent.isUnconfirmed = failure !== undefined;
      if (failure?.answer !== undefined) leaveToCore(sent, failure.answer);
      return failure;
    },
    sentLevel: () => sent.command?.level,
    checkReading(reading) {
      const { command, isUnconfirmed } = sent;
      if (command?.level !== undefined && reading !== command.level) {
        if (isPress(reading)) void judgePress(reading);
        else reassertion.start();
        return;
      }
      if (command?.level !== undefined) sent.confirmed = command.level;
      if (isLevel(reading) && (isUnconfirmed || command === undefined)) report(reading);
      sent.isUnconfirmed = false;
    },
    deviceReturned() {
      beQuiet(RETURN_QUIET);
      reassertion.start();
    },
    async resume() {
      beQuiet(RETURN_QUIET);
      if (stopsUnseen && sent.command?.level === 'on') {
        log('info', `"${load}": the broker may have stopped it; off is sent, so that it rests before it starts`, {
          load,
        });
        sent.command = { level: 'off' };
        return reassertion.resend();
      }
      const { command } = sent;
      if (isStopPossible(parts, sent)) return reassertion.start();
      if (command !== undefined && link.reading() !== command.level && !sender.isSending()) await reassertion.resend();
    },
    expectReport() {
      sent.isUnconfirmed = true;
    },
    expectRelease(wait) {
      limit.expectRelease(wait);
      beQuiet(wait);
    },
    stop() {
      reassertion.cancel();
      sent.command = undefined;
    },
  };
}

/** The last command, and what the device made of it. */
interface SentCommand {
  command: DeviceCommand | undefined;
  /** The level of the last one that the device had. */
  confirmed: Level | undefined;
  /** It has not that of `command`, or was silent since: its next report that agrees is news. */
  isUnconfirmed: boolean;
}

/** From now on what the device reports goes to the core, and nothing is sent again. */
const leaveToCore = (sent: SentCommand, reading: Level): void =>
  void Object.assign(sent, { command: undefined, confirmed: reading });

const isStopPossible = (parts: LevelKeeperParts, { command, confirmed }: SentCommand): boolean =>
  mayHaveStopped(parts, { sent: command?.level, confirmed, reading: parts.link.reading() });

/** Sends the last command again to a device that left its level. */
function createReassertion(parts: LevelKeeperParts, sent: SentCommand, limit: ReassertionLimit) {
  const { load, clock, log, link, sender, isOthers = () => false, report } = parts;
  let retryTimer: Cancel | undefined;

  const retryAt = (at: Uptime): void => {
    retryTimer?.();
    retryTimer = clock.wakeAt(at, `retry ${load}`, start);
  };
  const retryAfter = (wait: Duration) => retryAt(addDuration(clock.now().uptime, wait));
  /** The core counts a stop that was reported, and the next start. Silence is no stop: the next report is news. */
  const leaveAlone = (reading: DeviceReading | undefined): void => {
    sent.isUnconfirmed = true;
    if (reading !== 'off') return;
    retryTimer?.();
    leaveToCore(sent, reading);
    report(reading);
  };

  const start = (): void => {
    const wanted = sent.command?.level;
    const reading = link.reading();
    if (wanted === undefined || reading === wanted || sender.isSending() || !link.isOnline()) return;
    if (isOthers()) {
      retryAfter(REASSERT_WINDOW);
      return;
    }
    if (isStopPossible(parts, sent)) {
      leaveAlone(reading);
      return;
    }
    const answer = reading === undefined ? 'nothing' : formatReading(reading);
    const allowedFrom = limit.count();
    if (allowedFrom !== undefined) {
      sent.isUnconfirmed = true;
      retryAt(allowedFrom);
      report(buildFoughtFailure(answer, wanted));
      return;
    }
    log('info', `"${load}": the device reports ${answer}; ${wanted} is sent again`, { load, sent: wanted });
    void resend();
  };

  const resend = async (): Promise<void> => {
    const { command } = sent;
    if (command === undefined) return;
    const failure = await sender.send(command, { isAgain: true });
    if (sent.command !== command) return;
    sent.isUnconfirmed = failure !== undefined;
    if (failure === undefined) {
      sent.confirmed = command.level;
      if (command.level !== undefined) report(command.level);
      return;
    }
    if (failure.answer !== undefined) leaveToCore(sent, failure.answer);
    report(failure);
    if (failure.answer === undefined && failure.kind !== 'offline') retryAfter(REASSERT_WINDOW);
  };

  return { start, resend, cancel: () => retryTimer?.() };
}

type ReassertionLimit = ReturnType<typeof createReassertionLimit>;

/** How often a command is sent again to a device that leaves its level. */
function createReassertionLimit(clock: Clock) {
  let countedAt: readonly Uptime[] = [];
  let releaseExpectedUntil: Uptime | undefined;
  return {
    /** From when on the next is allowed; undefined: now. What a release by the broker causes is not counted. */
    count(): Uptime | undefined {
      const { uptime } = clock.now();
      countedAt = countedAt.filter((at) => at > subtractDuration(uptime, REASSERT_WINDOW));
      const [oldest] = countedAt;
      if (oldest !== undefined && countedAt.length >= MAX_REASSERTIONS) return addDuration(oldest, REASSERT_WINDOW);
      if (releaseExpectedUntil === undefined || uptime >= releaseExpectedUntil) countedAt = [...countedAt, uptime];
      return undefined;
    },
    expectRelease(wait: Duration): void {
      releaseExpectedUntil = addDuration(clock.now().uptime, wait);
    },
  };
}

const buildFoughtFailure = (answer: string, wanted: Level): OutputFailure => ({
  kind: 'unconfirmed',
  detail: `the device reports ${answer} after each command ${wanted}: something else switches it; find it, or give this load another output`,
});
