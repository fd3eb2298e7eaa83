/** Parses a command from the broker and refuses it unless it is well formed, fresh and known. */

import type { Config, MqttConfig } from '../config/config.ts';
import { parseDuration } from '../domain/duration-text.ts';
import { parseInstant } from '../domain/iso-time.ts';
import { isSgReady } from '../domain/levels.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import { isLoopback } from '../domain/loopback.ts';
import type { ClockReading } from '../domain/ports.ts';
import type { Thresholds } from '../domain/thresholds.ts';
import { type Duration, hours, type Instant, inMinutes, minutes, type Percentile, seconds } from '../domain/units.ts';

export type RemoteCommand =
  | { readonly kind: 'override'; readonly level: Level; readonly for: Duration }
  | { readonly kind: 'arm'; readonly need?: Duration; readonly by?: Instant }
  | { readonly kind: 'clear' }
  | { readonly kind: 'pause'; readonly paused: boolean }
  | { readonly kind: 'thresholds'; readonly thresholds: Partial<Thresholds> };

export type ParsedCommand =
  | { readonly ok: true; readonly id?: string; readonly command: RemoteCommand }
  /** `message`: what is wrong and what is wanted. */
  | { readonly ok: false; readonly id?: string; readonly message: string };

const MAX_COMMAND_BYTES = 1_024;
/** A command with a time is valid this long, and its time may be this far ahead. */
const MAX_COMMAND_AGE = seconds(60);
const LONGEST_REMOTE_OVERRIDE = hours(24);
const FARTHEST_DEADLINE = hours(7 * 24);

const COMMAND_KEYS = ['id', 'time', 'command', 'level', 'for', 'need', 'by', 'onBelow', 'offAbove'] as const;
type CommandBody = Readonly<Partial<Record<(typeof COMMAND_KEYS)[number], unknown>>>;

/** Whether commands are accepted at all: `auto` requires a user name or a broker on this machine. */
export function acceptsCommands({ commands, usernameFile, url }: MqttConfig): boolean {
  switch (commands) {
    case 'on':
      return true;
    case 'off':
      return false;
    case 'auto':
      return usernameFile !== undefined || isLoopback(new URL(url).hostname);
  }
}

export function parseCommand(payload: Uint8Array, load: LoadConfig, now: ClockReading): ParsedCommand {
  if (payload.byteLength > MAX_COMMAND_BYTES)
    return buildRefusedCommand(`${payload.byteLength} bytes: a command has at most ${MAX_COMMAND_BYTES}`);
  const body = parseCommandJson(payload);
  if (typeof body === 'string') return buildRefusedCommand(body);

  const id = parseId(body.id);
  if (id === false) return buildRefusedCommand('id: expected a text of 1 to 64 plain characters');
  const knownId = id === undefined ? {} : { id };
  const timeMistake = checkTime(body.time, now);
  if (timeMistake !== undefined) return { ...buildRefusedCommand(timeMistake), ...knownId };
  const command = parseBodyCommand(body, load, now);
  return typeof command === 'string'
    ? { ...buildRefusedCommand(command), ...knownId }
    : { ok: true, command, ...knownId };
}

/** Refuses every command for a load that is not configured, under the command's id. */
export function refuseUnknownLoad(payload: Uint8Array, name: string, { loads }: Pick<Config, 'loads'>): ParsedCommand {
  const body = payload.byteLength > MAX_COMMAND_BYTES ? '' : parseCommandJson(payload);
  const id = typeof body === 'string' ? undefined : parseId(body.id);
  const loadNames = loads.map((load) => load.name).join(', ');
  const refused = buildRefusedCommand(
    `there is no load ${formatReceivedValue(name)}; the configuration has ${loadNames}`,
  );
  return typeof id === 'string' ? { ...refused, id } : refused;
}

const buildRefusedCommand = (message: string) => ({ ok: false, message }) as const;

/** The JSON object, with known keys only; a text is the mistake. */
function parseCommandJson(payload: Uint8Array): CommandBody | string {
  const expected = 'expected a JSON object such as {"command":"override","level":"on","for":"2h"}';
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    return `not JSON: ${expected}`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected;
  const unknown = Object.keys(value).find((key) => !(COMMAND_KEYS as readonly string[]).includes(key));
  if (unknown !== undefined)
    return `${formatReceivedValue(unknown)}: unknown key; known are ${COMMAND_KEYS.join(', ')}`;
  return value;
}

const formatReceivedValue = (value: unknown) => {
  const text = JSON.stringify(value) ?? `${value}`;
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
};

/** The beginning of a refusal: a key and its value. */
const formatKeyValue = (key: string, value: unknown) =>
  value === undefined ? `${key} is missing` : `${key} ${formatReceivedValue(value)}`;

function parseId(value: unknown): string | undefined | false {
  if (value === undefined) return undefined;
  const text = typeof value === 'number' ? `${value}` : value;
  return typeof text === 'string' && /^[\x21-\x7e]{1,64}$/.test(text) ? text : false;
}

function checkTime(time: unknown, { wall, trusted }: ClockReading): string | undefined {
  if (time === undefined) return undefined;
  const at = parseInstant(time);
  if (at === undefined)
    return `time ${formatReceivedValue(time)}: expected a time with its zone, such as 2026-03-01T12:00:00Z`;
  if (!trusted)
    return 'time: the clock here is not set yet, so the age of the command is not known; send it again later';
  if (Math.abs(wall - at) <= MAX_COMMAND_AGE) return undefined;
  return `time ${formatReceivedValue(time)}: expected within 60 s of now; the command is ${at < wall ? 'too old' : 'from the future'}`;
}

