/** Hears what arrives on one load's command topic and answers it: what gets through the gate and reads well is handed on, nothing else. */

import { iso, type Uptime } from '../units.ts';
import type { BrokerMessage, Clock, Log, Moment } from '../world.ts';
import type { CommandGate } from './command-gate.ts';
import { type CommandRead, commandJson, type RemoteCommand } from './commands-in.ts';

export interface CommandResult {
  readonly accepted: boolean;
  /** For the sender. */
  readonly words: string;
}

export interface CommandEarParts {
  /** The load meant, for the log. */
  readonly name: string;
  readonly gate: CommandGate<object>;
  readonly read: (payload: Uint8Array, now: Moment) => CommandRead;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** Publishes the answer. */
  readonly answer: (document: object) => void;
  /** Removes a message the broker has stored. */
  readonly forget: (topic: string) => void;
  readonly command: (command: RemoteCommand) => CommandResult;
}

/** Before `deafUntil` nothing is believed. */
export type CommandEar = (message: BrokerMessage, deafUntil: Uptime) => void;

export function createCommandEar(parts: CommandEarParts): CommandEar {
  const { name, gate, read: readCommand, clock, log, answer, forget, command } = parts;
  const say = (document: object) => answer({ time: iso(clock.now().wall), ...document });
  const refuse = (message: string, id?: string) => {
    log('warn', `command for "${name}" refused: ${message}`, { load: name });
    say({ id: id ?? null, ok: false, message });
  };

  const obey = ({ payload }: BrokerMessage): void => {
    const now = clock.now();
    const read = readCommand(payload, now);
    const { id } = read;
    const before = id === undefined ? undefined : gate.answered(id, now.uptime);
    if (before !== undefined) {
      say({ ...before, duplicate: true });
      return;
    }
    if (!read.ok) {
      refuse(read.message, id);
      return;
    }
    const { accepted, words } = command(read.command);
    const result = { id: id ?? null, ...commandJson(read.command), ok: accepted, message: words };
    log('info', `command for "${name}": ${read.command.kind}`, { load: name });
    if (id !== undefined && accepted) gate.remember(id, result, now.uptime);
    say(result);
  };

  return (message, deafUntil) => {
    const { uptime } = clock.now();
    switch (gate.judge(message, uptime)) {
      case 'nothing':
      case 'flood':
        break;
      case 'flood-begins':
        refuse('too many commands: at most 10 at once and 10 a minute; the rest is dropped');
        break;
      case 'stored':
        forget(message.topic);
        refuse('a retained command is never carried out; send it without retain');
        break;
      case 'repeated':
        refuse('a command the broker repeats is never carried out; send it anew with an id');
        break;
      case 'in':
        if (uptime < deafUntil) refuse('the link has just come up; send it again in a moment');
        else obey(message);
    }
  };
}
