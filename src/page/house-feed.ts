/** Reads the tree of one device from the broker into the documents of the page, and sends commands to it. */

import type { Broker, BrokerMessage, BrokerState, Cancel, Clock } from '../domain/ports.ts';
import { addDuration, seconds } from '../domain/units.ts';
import { buildTopics } from '../mqtt/topics.ts';
import type { HouseDocuments } from './house-documents.ts';
import type { CommandAnswer } from './page-server.ts';
import type { RunTracker } from './run-tracker.ts';

export interface HouseFeedParts {
  readonly device: string;
  readonly broker: Broker;
  /** Real time. */
  readonly clock: Clock;
  readonly documents: HouseDocuments;
  readonly runs: RunTracker;
  readonly onState: (state: BrokerState) => void;
}

export interface HouseFeed {
  start(): void;
  sendCommand(load: string, command: object): Promise<CommandAnswer>;
  stop(): Promise<void>;
}

const MAX_DOCUMENT_BYTES = 65_536;
const ANSWER_TIMEOUT = seconds(10);

/** A text that is no JSON is itself the document: `online`. */
function parsePayload(payload: Uint8Array): unknown {
  const text = new TextDecoder().decode(payload);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function createHouseFeed(parts: HouseFeedParts): HouseFeed {
  const { device, broker, clock, documents, runs, onState } = parts;
  const topics = buildTopics({ device });
  const waiting = new Map<string, (answer: CommandAnswer) => void>();
  let commandCount = 0;

  const receiveDocument = ({ topic, payload }: BrokerMessage): void => {
    if (payload.byteLength > MAX_DOCUMENT_BYTES) return;
    const path = topic.slice(topics.base.length + 1);
    const document = payload.byteLength === 0 ? null : parsePayload(payload);
    documents.set(path, document);
    runs.record(path, document);
  };
  const receiveResult = ({ payload }: BrokerMessage): void => {
    const document = payload.byteLength > MAX_DOCUMENT_BYTES ? null : parsePayload(payload);
    if (typeof document !== 'object' || document === null || !('id' in document)) return;
    const { id, ok, message } = document as { id?: unknown; ok?: unknown; message?: unknown };
    waiting.get(`${id}`)?.({ ok: ok === true, message: typeof message === 'string' ? message : '' });
  };
  const subscribe = async (): Promise<void> => {
    const { availability, signal, forecast, history, prices, totals, health, counters, info, load, plan, result } =
      topics;
    const single = [availability, signal, forecast, history, prices, totals, health, counters, info];
    await broker.subscribe(result('+'), receiveResult, { wantsRetained: false });
    for (const topic of [...single, load('+'), plan('+')])
      await broker.subscribe(topic, receiveDocument, { wantsRetained: true });
  };

  return {
    start() {
      broker.watchState((state) => {
        onState(state);
        if (state.kind === 'online' && state.denied.length === 0) void subscribe();
      });
      broker.start();
    },
    async sendCommand(load, command) {
      commandCount += 1;
      const id = `page-${clock.now().uptime.toString(36)}-${commandCount}`;
      let cancelTimeout: Cancel | undefined;
      const answered = new Promise<CommandAnswer>((resolve) => {
        waiting.set(id, resolve);
        cancelTimeout = clock.wakeAt(addDuration(clock.now().uptime, ANSWER_TIMEOUT), 'page command', () =>
          resolve({
            ok: false,
            message: 'the agent did not answer within 10 s; is it running, does it accept commands?',
          }),
        );
      });
      const isSent = await broker.publish(topics.command(load), JSON.stringify({ ...command, id }), { retain: false });
      const answer = isSent
        ? await answered
        : { ok: false, message: 'the broker did not accept the command; try again when it is back' };
      cancelTimeout?.();
      waiting.delete(id);
      return answer;
    },
    stop: () => broker.stop(),
  };
}
