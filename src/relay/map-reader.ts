/** Reads the map of a relay: a link of its own subscribes to one piece after the other and ends with the last. */

import type { KeyObject } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { waitAbortable } from '../domain/abortable-wait.ts';
import type { Broker, Clock } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import { buildMapTopic } from '../mqtt/topics.ts';
import type { MapQuery } from '../service/api/query-types.ts';
import type { MapStream, UnchangedMap } from '../service/api/response-types.ts';
import { decodeMapMessage, type MapHeader, type MapMessage } from './map-message.ts';

export interface MapReaderParts {
  readonly clock: Clock;
  readonly keys: readonly KeyObject[];
  /** Ended when the map has been read, or is not. */
  readonly createLink: () => Broker;
}

/** Why there is no map, for people; `isAbsent`: the broker stores none. */
export interface MissingMap {
  readonly cause: string;
  readonly isAbsent?: true;
}

const LINK_WAIT = seconds(30);
const MESSAGE_WAIT = seconds(10);

/** Whether the link has come. */
async function awaitOnline(broker: Broker, clock: Clock): Promise<boolean> {
  let unwatch = () => {};
  const answer = await waitAbortable<'online'>({ clock, wait: LINK_WAIT, name: 'map' }, (finish) => {
    const report = () => {
      if (broker.state.kind === 'online') finish('online');
    };
    unwatch = broker.watchState(report);
    report();
  });
  unwatch();
  return answer === 'online';
}

/** The stored message of a topic, or why there is none. */
async function readStored(broker: Broker, { clock, keys }: MapReaderParts, topic: string) {
  let isDenied = false;
  const payload = await waitAbortable<Uint8Array | 'denied'>({ clock, wait: MESSAGE_WAIT, name: 'map' }, (finish) => {
    const subscribed = broker.subscribe(topic, (message) => finish(message.payload.slice()), {
      wantsRetained: true,
      allowsLoss: true,
    });
    void subscribed.then((isAccepted) => {
      isDenied = !isAccepted;
      if (isDenied) finish('denied');
    });
  });
  if (isDenied) return { cause: `the broker denies reading ${topic}: let this user read it` };
  if (typeof payload === 'string' || payload.length === 0)
    return { cause: `no relay has published ${topic}`, isAbsent: true } as const;
  const message = decodeMapMessage(payload, keys);
  return typeof message === 'string' ? { cause: `the message on ${topic} ${message}` } : message;
}

/** The compressed map. Throws where a piece is missing, forged or of another map. */
async function* readPieces(broker: Broker, parts: MapReaderParts, { signalType, version, pieces }: MapHeader) {
  for (let piece = 0; piece < pieces; piece++) {
    const message = await readStored(broker, parts, buildMapTopic(signalType, piece));
    if ('cause' in message) throw new Error(message.cause);
    const { header, bytes } = message;
    if (header.version !== version || header.signalType !== signalType || header.piece !== piece)
      throw new Error('the relay has just replaced it');
    yield bytes;
  }
}

async function* readMap(broker: Broker, parts: MapReaderParts, header: MapHeader): AsyncGenerator<Uint8Array> {
  try {
    // An error of the pieces becomes that of the inflated stream.
    yield* pipeline(Readable.from(readPieces(broker, parts, header)), createInflateRaw(), () => {});
  } finally {
    await broker.stop();
  }
}

const isAnnouncement = ({ header }: MapMessage, signalType: string) =>
  header.signalType === signalType && header.piece === undefined;

/** The map that a relay has published, unless it is the known one. The stream has to be read or left. */
export async function readRelayedMap(
  parts: MapReaderParts,
  { signalType, knownVersion }: MapQuery,
): Promise<MapStream | UnchangedMap | MissingMap> {
  const broker = parts.createLink();
  broker.start();
  const topic = buildMapTopic(signalType, 'info');
  const announced = (await awaitOnline(broker, parts.clock))
    ? await readStored(broker, parts, topic)
    : { cause: 'there is no link to the broker that the relay publishes to' };
  const version = 'header' in announced ? `relay ${announced.header.version}` : undefined;
  if ('header' in announced && isAnnouncement(announced, signalType) && version !== knownVersion)
    return { chunks: readMap(broker, parts, announced.header), ...(version === undefined ? {} : { version }) };
  await broker.stop();
  if ('cause' in announced) return announced;
  return isAnnouncement(announced, signalType)
    ? { unchanged: true }
    : { cause: `the message on ${topic} is of another map; let nobody but the relay write this topic` };
}
