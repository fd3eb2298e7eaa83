/** One topic of a relay as a subscriber has it: the newest valid message, asked for again while the broker denies it or says nothing. */

import { waitAbortable } from '../domain/abortable-wait.ts';
import { createPoller } from '../domain/poller.ts';
import type { Broker, BrokerMessage, Clock, Random } from '../domain/ports.ts';
import {
  type Duration,
  floorTo,
  type Instant,
  milliseconds,
  seconds,
  subtractDuration,
  type Uptime,
} from '../domain/units.ts';
import { type DecodedSignal, findTimeProblem, type RelayedSignal, type SignalKind } from './relay-message.ts';

export interface SignalChannelParts<Kind extends SignalKind> {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly topic: string;
  /** Judges a message by the time of now. */
  readonly decode: (payload: Uint8Array) => DecodedSignal<Kind>;
  /** A newer signal than the one before, or a valid one after a refused message. */
  readonly onNews?: () => void;
  /** A message was refused; the sentence is for people. */
  readonly onRefusal?: (sentence: string) => void;
  /** The link to the broker has begun, and the topic is being asked for. */
  readonly onOnline?: () => void;
}

export interface SignalChannel<Kind extends SignalKind> {
  /** Of the newest signal; undefined when it is not valid now. */
  newestIssuedAt(): Instant | undefined;
  /** The newest signal, if it is valid now. */
  latest(): RelayedSignal<Kind> | undefined;
  /** As `latest`; the broker is asked first where nothing has come in the present round of this length. */
  read(round: Duration): Promise<RelayedSignal<Kind> | undefined>;
  /** When a valid message came last, stored ones of the broker aside. */
  lastPublishedAt(): Uptime | undefined;
  /** Whether a valid message has come over the present link: then the broker stores it. */
  isStored(): boolean;
  /** Why there is none, for people; `isAbsent`: the broker stores none and none has come. */
  explain(): { readonly cause: string; readonly isAbsent?: true };
  stop(): void;
}

/** A broker sends its stored message right after it has accepted a subscription. */
export const STORED_MESSAGE_WAIT = seconds(5);
/** By then a relay has published what is new in a round. */
const ROUND_DELAY = seconds(45);
/** NATS denies subscriptions for some seconds after one of its nodes has died. */
const DENIED_WAIT = seconds(10);

type Inbox<Kind extends SignalKind> = Pick<SignalChannel<Kind>, 'newestIssuedAt' | 'latest' | 'lastPublishedAt'> & {
  receive(message: BrokerMessage): void;
  /** When a valid message came last. */
  receivedAt(): Uptime | undefined;
  /** Whether a valid message has come since, the stored one counts too. */
  hasReceivedSince(start: Instant): boolean;
  /** Resolves at the next valid message. */
  awaitMessage(signal: AbortSignal): Promise<unknown>;
  /** Why the last message was refused, while no valid one has come after it. */
  refusal(): string | undefined;
};

