/** The relay's part with maps: asks for each once a week, unless another relay has, and publishes it in signed pieces. */

import { pipeline, Readable } from 'node:stream';
import { createDeflateRaw } from 'node:zlib';
import { waitAbortable } from '../domain/abortable-wait.ts';
import { createPoller } from '../domain/poller.ts';
import { type BrokerMessage, HttpError } from '../domain/ports.ts';
import { type Duration, days, formatCount, hours, milliseconds, minutes, seconds } from '../domain/units.ts';
import { buildMapTopic } from '../mqtt/topics.ts';
import type { MapStream } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import { failureText } from '../service/failure-text.ts';
import { decodeMapMessage, encodeMapMessage, type MapHeader, PIECE_BYTES } from './map-message.ts';
import { STORED_MESSAGE_WAIT } from './signal-channel.ts';
import type { SignalPublisherParts } from './signal-publisher.ts';

export interface MapPublisherParts extends Omit<SignalPublisherParts, 'service' | 'signals'> {
  readonly service: Pick<ServiceClient, 'map'>;
}

const MAP_POLL_WAIT = days(7);
const MAP_RETRY = hours(1);
const LINK_RETRY = minutes(1);
/** Relays ask in turn: after a start, when the link has come back, and when the map has become old. */
const FIRST_MAP_TURN = seconds(30);
const MAP_TURN = minutes(10);
/** How soon a lost piece is noticed, and how often at most it costs a download. */
const MAP_CHECK = hours(1);

async function* cutPieces(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  for await (const bytes of compressed) {
    rest = Buffer.concat([rest, bytes]);
    for (; rest.length >= PIECE_BYTES; rest = rest.subarray(PIECE_BYTES)) yield rest.subarray(0, PIECE_BYTES);
  }
  if (rest.length > 0) yield rest;
}

/** What the broker stores of the map. `onOnline` is called when the link has come back. */
function createStoredMap(parts: MapPublisherParts, signalType: string, onOnline: () => void) {
  const { broker, clock, publicKeys, signingKey } = parts;
  const all = buildMapTopic(signalType, '+');
  /** The announcement and the pieces, by topic. */
  const headers = new Map<string, MapHeader>();
  let messageCount = 0;
  let isFollowed = false;
  let isOnline = broker.state.kind === 'online';
  const unwatch = broker.watchState(({ kind }) => {
    const wasOnline = isOnline;
    isOnline = kind === 'online';
    if (isOnline && !wasOnline) onOnline();
    if (isOnline) return;
    isFollowed = false;
    // A broker may come back without what it stored.
    headers.clear();
  });
  const receive = ({ topic, payload }: BrokerMessage) => {
    messageCount += 1;
    const message = decodeMapMessage(payload, publicKeys);
    const header = typeof message === 'string' ? undefined : message.header;
    if (header !== undefined && topic === buildMapTopic(header.signalType, header.piece ?? 'info'))
      headers.set(topic, header);
    else headers.delete(topic);
  };
  const announced = () => headers.get(buildMapTopic(signalType, 'info'));
  return {
    announced,
    /** Whether every announced piece is there. */
    isWhole(): boolean {
      const { version, pieces } = announced() ?? { pieces: 0 };
      for (let piece = 0; piece < pieces; piece++)
        if (headers.get(buildMapTopic(signalType, piece))?.version !== version) return false;
      return pieces > 0;
    },
    isFollowed: () => isFollowed,
    /** Resolves when what is stored has come; false while the broker denies it. */
    async follow(signal: AbortSignal): Promise<boolean> {
      if (isFollowed) return true;
      isFollowed = await broker.subscribe(all, receive, { wantsRetained: true, allowsLoss: true });
      for (let before = -1; isFollowed && messageCount > before && !signal.aborted; ) {
        before = messageCount;
        await waitAbortable({ clock, wait: STORED_MESSAGE_WAIT, name: all, signal });
      }
      return isFollowed;
    },
    /** Sends one message of a map; throws when it did not reach the broker, or when the link was lost since the last `follow`. */
    async send(header: MapHeader, bytes: Uint8Array): Promise<void> {
      if (!isFollowed) throw new Error('the link to the broker was lost meanwhile');
      const messageTopic = buildMapTopic(signalType, header.piece ?? 'info');
      if (!(await broker.publish(messageTopic, encodeMapMessage(header, bytes, signingKey), { retain: true })))
        throw new Error(
          `the broker did not take ${messageTopic}; check the broker, and let this user write and read it`,
        );
    },
    stop: unwatch,
  };
}
type StoredMap = ReturnType<typeof createStoredMap>;

