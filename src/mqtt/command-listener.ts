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
  /** Publishes the answer to a command. */
  readonly publishAnswer: (document: object, to: BrokerMessage) => void;
  /** Removes a message the broker has stored. */
  readonly clearRetained: (topic: string) => void;
  /** Resolves once the command outlives a power cut. */
  readonly onCommand: (command: RemoteCommand) => Promise<CommandResult>;
}

/** Before `ignoreUntil` every command is refused. */
export type CommandListener = (message: BrokerMessage, ignoreUntil: Uptime) => void;

export function createCommandListener(parts: CommandListenerParts): CommandListener {
  const { load, limiter, parse, clock, log, publishAnswer, clearRetained, onCommand } = parts;
  const sendAnswer = (to: BrokerMessage, document: object) =>
    publishAnswer({ time: formatInstant(clock.now().wall), ...document }, to);
  const refuse = (to: BrokerMessage, message: string, id?: string) => {
    log('warn', `command for "${load}" refused: ${message}`, { load });
    sendAnswer(to, { id: id ?? null, ok: false, message });
  };

  /** By their id, the commands that have no answer yet: the same one sent again waits for it. */
  const running = new Map<string, Promise<void>>();

  const executeCommand = async (message: BrokerMessage): Promise<void> => {
    const parsed = parse(message.payload, clock.now());
    const { id } = parsed;
    if (id === undefined) return answerParsed(message, parsed);
    // Set before anything is awaited: two of one id may arrive in the same moment.
    const execution = (running.get(id) ?? Promise.resolve()).then(() => answerParsed(message, parsed));
    running.set(id, execution);
    await execution;
    if (running.get(id) === execution) running.delete(id);
  };

  const answerParsed = async (message: BrokerMessage, parsed: ParsedCommand): Promise<void> => {
    const { id } = parsed;
    const earlierAnswer = id === undefined ? undefined : limiter.findAnswer(id, clock.now().uptime);
    if (earlierAnswer !== undefined) sendAnswer(message, { ...earlierAnswer, duplicate: true });
    else if (!parsed.ok) refuse(message, parsed.message, id);
    else await answerCommand(message, parsed.command, id);
  };

  const answerCommand = async (to: BrokerMessage, command: RemoteCommand, id: string | undefined): Promise<void> => {
    const { accepted, text } = await onCommand(command);
    const { uptime } = clock.now();
    const result = { id: id ?? null, ...buildCommandEcho(command), ok: accepted, message: text };
    log('info', `command for "${load}": ${command.kind}`, { load });
    if (id !== undefined && accepted) limiter.rememberAnswer(id, result, uptime);
    sendAnswer(to, result);
  };

  return (message, ignoreUntil) => {
    const { uptime } = clock.now();
    switch (limiter.classifyMessage(message, uptime)) {
      case 'nothing':
      case 'flood':
        break;
      case 'flood-begins':
        refuse(message, 'too many commands: at most 10 at once and 10 a minute; the rest is dropped');
        break;
      case 'stored':
        clearRetained(message.topic);
        refuse(message, 'a retained command is never carried out; send it without retain');
        break;
      case 'repeated':
        refuse(message, 'a command the broker repeats is never carried out; send it anew with an id');
        break;
      case 'in':
        if (uptime < ignoreUntil)
          refuse(
            message,
            'the link has just come up; send it again in a moment',
            parse(message.payload, clock.now()).id,
          );
        else void executeCommand(message);
    }
  };
}