/** Judges each message and keeps the newest valid one. */
function createInbox<Kind extends SignalKind>(parts: SignalChannelParts<Kind>): Inbox<Kind> {
  const { clock, topic, decode, onNews, onRefusal } = parts;
  /** Kept as it came, a few kilobytes: decoded it takes twenty times as much. */
  let newest: (Omit<RelayedSignal, 'answer'> & { readonly payload: Uint8Array }) | undefined;
  /** The newest decoded, until its memory is needed: at first several questions follow each other. */
  let decodedNewest: WeakRef<RelayedSignal<Kind>> | undefined;
  let receivedAt: Uptime | undefined;
  let publishedAt: Uptime | undefined;
  let refusal: string | undefined;
  let finishWait: ((answer: 'came') => void) | undefined;

  const refuse = (problem: string): void => {
    refusal = `the message on ${topic} ${problem}`;
    onRefusal?.(refusal);
  };
  const accept = (signal: RelayedSignal<Kind>, { payload, retained }: BrokerMessage): void => {
    const { issuedAt, validUntil } = signal;
    receivedAt = clock.now().uptime;
    if (!retained) publishedAt = receivedAt;
    const wasRefused = refusal !== undefined;
    refusal = undefined;
    const isNewer = newest === undefined || issuedAt > newest.issuedAt;
    if (isNewer) {
      newest = { payload: payload.slice(), issuedAt, validUntil };
      decodedNewest = new WeakRef(signal);
    }
    finishWait?.('came');
    if (isNewer || wasRefused) onNews?.();
  };

  return {
    receive(message) {
      if (message.payload.length === 0) return;
      const decoded = decode(message.payload);
      if (!decoded.ok) refuse(decoded.problem);
      else if (newest !== undefined && decoded.signal.issuedAt < newest.issuedAt)
        refuse('is older than one before it; let nobody but the relay write this topic');
      else accept(decoded.signal, message);
    },
    latest() {
      if (newest === undefined || findTimeProblem(newest, clock.now().wall) !== undefined) return undefined;
      const signal = decodedNewest?.deref();
      if (signal !== undefined) return signal;
      const decoded = decode(newest.payload);
      return decoded?.ok ? decoded.signal : undefined;
    },
    newestIssuedAt: () => (newest !== undefined && clock.now().wall < newest.validUntil ? newest.issuedAt : undefined),
    hasReceivedSince(start) {
      const { wall, uptime } = clock.now();
      return receivedAt !== undefined && uptime - receivedAt <= wall - start;
    },
    awaitMessage: (signal) =>
      waitAbortable<'came'>({ clock, wait: STORED_MESSAGE_WAIT, name: 'relay', signal }, (finish) => {
        finishWait = finish;
      }),
    lastPublishedAt: () => publishedAt,
    receivedAt: () => receivedAt,
    refusal: () => refusal,
  };
}

const findRoundStart = (now: Instant, round: Duration) => floorTo(subtractDuration(now, ROUND_DELAY), round);

export function createSignalChannel<Kind extends SignalKind>(parts: SignalChannelParts<Kind>): SignalChannel<Kind> {
  const { broker, clock, random, topic, onOnline } = parts;
  const inbox = createInbox(parts);
  let isDenied = false;
  let isOnline = broker.state.kind === 'online';
  let linkedAt = 0;

  const poller = createPoller({
    clock,
    name: 'relay',
    async poll() {
      isDenied = !(await broker.subscribe(topic, inbox.receive, { wantsRetained: true, allowsLoss: true }));
      const mayRetry = isDenied && broker.state.kind === 'online';
      return mayRetry ? milliseconds(DENIED_WAIT * (0.5 + random.fraction())) : undefined;
    },
  });
  const askAgain = () => poller.pollAfter(milliseconds(0));
  const unwatch = broker.watchState(({ kind }) => {
    // A broker that denies something reports its state again while the link stays.
    const hasBegun = kind === 'online' && !isOnline;
    isOnline = kind === 'online';
    if (!hasBegun) return;
    linkedAt = clock.now().uptime;
    askAgain();
    onOnline?.();
  });

  return {
    newestIssuedAt: inbox.newestIssuedAt,
    latest: inbox.latest,
    lastPublishedAt: inbox.lastPublishedAt,
    isStored: () => (inbox.receivedAt() ?? -1) >= linkedAt,
    async read(round) {
      if (!inbox.hasReceivedSince(findRoundStart(clock.now().wall, round))) {
        askAgain();
        if (broker.state.kind !== 'offline') await inbox.awaitMessage(poller.signal);
      }
      return inbox.latest();
    },
    explain() {
      const refusal = inbox.refusal();
      if (refusal !== undefined) return { cause: refusal };
      if (broker.state.kind !== 'online')
        return { cause: 'there is no link to the broker that the relay publishes to' };
      if (isDenied) return { cause: `the broker denies reading ${topic}: let this user read it` };
      return inbox.hasReceivedSince(0 as Instant)
        ? { cause: `no relay has published ${topic} lately: check that the relay runs` }
        : { cause: `no relay has published ${topic}: check the region, and that the relay runs`, isAbsent: true };
    },
    stop() {
      unwatch();
      poller.stop();
    },
  };
}