/** Publishes the pieces, then the announcement with their number; erases what is left of the map before. */
async function publishMap(
  parts: MapPublisherParts,
  { chunks, version }: MapStream,
  { send, announced }: StoredMap,
  { signalType, signal }: { signalType: string; signal: AbortSignal },
): Promise<number> {
  const piecesBefore = announced()?.pieces ?? 0;
  const fetchedAt = parts.clock.now().wall;
  const common = { signalType, version: version ?? `${fetchedAt}`, fetchedAt };
  let pieces = 0;
  for await (const bytes of cutPieces(pipeline(Readable.from(chunks), createDeflateRaw({ level: 9 }), () => {}))) {
    if (signal.aborted) throw new Error('the relay was stopped');
    pieces += 1;
    await send({ ...common, pieces, piece: pieces - 1 }, bytes);
  }
  await send({ ...common, pieces }, new Uint8Array());
  for (let piece = pieces; piece < piecesBefore; piece++)
    await parts.broker.publish(buildMapTopic(signalType, piece), '', { retain: true });
  return pieces;
}

export function startMapPublisher(parts: MapPublisherParts, signalType: string): { stop(): void } {
  const { service, clock, random, log } = parts;
  const topic = buildMapTopic(signalType, 'info');
  const awaitTurn = () => poller.pollAfter(milliseconds(Math.floor(random.fraction() * FIRST_MAP_TURN)));
  const stored = createStoredMap(parts, signalType, awaitTurn);

  const fetchMap = async (signal: AbortSignal): Promise<Duration> => {
    const announced = stored.announced();
    const isWhole = stored.isWhole();
    if (announced !== undefined && !isWhole)
      log('warn', 'the broker does not store every announced piece of the map: asking for it anew', { topic });
    const answer = await service.map({ signalType, knownVersion: isWhole ? announced?.version : undefined });
    if (!answer.ok) {
      log('warn', `no map for the agents: ${failureText(answer.failure)}`, { topic });
      return answer.failure.kind === 'not-entitled' ? MAP_POLL_WAIT : MAP_RETRY;
    }
    if ('unchanged' in answer.value) {
      if (announced !== undefined) await stored.send({ ...announced, fetchedAt: clock.now().wall }, new Uint8Array());
      return MAP_CHECK;
    }
    const pieces = await publishMap(parts, answer.value, stored, { signalType, signal });
    log('info', `the map of ${signalType} is published in ${formatCount(pieces, 'piece')}`);
    return MAP_CHECK;
  };

  const poller = createPoller({
    clock,
    name: topic,
    async poll() {
      const { signal } = poller;
      const isFollowed = await stored.follow(signal);
      if (signal.aborted) return undefined;
      if (!isFollowed) return LINK_RETRY;
      const { fetchedAt = 0 } = stored.announced() ?? {};
      const age = clock.now().wall - fetchedAt;
      if (age >= 0 && age < MAP_POLL_WAIT && stored.isWhole())
        return milliseconds(Math.min(MAP_CHECK, MAP_POLL_WAIT - age) + random.fraction() * MAP_TURN);
      try {
        return await fetchMap(signal);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const cause = error instanceof HttpError ? error.failure.cause : error.message;
        if (!signal.aborted) log('warn', `the map was not published: ${cause}`, { topic });
        return stored.isFollowed() ? MAP_RETRY : LINK_RETRY;
      }
    },
  });
  awaitTurn();
  return {
    stop() {
      stored.stop();
      poller.stop();
    },
  };
}
