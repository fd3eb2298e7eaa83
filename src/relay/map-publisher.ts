/** The relay's part with maps: asks for each once a week, unless another relay has, and publishes it in signed pieces. */

import { pipeline, Readable } from 'node:stream';
import { createDeflateRaw } from 'node:zlib';
import { waitAbortable } from '../domain/abortable-wait.ts';
import { createPoller } from '../domain/poller.ts';
import { HttpError } from '../domain/ports.ts';
import { type Duration, days, formatCount, hours, milliseconds, minutes, seconds } from '../domain/units.ts';
import { buildMapTopic } from '../mqtt/topics.ts';
import type { MapStream } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import { failureText } from '../service/failure-text.ts';
import { decodeMapMessage, encodeMapMessage, type MapHeader, PIECE_BYTES } from './map-message.ts';
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
const ANNOUNCEMENT_WAIT = seconds(5);

async function* cutPieces(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  for await (const bytes of compressed) {
    rest = Buffer.concat([rest, bytes]);
    for (; rest.length >= PIECE_BYTES; rest = rest.subarray(PIECE_BYTES)) yield rest.subarray(0, PIECE_BYTES);
  }
  if (rest.length > 0) yield rest;
}

/** What the broker stores and announces: the present map. `onOnline` is called when the link has come back. */
function createAnnouncements(parts: MapPublisherParts, signalType: string, onOnline: () => void) {
  const { broker, clock, publicKeys, signingKey } = parts;
  const topic = buildMapTopic(signalType, 'info');
  let stored: MapHeader | undefined;
  let isFollowed = false;
  let isOnline = broker.state.kind === 'online';
  const unwatch = broker.watchState(({ kind }) => {
    const wasOnline = isOnline;
    isOnline = kind === 'online';
    if (isOnline && !wasOnline) onOnline();
    if (isOnline) return;
    isFollowed = false;
    // A broker may come back without what it stored.
    stored = undefined;
  });
  const receive = ({ payload }: { readonly payload: Uint8Array }) => {
    const message = decodeMapMessage(payload, publicKeys);
    if (typeof message !== 'string' && message.header.signalType === signalType) stored = message.header;
  };
  return {
    stored: () => stored,
    isFollowed: () => isFollowed,
    /** False while the broker denies it. */
    async follow(signal: AbortSignal): Promise<boolean> {
      if (isFollowed) return true;
      isFollowed = await broker.subscribe(topic, receive, { wantsRetained: true, allowsLoss: true });
      if (isFollowed) await waitAbortable({ clock, wait: ANNOUNCEMENT_WAIT, name: topic, signal });
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
type Announcements = ReturnType<typeof createAnnouncements>;

/** Publishes the pieces, then the announcement with their number; erases what is left of the map before. */
async function publishMap(
  parts: MapPublisherParts,
  { chunks, version }: MapStream,
  { send, stored }: Announcements,
  { signalType, signal }: { signalType: string; signal: AbortSignal },
): Promise<number> {
  const piecesBefore = stored()?.pieces ?? 0;
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
  const announcements = createAnnouncements(parts, signalType, awaitTurn);

  const fetchMap = async (signal: AbortSignal): Promise<Duration> => {
    const stored = announcements.stored();
    const answer = await service.map({ signalType, knownVersion: stored?.version });
    if (!answer.ok) {
      log('warn', `no map for the agents: ${failureText(answer.failure)}`, { topic });
      return answer.failure.kind === 'not-entitled' ? MAP_POLL_WAIT : MAP_RETRY;
    }
    if ('unchanged' in answer.value) {
      if (stored !== undefined) await announcements.send({ ...stored, fetchedAt: clock.now().wall }, new Uint8Array());
      return MAP_POLL_WAIT;
    }
    const pieces = await publishMap(parts, answer.value, announcements, { signalType, signal });
    log('info', `the map of ${signalType} is published in ${formatCount(pieces, 'piece')}`);
    return MAP_POLL_WAIT;
  };

  const poller = createPoller({
    clock,
    name: topic,
    async poll() {
      const { signal } = poller;
      const isFollowed = await announcements.follow(signal);
      if (signal.aborted) return undefined;
      if (!isFollowed) return LINK_RETRY;
      const { fetchedAt = 0 } = announcements.stored() ?? {};
      const age = clock.now().wall - fetchedAt;
      if (age >= 0 && age < MAP_POLL_WAIT) return milliseconds(MAP_POLL_WAIT - age + random.fraction() * MAP_TURN);
      try {
        return await fetchMap(signal);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const cause = error instanceof HttpError ? error.failure.cause : error.message;
        if (!signal.aborted) log('warn', `the map was not published: ${cause}`, { topic });
        return announcements.isFollowed() ? MAP_RETRY : LINK_RETRY;
      }
    },
  });
  awaitTurn();
  return {
    stop() {
      announcements.stop();
      poller.stop();
    },
  };
}
