/** Sends one command at a time to an MQTT device and repeats it until the device confirms. */

import { formatDuration } from '../domain/duration-text.ts';
import type { DeviceCurrent, Level, LoadCurrent, MqttOutputConfig } from '../domain/load-types.ts';
import type { Broker } from '../domain/ports.ts';
import { milliseconds, seconds } from '../domain/units.ts';
import { addAnswer } from './compressor-rest.ts';
import type { DeviceLink } from './device-link.ts';
import type { DeviceLease, DeviceReading, OutputFailure } from './output.ts';

/** For the device's report after a command. */
export const CONFIRM_TIMEOUT = seconds(5);
/** For a charger that was lowered and does not report its current; a vehicle follows the charger within five seconds (IEC 61851-1). */
const UNREPORTED_CURRENT_WAIT = seconds(10);
/** Sends of one command: the first and three more. */
export const MAX_COMMAND_SENDS = 4;

/** A level; without one the release of the device. */
export interface DeviceCommand {
  readonly level?: Level;
  /** Of a charger that is lowered. */
  readonly current?: LoadCurrent | undefined;
}

export interface CommandSenderParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly lease: DeviceLease;
  readonly link: DeviceLink;
  /** Each "on" may start a compressor, also one after which the device reports "off". */
  readonly restsAfterStop: boolean;
  readonly maxSends?: number;
}

interface SendOptions {
  /** It is confirmed by a new report only. */
  readonly isAgain?: boolean;
  /** The device has not confirmed it lately: it is sent once more, not in a round. */
  readonly hasFailed?: boolean;
}

export interface CommandSender {
  /** Resolves when the device has confirmed the command as far as it can. A later command ends it. */
  send(command: DeviceCommand, options?: SendOptions): Promise<OutputFailure | undefined>;
  isSending(): boolean;
  /** Ends the command under way, the last one. */
  close(): void;
}

export function createCommandSender(parts: CommandSenderParts): CommandSender {
  const { config, broker, link, maxSends = MAX_COMMAND_SENDS } = parts;
  const { commandTopic, stateTopic } = config;
  let commandNumber = 0;
  let endedBy = OVERTAKEN;
  let sendsUnderWay = 0;

  const sendOnce = async (command: DeviceCommand, isFirst: boolean, isCurrent: () => boolean, sends?: number) => {
    const { level, current } = command;
    const lowered = config.lowerCurrents?.find(({ amps }) => amps === current?.amps);
    const { payload, before } = getMessages(parts, level, lowered);
    const obstacle = findObstacle(parts);
    if (obstacle !== undefined) return obstacle;
    link.expectLevel(level, lowered);
    const reportsBefore = link.reportCount();
    if (before !== undefined) await broker.publish(before.topic, before.payload, { retain: false });
    if (!isCurrent()) return endedBy;
    const isAccepted = await broker.publish(commandTopic, payload, { retain: false });
    if (!isCurrent()) return endedBy;
    const isReported = link.reading() === level && link.reportCount() > reportsBefore;
    // An acknowledgement may be lost; what the device reports says more.
    if (!isAccepted && !isReported) return buildRefusedFailure(commandTopic, isDenied(broker, commandTopic));
    if (stateTopic === undefined || level === undefined) return undefined;
    // A command that is sent again is confirmed by a new report only; some devices report nothing that does not change.
    if (!isFirst) await link.query();
    const isConfirmed = () => link.reading() === level && (isFirst || link.reportCount() > reportsBefore);
    const isCurrentProven = () => lowered === undefined || link.isCurrentKnown();
    const wait = isCurrentProven() ? CONFIRM_TIMEOUT : UNREPORTED_CURRENT_WAIT;
    await link.waitUntil(() => (isConfirmed() && isCurrentProven()) || !isCurrent() || !link.isOnline(), wait);
    if (!isCurrent()) return endedBy;
    return isConfirmed() ? undefined : buildDisagreementFailure(level, sends, { stateTopic, reading: link.reading() });
  };

  return {
    async send(command, { isAgain = false, hasFailed = false } = {}) {
      const mostSends = hasFailed ? 1 : maxSends;
      commandNumber += 1;
      const ownNumber = commandNumber;
      sendsUnderWay += 1;
      let failure: OutputFailure | undefined;
      try {
        for (let sends = 1; sends <= mostSends; sends += 1) {
          const reportsBefore = link.reportCount();
          const isFirst = sends === 1 && !isAgain && !hasFailed;
          failure = await sendOnce(command, isFirst, () => ownNumber === commandNumber, hasFailed ? undefined : sends);
          if (link.reportCount() > reportsBefore) failure = addAnswer(parts, command, failure, link.reading());
          if (!maySendAgain(failure)) return failure;
        }
        return failure;
      } finally {
        sendsUnderWay -= 1;
      }
    },
    isSending: () => sendsUnderWay > 0,
    close() {
      commandNumber += 1;
      endedBy = CLOSED;
    },
  };
}

