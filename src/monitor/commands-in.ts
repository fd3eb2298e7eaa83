/** Reads a command from the broker: refuses whatever is not well formed, fresh and known; never carries one out. */

import type { Config, Level, LoadConfig, MqttConfig } from '../config/config.ts';
import { instantOf } from '../times.ts';
import { type Duration, hours, type Instant, inMinutes, minutes, seconds } from '../units.ts';
import type { Moment } from '../world.ts';

export type RemoteCommand =
  | { readonly kind: 'override'; readonly level: Level; readonly for: Duration }
  | { readonly kind: 'arm'; readonly need?: Duration; readonly by?: Instant }
  | { readonly kind: 'clear' };

export type CommandRead =
  | { readonly ok: true; readonly id?: string; readonly command: RemoteCommand }
  /** `message`: what is wrong and what is wanted. */
  | { readonly ok: false; readonly id?: string; readonly message: string };

export const MAX_COMMAND_BYTES = 1_024;
/** A command that says when it was given counts this long, and may be this much ahead. */
const FRESH = seconds(60);
const LONGEST_OVERRIDE = hours(24);
const FARTHEST_DEADLINE = hours(7 * 24);

const KEYS = ['id', 'time', 'command', 'level', 'for', 'need', 'by'] as const;
type Said = Readonly<Partial<Record<(typeof KEYS)[number], unknown>>>;

/** Whether commands are taken at all: `auto` wants a user name or a broker on this machine. */
export function takesCommands({ commands, usernameFile, url }: MqttConfig): boolean {
  switch (commands) {
    case 'on':
      return true;
    case 'off':
      return false;
    case 'auto':
      return usernameFile !== undefined || isLoopback(new URL(url).hostname);
  }
}

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** `payload` as it came, for this load, at this moment. */
export function readCommand(payload: Uint8Array, load: LoadConfig, now: Moment): CommandRead {
  if (payload.byteLength > MAX_COMMAND_BYTES)
    return refuse(`${payload.byteLength} bytes: a command has at most ${MAX_COMMAND_BYTES}`);
  const said = objectIn(payload);
  if (typeof said === 'string') return refuse(said);

  const id = idOf(said.id);
  if (id === false) return refuse('id: expected a text of 1 to 64 plain characters');
  const known = id === undefined ? {} : { id };
  const late = lateness(said.time, now);
  if (late !== undefined) return { ...refuse(late), ...known };
  const command = commandOf(said, load, now);
  return typeof command === 'string' ? { ...refuse(command), ...known } : { ok: true, command, ...known };
}

/** For a load that is not there: refused whatever is said, under the id it came with. */
export function readForNobody(payload: Uint8Array, name: string, { loads }: Pick<Config, 'loads'>): CommandRead {
  const said = payload.byteLength > MAX_COMMAND_BYTES ? '' : objectIn(payload);
  const id = typeof said === 'string' ? undefined : idOf(said.id);
  const there = loads.map((load) => load.name).join(', ');
  const refused = refuse(`there is no load ${shown(name)}; the configuration has ${there}`);
  return typeof id === 'string' ? { ...refused, id } : refused;
}

const refuse = (message: string) => ({ ok: false, message }) as const;

/** The object said, with known keys only; a text is the mistake. */
function objectIn(payload: Uint8Array): Said | string {
  const expected = 'expected a JSON object such as {"command":"override","level":"on","for":"2h"}';
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    return `not JSON: ${expected}`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected;
  const unknown = Object.keys(value).find((key) => !(KEYS as readonly string[]).includes(key));
  if (unknown !== undefined) return `${shown(unknown)}: unknown key; known are ${KEYS.join(', ')}`;
  return value;
}

const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? `${value}`;
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
};

/** What stands under a key, as a mistake begins. */
const under = (key: string, value: unknown) => (value === undefined ? `${key} is missing` : `${key} ${shown(value)}`);

function idOf(value: unknown): string | undefined | false {
  if (value === undefined) return undefined;
  const text = typeof value === 'number' ? `${value}` : value;
  return typeof text === 'string' && /^[\x21-\x7e]{1,64}$/.test(text) ? text : false;
}

