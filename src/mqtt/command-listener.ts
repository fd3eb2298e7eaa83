/** Answers the messages on one load's command topic and forwards the valid ones. */

import type { BrokerMessage, Clock, ClockReading, Log } from '../domain/ports.ts';
import { formatInstant, type Uptime } from '../domain/units.ts';
import type { CommandLimiter } from './command-limiter.ts';
import { buildCommandEcho, type ParsedCommand, type RemoteCommand } from './parse-command.ts';

export interface CommandResult {
  readonly accepted: boolean;
  /** For the sender. */
  readonly text: string;
}

export interface CommandListenerParts {
  /** For the log. */
  readonly load: string;
  readonly limiter: CommandLimiter<object>;
  readonly parse: (payload: Uint8Array, now: ClockReading) => ParsedCommand;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** Publishes the answer. */
  readonly publishAnswer: (document: object) => void;
  /** Removes a message the broker has stored. */
  readonly clearRetained: (topic: string) => void;
  /** Resolves once the command outlives a power cut. */
  readonly onCommand: (command: RemoteCommand) => Promise<CommandResult>;
}

/** Before `ignoreUntil` every command is refused. */
export type CommandListener = (message: BrokerMessage, ignoreUntil: Uptime) => void;

export function createCommandListener(parts: CommandListenerParts): CommandListener {
  const { load, limiter, parse, clock, log, publishAnswer, clearRetained, onCommand } = parts;
  const sendAnswer = (document: object) => publishAnswer({ time: formatInstant(clock.now().wall), ...document });
  const refuse = (message: string, id?: string) => {
    log('warn', `command for "${load}" refused: ${message}`, { load });
    sendAnswer({ id: id ?? null, ok: false, message });
  };

  /** By their id, the commands that have no answer yet: the same one sent again waits for it. */
  const running = new Map<string, Promise<void>>();

  const executeCommand = async ({ payload }: BrokerMessage): Promise<void> => {
    const now = clock.now();
    const parsed = parse(payload, now);
    const { id } = parsed;
    if (id !== undefined) await running.get(id);
    const earlierAnswer = id === undefined ? undefined : limiter.findAnswer(id, now.uptime);
    if (earlierAnswer !== undefined) {
      sendAnswer({ ...earlierAnswer, duplicate: true });
      return;
    }
    if (!parsed.ok) {
      refuse(parsed.message, id);
      return;
    }
    const execution = answerCommand(parsed.command, id);
    if (id !== undefined) running.set(id, execution);
    await execution;
    if (id !== undefined) running.delete(id);
  };

  const answerCommand = async (command: RemoteCommand, id: string | undefined): Promise<void> => {
    const { accepted, text } = await onCommand(command);
    const { uptime } = clock.now();
    const result = { id: id ?? null, ...buildCommandEcho(command), ok: accepted, message: text };
    log('info', `command for "${load}": ${command.kind}`, { load });
    if (id !== undefined && accepted) limiter.rememberAnswer(id, result, uptime);
    sendAnswer(result);
  };

  return (message, ignoreUntil) => {
    const { uptime } = clock.now();
    switch (limiter.classifyMessage(message, uptime)) {
      case 'nothing':
      case 'flood':
        break;
      case 'flood-begins':
        refuse('too many commands: at most 10 at once and 10 a minute; the rest is dropped');
        break;
      case 'stored':
        clearRetained(message.topic);
        refuse('a retained command is never carried out; send it without retain');
        break;
      case 'repeated':
        refuse('a command the broker repeats is never carried out; send it anew with an id');
        break;
      case 'in':
        if (uptime < ignoreUntil) refuse('the link has just come up; send it again in a moment');
        else void executeCommand(message);
    }
  };
}
