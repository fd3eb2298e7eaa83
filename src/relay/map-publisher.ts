/** The relay's part with maps: asks for each once a week, unless another relay has, and publishes it in signed pieces. */

import type { KeyObject } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createDeflateRaw } from 'node:zlib';
import { waitAbortable } from '../domain/abortable-wait.ts';
import { createPoller } from '../domain/poller.ts';
import { type Broker, type Clock, HttpError, type Log, type Random } from '../domain/ports.ts';
import { type Duration, days, formatCount, hours, milliseconds, minutes, seconds } from '../domain/units.ts';
import { buildMapTopic } from '../mqtt/topics.ts';
import type { MapStream } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import { failureText } from '../service/failure-text.ts';
import { decodeMapMessage, encodeMapMessage, type MapHeader, PIECE_BYTES } from './map-message.ts';

export interface MapPublisherParts {
  readonly service: Pick<ServiceClient, 'map'>;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signingKey: KeyObject;
  /** To recognise the map of the other relay. */
  readonly publicKeys: readonly KeyObject[];
}

const MAP_PERIOD = days(7);
const MAP_RETRY = hours(1);
/** Relays ask in turn: after a start, and when the map has become old. */
const FIRST_MAP_TURN = seconds(30);
const MAP_TURN = minutes(10);
const ANNOUNCEMENT_WAIT = seconds(5);

async function* cutPieces(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of compressed) {
    rest = Buffer.concat([rest, chunk]);
    for (; rest.length >= PIECE_BYTES; rest = rest.subarray(PIECE_BYTES)) yield rest.subarray(0, PIECE_BYTES);
  }
  if (rest.length > 0) yield rest;
}

/** What the broker stores and announces: the present map. */
function createAnnouncements({ broker, clock, publicKeys }: MapPublisherParts, signalType: string) {
  const topic = buildMapTopic(signalType, 'info');
  let stored: MapHeader | undefined;
  let isSubscribed = false;
  const unwatch = broker.watchState(({ kind }) => {
    if (kind !== 'online') isSubscribed = false;
  });
  const receive = ({ payload }: { readonly payload: Uint8Array }) => {
    const message = decodeMapMessage(payload, publicKeys);
    if (typeof message !== 'string' && message.header.signalType === signalType) stored = message.header;
  };
  return {
    stored: () => stored,
    /** False while the broker denies it. */
    async follow(signal: AbortSignal): Promise<boolean> {
      if (isSubscribed) return true;
      isSubscribed = await broker.subscribe(topic, receive, { wantsRetained: true, allowsLoss: true });
      if (isSubscribed) await waitAbortable({ clock, wait: ANNOUNCEMENT_WAIT, name: topic, signal });
      return isSubscribed;
    },
    stop: unwatch,
  };
}

/** Sends one message of a map; throws when it did not reach the broker. */
async function sendMessage({ broker, signingKey }: MapPublisherParts, header: MapHeader, bytes: Uint8Array) {
  const topic = buildMapTopic(header.signalType, header.piece ?? 'info');
  if (!(await broker.publish(topic, encodeMapMessage(header, bytes, signingKey), { retain: true })))
    throw new Error(`the broker did not take ${topic}; check the broker, and let this user write and read it`);
}

/** Publishes the pieces, then the announcement with their number; erases what is left of the map before. */
async function publishMap(
  parts: MapPublisherParts,
  { chunks, version }: MapStream,
  { signalType, piecesBefore, signal }: { signalType: string; piecesBefore: number; signal: AbortSignal },
): Promise<number> {
  const fetchedAt = parts.clock.now().wall;
  const common = { signalType, version: version ?? `${fetchedAt}`, fetchedAt };
  let pieces = 0;
  for await (const bytes of cutPieces(pipeline(Readable.from(chunks), createDeflateRaw({ level: 9 }), () => {}))) {
    if (signal.aborted) throw new Error('the relay was stopped');
    pieces += 1;
    await sendMessage(parts, { ...common, pieces, piece: pieces - 1 }, bytes);
  }
  await sendMessage(parts, { ...common, pieces }, new Uint8Array());
  for (let piece = pieces; piece < piecesBefore; piece++)
    await parts.broker.publish(buildMapTopic(signalType, piece), '', { retain: true });
  return pieces;
}

export function startMapPublisher(parts: MapPublisherParts, signalType: string): { stop(): void } {
  const { service, clock, random, log } = parts;
  const topic = buildMapTopic(signalType, 'info');
  const announcements = createAnnouncements(parts, signalType);

  const fetchMap = async (signal: AbortSignal): Promise<Duration> => {
    const stored = announcements.stored();
    const answer = await service.map({ signalType, knownVersion: stored?.version });
    if (!answer.ok) {
      log('warn', `no map for the agents: ${failureText(answer.failure)}`, { topic });
      return answer.failure.kind === 'not-entitled' ? MAP_PERIOD : MAP_RETRY;
    }
    if ('unchanged' in answer.value) {
      if (stored !== undefined) await sendMessage(parts, { ...stored, fetchedAt: clock.now().wall }, new Uint8Array());
      return MAP_PERIOD;
    }
    const piecesBefore = stored?.pieces ?? 0;
    const pieces = await publishMap(parts, answer.value, { signalType, piecesBefore, signal });
    log('info', `the map of ${signalType} is published in ${formatCount(pieces, 'piece')}`);
    return MAP_PERIOD;
  };

  const poller = createPoller({
    clock,
    name: topic,
    async poll() {
      const { signal } = poller;
      const isFollowed = await announcements.follow(signal);
      if (signal.aborted) return undefined;
      if (!isFollowed) return minutes(1);
      const { fetchedAt = 0 } = announcements.stored() ?? {};
      const age = clock.now().wall - fetchedAt;
      if (age >= 0 && age < MAP_PERIOD) return milliseconds(MAP_PERIOD - age + random.fraction() * MAP_TURN);
      try {
        return await fetchMap(signal);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const cause = error instanceof HttpError ? error.failure.cause : error.message;
        if (!signal.aborted) log('warn', `the map was not published: ${cause}`, { topic });
        return MAP_RETRY;
      }
    },
  });
  poller.pollAfter(milliseconds(Math.floor(random.fraction() * FIRST_MAP_TURN)));
  return {
    stop() {
      announcements.stop();
      poller.stop();
    },
  };
}