function parseBodyCommand(body: CommandBody, load: LoadConfig, now: ClockReading): RemoteCommand | string {
  switch (body.command) {
    case 'override':
      return parseOverride(body, load);
    case 'arm':
      return parseArm(body, load, now);
    case 'clear':
      return { kind: 'clear' };
    case 'pause':
    case 'resume':
      return { kind: 'pause', paused: body.command === 'pause' };
    case 'thresholds':
      return parseThresholds(body, load);
    default:
      return `${formatKeyValue('command', body.command)}: expected override, arm, clear, pause, resume or thresholds`;
  }
}

function parseOverride({ level, for: length }: CommandBody, load: LoadConfig): RemoteCommand | string {
  if (level === 'auto') return { kind: 'clear' };
  const levels = listCommandLevels(load);
  const wanted = levels.find((one) => one === level);
  if (wanted === undefined) return `${formatKeyValue('level', level)}: expected ${levels.join(', ')} or auto`;
  const time = length === undefined ? load.overrideFor : parseCommandDuration(length);
  if (time === undefined || time > LONGEST_REMOTE_OVERRIDE)
    return `for ${formatReceivedValue(length)}: expected a length such as 90s, 30m, 2h or 1h30m, up to 24h`;
  return { kind: 'override', level: wanted, for: time };
}

/** An ordered start requires the owner's consent, which `forceBelow` is. */
export function listCommandLevels(load: LoadConfig): readonly Level[] {
  if (!isSgReady(load)) return ['on', 'off'];
  return ['on', 'off', 'block', 'normal', 'recommend', ...(load.forceBelow === undefined ? [] : (['force'] as const))];
}

function parseArm({ need, by }: CommandBody, load: LoadConfig, { wall }: ClockReading): RemoteCommand | string {
  const time = need === undefined ? undefined : parseNeed(need, load);
  if (need !== undefined && (time === undefined || time < minutes(1) || time > hours(24)))
    return `need ${formatReceivedValue(need)}: expected a length such as 30m or 4h, up to 24h, or an energy such as 12kWh`;
  const at = by === undefined ? undefined : parseInstant(by);
  if (by !== undefined && (at === undefined || at <= wall || at - wall > FARTHEST_DEADLINE))
    return `by ${formatReceivedValue(by)}: expected a time with its zone, such as 2026-03-02T07:00:00Z, within the next 7 days`;
  if (load.goal === undefined && (time === undefined || at === undefined))
    return 'arm: this load has no goal, so need and by are both required';
  if (at === undefined && load.goal?.by.every((time) => time === undefined))
    return 'arm: the goal of this load names no deadline, so by is required, such as "2026-03-02T07:00:00Z"';
  return { kind: 'arm', ...(time === undefined ? {} : { need: time }), ...(at === undefined ? {} : { by: at }) };
}

/** Where the thresholds of a load may be moved: between the limits of its further levels, as in the configuration. */
export const getThresholdRange = ({ forceBelow, blockAbove }: LoadConfig) => ({
  min: forceBelow ?? 0,
  max: blockAbove ?? 100,
});

function parseThresholds({ onBelow, offAbove }: CommandBody, load: LoadConfig): RemoteCommand | string {
  const { min, max } = getThresholdRange(load);
  for (const [key, value] of Object.entries({ onBelow, offAbove }))
    if (value !== undefined && (typeof value !== 'number' || value < min || value > max))
      return `${formatKeyValue(key, value)}: expected a number within ${min} to ${max}`;
  if (Number(offAbove ?? max) < Number(onBelow ?? min))
    return `offAbove ${offAbove} is below onBelow ${onBelow}: expected at or above`;
  const thresholds = {
    ...(onBelow === undefined ? {} : { onBelow: onBelow as Percentile }),
    ...(offAbove === undefined ? {} : { offAbove: offAbove as Percentile }),
  };
  return { kind: 'thresholds', thresholds };
}

/** A running time, or the time an energy takes at the power of the load, as in the goal of a configuration. */
function parseNeed(value: unknown, { powerKw }: LoadConfig): Duration | undefined {
  const energy = typeof value === 'string' ? /^(\d{1,5}(?:\.\d{1,6})?)\s?kWh$/.exec(value)?.[1] : undefined;
  return energy === undefined ? parseCommandDuration(value) : hours(Number(energy) / powerKw);
}

/** As in the configuration; more than nothing. */
function parseCommandDuration(value: unknown): Duration | undefined {
  const length = typeof value === 'string' ? parseDuration(value) : undefined;
  return length !== undefined && length > 0 ? length : undefined;
}

/** The command as the answer repeats it. */
export function buildCommandEcho(command: RemoteCommand) {
  switch (command.kind) {
    case 'override':
      return { command: 'override', level: command.level, minutes: inMinutes(command.for) };
    case 'arm':
    case 'clear':
      return { command: command.kind };
    case 'pause':
      return { command: command.paused ? 'pause' : 'resume' };
    case 'thresholds':
      return { command: command.kind, ...command.thresholds };
  }
}