/** Why nothing can be sent now. */
function findObstacle({ config, lease, link }: CommandSenderParts): OutputFailure | undefined {
  const other = lease.otherHolder();
  if (other !== undefined) return buildBusyFailure(other);
  if (!link.isOnline()) return OFFLINE;
  return link.isAvailable() === false ? buildGoneFailure(config) : undefined;
}

const maySendAgain = (failure: OutputFailure | undefined): boolean =>
  failure?.answer === undefined && (failure?.kind === 'unconfirmed' || failure?.kind === 'forbidden');

/** Some devices answer an empty command as a question (Tasmota), and a broker forgets what it stored. */
function getMessages({ load, config }: CommandSenderParts, level: Level | undefined, lowered?: DeviceCurrent) {
  const { offPayload, releasePayload = '' } = config;
  const { onPayload, beforeOn } = lowered ?? config;
  if (level !== undefined && level !== 'on' && level !== 'off')
    throw new Error(`load ${load}: an MQTT device has the levels on and off, not "${level}"`);
  const payload = level === undefined ? releasePayload : level === 'on' ? onPayload : offPayload;
  if (payload === '') throw new Error(`load ${load}: an empty MQTT payload is no command`);
  return { payload, before: level === 'on' ? beforeOn : undefined };
}

function buildDisagreementFailure(
  level: Level,
  sends: number | undefined,
  { stateTopic, reading }: { readonly stateTopic: string; readonly reading: DeviceReading | undefined },
): OutputFailure {
  const answer = reading === undefined ? 'reports nothing' : `reports ${formatReading(reading)}`;
  return buildFailure(
    'unconfirmed',
    `the device was sent ${level} ${formatTimes(sends)} and ${answer} on ${stateTopic}: check its power, its network and the topics`,
  );
}

const buildFailure = (kind: OutputFailure['kind'], detail: string): OutputFailure => ({ kind, detail });

export const OVERTAKEN = buildFailure('io', 'a later command replaced this one');
export const CLOSED = buildFailure('io', 'the agent ended before the device confirmed it');
const OFFLINE = buildFailure(
  'offline',
  'the broker is offline, so the device was not switched; the command is sent when the broker is back',
);

const isDenied = ({ state }: Broker, topic: string) =>
  state.kind === 'online' && state.denied.some((action) => action.endsWith(` ${topic}`));

/** For people; undefined: once more. */
export const formatTimes = (count: number | undefined) =>
  count === undefined ? 'again' : count === 1 ? 'once' : `${count} times`;

/** A refusal by the broker and a missing acknowledgement have different cures. */
const buildRefusedFailure = (topic: string, isDeniedTopic: boolean) =>
  isDeniedTopic
    ? buildFailure('forbidden', `the broker denies commands on ${topic}: let this user write that topic`)
    : buildFailure(
        'unconfirmed',
        `the broker did not acknowledge the command on ${topic}: check the broker and its log`,
      );

/** For people. */
export function formatReading(reading: DeviceReading): string {
  if (reading === 'other-current') return 'on, with another current than commanded';
  return reading === 'other' ? 'a mode or a current of its own' : reading;
}

export const buildGoneFailure = ({ availability }: MqttOutputConfig) =>
  buildFailure(
    'offline',
    `the device reports itself offline on ${availability?.topic}, so it is not switched; the command is sent when it is back: check its power and its network`,
  );

export const buildSilentFailure = ({ stateTopic, stateMaxAge = milliseconds(0) }: MqttOutputConfig) =>
  buildFailure(
    'offline',
    `the device has reported nothing on ${stateTopic} for ${formatDuration(stateMaxAge)}: check its power and its network`,
  );

export const buildBusyFailure = (other: string) =>
  buildFailure(
    'busy',
    `the agent "${other}" switches the device, so this one leaves it alone: give each load to one agent only`,
  );
