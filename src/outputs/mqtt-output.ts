/** A load behind an MQTT device: sends commands, waits for the device's word, sends again what it does not keep; never decides the level. */

import type { Level, MqttOutputConfig } from '../domain/load-types.ts';
import type { Broker, BrokerMessage, BrokerState, Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, type Duration, minutes, seconds, subtractDuration, type Uptime } from '../domain/units.ts';
import type { DeviceLease } from './device-lease.ts';
import { parseDeviceState } from './devices/parse-device-state.ts';
import type { Output, OutputFailure } from './output.ts';

/** For the link and the first state at the start; then the agent goes on without. */
export const OPEN_TIMEOUT = seconds(3);
/** For the device's word on a command. */
export const CONFIRM_TIMEOUT = seconds(5);
/** Sends of one command: the first and three more. */
const MAX_COMMAND_SENDS = 4;
/** A device that leaves its level more often than this is not fought with. */
const MAX_REASSERTIONS = 3;
const REASSERT_WINDOW = minutes(10);

export interface MqttOutputParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: DeviceLease;
  /** Sends of one command; `SENDS` unless a person waits for the end of it. */
  readonly maxSends?: number;
}

/** What the device was last told: a level, or to look after itself. */
type DeviceCommand = { readonly payload: string; readonly level?: Level };