function lateness(time: unknown, { wall, trusted }: Moment): string | undefined {
  if (time === undefined) return undefined;
  const at = instantOf(time);
  if (at === undefined) return `time ${shown(time)}: expected a time with its zone, such as 2026-03-01T12:00:00Z`;
  if (!trusted)
    return 'time: the clock here is not set yet, so the age of the command is not known; send it again later';
  if (Math.abs(wall - at) <= FRESH) return undefined;
  return `time ${shown(time)}: expected within 60 s of now; the command is ${at < wall ? 'too old' : 'from the future'}`;
}

function commandOf(said: Said, load: LoadConfig, now: Moment): RemoteCommand | string {
  switch (said.command) {
    case 'override':
      return overrideOf(said, load);
    case 'arm':
      return armOf(said, load, now);
    case 'clear':
      return { kind: 'clear' };
    default:
      return `${under('command', said.command)}: expected override, arm or clear`;
  }
}

function overrideOf({ level, for: length }: Said, load: LoadConfig): RemoteCommand | string {
  if (level === 'auto') return { kind: 'clear' };
  const levels = levelsOf(load);
  const wanted = levels.find((one) => one === level);
  if (wanted === undefined) return `${under('level', level)}: expected ${levels.join(', ')} or auto`;
  const time = length === undefined ? load.overrideFor : durationOf(length);
  if (time === undefined || time > LONGEST_OVERRIDE)
    return `for ${shown(length)}: expected a length such as 90s, 30m, 2h or 1h30m, up to 24h`;
  return { kind: 'override', level: wanted, for: time };
}

/** An ordered start wants the owner's consent, which `forceBelow` is. */
function levelsOf({ output, forceBelow }: LoadConfig): readonly Level[] {
  const isSgReady = output.kind === 'sg-ready' || (output.kind === 'dry-run' && output.as === 'sg-ready');
  if (!isSgReady) return ['on', 'off'];
  return ['on', 'off', 'block', 'normal', 'recommend', ...(forceBelow === undefined ? [] : (['force'] as const))];
}

function armOf({ need, by }: Said, load: LoadConfig, { wall }: Moment): RemoteCommand | string {
  const time = need === undefined ? undefined : neededOf(need, load);
  if (need !== undefined && (time === undefined || time < minutes(1) || time > hours(24)))
    return `need ${shown(need)}: expected a length such as 30m or 4h, up to 24h, or an energy such as 12kWh`;
  const at = by === undefined ? undefined : instantOf(by);
  if (by !== undefined && (at === undefined || at <= wall || at - wall > FARTHEST_DEADLINE))
    return `by ${shown(by)}: expected a time with its zone, such as 2026-03-02T07:00:00Z, within the next 7 days`;
  if (load.goal === undefined && (time === undefined || at === undefined))
    return 'arm: this load has no goal, so need and by are both wanted';
  if (at === undefined && load.goal?.by.every((time) => time === undefined))
    return 'arm: the goal of this load names no deadline, so by is wanted, such as "2026-03-02T07:00:00Z"';
  return { kind: 'arm', ...(time === undefined ? {} : { need: time }), ...(at === undefined ? {} : { by: at }) };
}

/** A running time, or the time an energy takes at the power of the load, as in the goal of a configuration. */
function neededOf(value: unknown, { power }: LoadConfig): Duration | undefined {
  const energy = typeof value === 'string' ? /^(\d{1,5}(?:\.\d{1,6})?)\s?kWh$/.exec(value)?.[1] : undefined;
  return energy === undefined ? durationOf(value) : hours(Number(energy) / power);
}

/** `2h`, `30m`, `90s`, `1h30m`; more than nothing. */
function durationOf(value: unknown): Duration | undefined {
  if (typeof value !== 'string') return undefined;
  const parts = /^(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?$/.exec(value);
  if (parts === null) return undefined;
  const [h = 0, m = 0, s = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  const length = (hours(h) + minutes(m) + seconds(s)) as Duration;
  return length > 0 ? length : undefined;
}

/** The command as the answer repeats it. */
export function commandJson(command: RemoteCommand) {
  switch (command.kind) {
    case 'override':
      return { command: 'override', level: command.level, minutes: inMinutes(command.for) };
    case 'arm':
    case 'clear':
      return { command: command.kind };
  }
}
