/** Reads the map of a relay: a link of its own reads the announcement, a second one piece after the other. */

import type { KeyObject } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { waitAbortable, watchAbort } from '../domain/abortable-wait.ts';
import type { Broker, Clock } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import { buildMapTopic } from '../mqtt/topics.ts';
import type { ReceivedMap } from '../region/region-types.ts';
import type { MapQuery } from '../service/api/query-types.ts';
import type { UnchangedMap } from '../service/api/response-types.ts';
import { decodeMapMessage, type MapHeader, type MapMessage } from './map-message.ts';

export interface MapReaderParts {
  readonly clock: Clock;
  readonly keys: readonly KeyObject[];
  /** Ended when the announcement or the map has been read, or is not. */
  readonly createLink: () => Broker;
  /** Ends every wait and with it the link. */
  readonly signal: AbortSignal;
  /** The reading of the pieces ended early, or they could not be inflated. */
  readonly onFailure: () => void;
}

/** Why there is no map, for people; `isAbsent`: the broker stores none. */
export interface MissingMap {
  readonly cause: string;
  readonly isAbsent?: true;
}

const LINK_WAIT = seconds(30);
const MESSAGE_WAIT = seconds(10);

interface MapLink {
  readonly broker: Broker;
  /** Aborted by `close` too. */
  readonly signal: AbortSignal;
  close(): Promise<void>;
}

function openLink({ createLink, signal }: MapReaderParts): MapLink {
  const broker = createLink();
  const closing = new AbortController();
  const unwatch = watchAbort(signal, () => closing.abort());
  broker.start();
  return {
    broker,
    signal: closing.signal,
    close() {
      unwatch();
      closing.abort();
      return broker.stop();
    },
  };
}

const STOPPED = { cause: 'the reading of the map was stopped' };
const NO_LINK = { cause: 'there is no link to the broker that the relay publishes to' };

/** Why the link has not come. */
async function awaitOnline({ broker, signal }: MapLink, clock: Clock): Promise<MissingMap | undefined> {
  let unwatch = () => {};
  const answer = await waitAbortable<'online'>({ clock, wait: LINK_WAIT, name: 'map', signal }, (finish) => {
    const report = () => {
      if (broker.state.kind === 'online') finish('online');
    };
    unwatch = broker.watchState(report);
    report();
  });
  unwatch();
  if (answer === 'aborted') return STOPPED;
  return answer === 'online' ? undefined : NO_LINK;
}

/** The stored message of a topic, or why there is none. */
async function readStored({ broker, signal }: MapLink, { clock, keys }: MapReaderParts, topic: string) {
  const options = { clock, wait: MESSAGE_WAIT, name: 'map', signal };
  const payload = await waitAbortable<Uint8Array | 'denied'>(options, (finish) => {
    const subscribed = broker.subscribe(topic, (message) => finish(message.payload.slice()), {
      wantsRetained: true,
      allowsLoss: true,
    });
    void subscribed.then((isAccepted) => {
      if (!isAccepted) finish('denied');
    });
  });
  if (payload === 'aborted') return STOPPED;
  if (payload === 'denied' && broker.state.kind !== 'online') return NO_LINK;
  if (payload === 'denied') return { cause: `the broker denies reading ${topic}: let this user read it` };
  if (payload === 'late' || payload.length === 0)
    return { cause: `no relay has published ${topic}`, isAbsent: true } as const;
  const message = decodeMapMessage(payload, keys);
  return typeof message === 'string' ? { cause: `the message on ${topic} ${message}` } : message;
}

/** The compressed map. Throws where a piece is missing, forged or of another map. */
async function* readPieces(link: MapLink, parts: MapReaderParts, { signalType, version, pieces }: MapHeader) {
  for (let piece = 0; piece < pieces; piece++) {
    const message = await readStored(link, parts, buildMapTopic(signalType, piece));
    if ('cause' in message) throw new Error(message.cause);
    const { header, bytes } = message;
    if (header.version !== version || header.signalType !== signalType || header.piece !== piece)
      throw new Error('the relay has just replaced it');
    yield bytes;
  }
}

/** The link begins with the first read: a map that is never read leaves none behind. */
async function* readMap(parts: MapReaderParts, header: MapHeader): AsyncGenerator<Uint8Array> {
  const link = openLink(parts);
  try {
    const missing = await awaitOnline(link, parts.clock);
    if (missing !== undefined) throw new Error(missing.cause);
    // An error of the pieces becomes that of the inflated stream.
    yield* pipeline(Readable.from(readPieces(link, parts, header)), createInflateRaw(), () => {});
  } catch (error) {
    parts.onFailure();
    throw error;
  } finally {
    await link.close();
  }
}

const isAnnouncement = ({ header }: MapMessage, signalType: string) =>
  header.signalType === signalType && header.piece === undefined;

async function readAnnouncement(parts: MapReaderParts, topic: string) {
  const link = openLink(parts);
  const announced = (await awaitOnline(link, parts.clock)) ?? (await readStored(link, parts, topic));
  await link.close();
  return announced;
}

/** The map that a relay has published, unless it is the known one. */
export async function readRelayedMap(
  parts: MapReaderParts,
  { signalType, knownVersion }: MapQuery,
): Promise<ReceivedMap | UnchangedMap | MissingMap> {
  const topic = buildMapTopic(signalType, 'info');
  const announced = await readAnnouncement(parts, topic);
  if ('cause' in announced) return announced;
  if (!isAnnouncement(announced, signalType))
    return { cause: `the message on ${topic} is of another map; let nobody but the relay write this topic` };
  const version = `relay ${announced.header.version}`;
  if (version === knownVersion) return { unchanged: true };
  return { chunks: readMap(parts, announced.header), version, isRelayed: true };
}