export function createMqttOutput(parts: MqttOutputParts): Output {
  const { load, config, broker, clock, log, lease, maxSends = MAX_COMMAND_SENDS } = parts;
  const { commandTopic, stateTopic } = config;
  /** Called at each word of the device and each change of the link. */
  const listeners = new Set<() => void>();
  let report: (news: Level | OutputFailure) => void = () => {};
  let lastCommand: DeviceCommand | undefined;
  /** Counts what was told: a send that finds another number has been overtaken. */
  let commandNumber = 0;
  let sendsUnderWay = 0;
  let reportedLevel: Level | undefined;
  let hasReported = false;
  let wasOnline = false;
  let unwatch: Cancel | undefined;
  let retryTimer: Cancel | undefined;
  let reassertedAt: readonly Uptime[] = [];
  let isUnconfirmed = false;
  /** What is heard until then is the answer of `open`. */
  let isOpened = false;
  let isClosed = false;

  const buildFailure = (kind: OutputFailure['kind'], detail: string): OutputFailure => ({ kind, detail });
  const buildOfflineFailure = () =>
    buildFailure('offline', 'the broker is away, so the device was not told; it will be as soon as the broker is back');
  const notifyListeners = () => {
    for (const go of [...listeners]) go();
  };

  /** Resolves at once when `done`, else after news make it so or after `length`. */
  const waitFor = (done: () => boolean, length: Duration): Promise<void> =>
    new Promise((resolve) => {
      if (done()) return resolve();
      const end = () => {
        listeners.delete(checkDone);
        cancelTimeout();
        resolve();
      };
      const checkDone = () => {
        if (done()) end();
      };
      listeners.add(checkDone);
      const cancelTimeout = clock.wakeAt(addDuration(clock.now().uptime, length), `word of ${load}`, end);
    });

  const receiveState = ({ payload }: BrokerMessage): void => {
    if (isClosed) return;
    const level = parseDeviceState(payload, config);
    if (level === undefined) {
      log('debug', `"${load}": the state on ${stateTopic} says neither on nor off`, { load });
      return;
    }
    hasReported = true;
    reportedLevel = level;
    notifyListeners();
    if (sendsUnderWay === 0) checkReportedLevel(level);
  };

  /** Outside a send, a word of the device that differs from what it was told is answered with the command again. */
  const checkReportedLevel = (level: Level): void => {
    const wanted = lastCommand?.level;
    if (wanted !== undefined && level !== wanted) {
      reassert();
      return;
    }
    if (isUnconfirmed || (lastCommand === undefined && isOpened)) report(level);
    isUnconfirmed = false;
  };

  const reassert = (): void => {
    const wanted = lastCommand?.level;
    if (isClosed || wanted === undefined || reportedLevel === wanted || sendsUnderWay > 0) return;
    const { uptime } = clock.now();
    reassertedAt = reassertedAt.filter((at) => at > subtractDuration(uptime, REASSERT_WINDOW));
    const [oldest] = reassertedAt;
    if (oldest !== undefined && reassertedAt.length >= MAX_REASSERTIONS) {
      isUnconfirmed = true;
      retryAt(addDuration(oldest, REASSERT_WINDOW));
      report(
        buildFailure(
          'unconfirmed',
          `the device goes back to ${reportedLevel} each time it is told ${wanted}: something else switches it; find it, or give this load another output`,
        ),
      );
      return;
    }
    reassertedAt = [...reassertedAt, uptime];
    log('info', `"${load}": the device says ${reportedLevel}, it is told ${wanted} again`, { load, told: wanted });
    void resend();
  };

  const retryAt = (at: Uptime): void => {
    retryTimer?.();
    retryTimer = clock.wakeAt(at, `retry ${load}`, reassert);
  };

  /** What the device was last told, on the output's own account: no switch for the core. */
  const resend = async (): Promise<void> => {
    if (lastCommand === undefined) return;
    const command = lastCommand;
    const failure = await send(command);
    if (lastCommand !== command || isClosed) return;
    if (failure === undefined) {
      isUnconfirmed = false;
      if (command.level !== undefined) report(command.level);
      return;
    }
    isUnconfirmed = true;
    report(failure);
    if (failure.kind !== 'offline') retryAt(addDuration(clock.now().uptime, REASSERT_WINDOW));
  };

  const send = async (command: DeviceCommand): Promise<OutputFailure | undefined> => {
    const ownNumber = ++commandNumber;
    sendsUnderWay += 1;
    try {
      return await sendUntilConfirmed(command, () => ownNumber === commandNumber && !isClosed);
    } finally {
      sendsUnderWay -= 1;
    }
  };

  const sendUntilConfirmed = async (
    command: DeviceCommand,
    isCurrent: () => boolean,
  ): Promise<OutputFailure | undefined> => {
    let isAccepted = false;
    for (let sends = 0; sends < maxSends; sends += 1) {
      const other = lease.otherHolder();
      if (other !== undefined) return buildFailure('busy', formatOtherHolder(other));
      if (broker.state.kind !== 'online') return buildOfflineFailure();
      isAccepted = await broker.publish(commandTopic, command.payload, { retain: false });
      if (!isCurrent()) return buildFailure('io', 'the command was overtaken by a later one');
      if (!isAccepted) continue;
      if (stateTopic === undefined || command.level === undefined || reportedLevel === command.level) return undefined;
      await waitFor(
        () => reportedLevel === command.level || !isCurrent() || broker.state.kind !== 'online',
        CONFIRM_TIMEOUT,
      );
      if (!isCurrent()) return buildFailure('io', 'the command was overtaken by a later one');
      if (reportedLevel === command.level) return undefined;
    }
    if (!isAccepted)
      return buildFailure(
        'forbidden',
        `the broker does not take commands on ${commandTopic}: let this user write that topic`,
      );
    return buildFailure(
      'unconfirmed',
      `the device was told ${command.level} ${maxSends} times and ${reportedLevel === undefined ? 'says nothing' : `says ${reportedLevel}`} on ${stateTopic}: check its power, its network and the topics`,
    );
  };

  const watchLink = async (): Promise<void> => {
    if (unwatch !== undefined) return;
    isClosed = false;
    unwatch = broker.watchState(onLinkState);
    wasOnline = broker.state.kind === 'online';
    if (wasOnline) await resume();
  };

  const onLinkState = (state: BrokerState): void => {
    notifyListeners();
    const isOnline = state.kind === 'online';
    if (isOnline && !wasOnline) void resume();
    wasOnline = isOnline;
  };

  const resume = async (): Promise<void> => {
    if (stateTopic !== undefined) await broker.subscribe(stateTopic, receiveState, { wantsRetained: true });
    await lease.acquire();
    if (!isClosed && lastCommand !== undefined && sendsUnderWay === 0) await resend();
  };

  return {
    async open() {
      await watchLink();
      if (stateTopic !== undefined)
        await waitFor(() => hasReported || isClosed || broker.state.kind === 'offline', OPEN_TIMEOUT);
      isOpened = true;
      const other = lease.otherHolder();
      if (other !== undefined) return buildFailure('busy', formatOtherHolder(other));
      return reportedLevel === undefined ? {} : { level: reportedLevel };
    },
    async apply(level) {
      const next: DeviceCommand = { payload: getCommandPayload(load, config, level), level };
      await watchLink();
      retryTimer?.();
      lastCommand = next;
      return send(next);
    },
    read: async () => (broker.state.kind === 'online' ? reportedLevel : undefined),
    watch(listener) {
      report = listener;
    },
    async release() {
      retryTimer?.();
      lastCommand =
        config.releasePayload === undefined ? undefined : { payload: requirePayload(load, config.releasePayload) };
      if (lastCommand !== undefined) await send(lastCommand);
    },
    async close() {
      isClosed = true;
      unwatch?.();
      unwatch = undefined;
      retryTimer?.();
      notifyListeners();
      await lease.release();
    },
  };
}

const formatOtherHolder = (other: string) =>
  `the device is switched by the agent "${other}", so this one leaves it alone: give each load to one agent only`;

function getCommandPayload(load: string, config: MqttOutputConfig, level: Level): string {
  if (level === 'on') return requirePayload(load, config.onPayload);
  if (level === 'off') return requirePayload(load, config.offPayload);
  throw new Error(`load ${load}: an MQTT device knows on and off, not "${level}"`);
}

/** Some devices take an empty command for a question (Tasmota) and a broker takes it for forgetting. */
function requirePayload(load: string, payload: string): string {
  if (payload === '') throw new Error(`load ${load}: an empty MQTT payload is no command`);
  return payload;
}
