/** The relay: asks the service once for each region and signal and publishes the answers signed, unless another relay has just done so. */

import type { KeyObject } from 'node:crypto';
import { createPoller } from '../domain/poller.ts';
import type { Broker, Clock, Log, Random } from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  days,
  floorTo,
  formatInstant,
  hours,
  type Instant,
  milliseconds,
  minutes,
  seconds,
  subtractDuration,
} from '../domain/units.ts';
import { buildSignalTopic } from '../mqtt/topics.ts';
import type { SignalQuery } from '../service/api/query-types.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Outcome } from '../service/failure.ts';
import { failureText } from '../service/failure-text.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';
import { computeFreshUntil } from '../signal/freshness.ts';
import {
  decodeRelayMessage,
  encodeRelayMessage,
  type RelayedAnswers,
  type RelayedSignal,
  SIGNAL_KINDS,
  type SignalKind,
} from './relay-message.ts';
import { createSignalChannel, type SignalChannel, STORED_MESSAGE_WAIT } from './signal-channel.ts';

export interface SignalPublisherParts {
  readonly service: Pick<ServiceClient, 'forecast' | 'signalIndex' | 'history'>;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signingKey: KeyObject;
  /** To recognise what the other relay has published. */
  readonly publicKeys: readonly KeyObject[];
  readonly signals: readonly SignalQuery[];
}

const HORIZON_HOURS = 72;
const HISTORY_LENGTH = days(8);
const HISTORY_ROUND = hours(6);
const HISTORY_VALID = days(2);
const ASSUMED_ROUND = minutes(5);
/** As for an agent with an account of its own: published values are there a little after their round begins. */
const PUBLICATION_DELAY = seconds(5);
/** Each relay waits a part of this, anew each time: the other one's message arrives meanwhile. */
const TURN_SPREAD = seconds(30);
/** After a start; what the other relay has published in the present round is read before. */
const FIRST_TURN_SPREAD = seconds(5);
const PUBLISH_RETRY = seconds(10);

interface Stream<Kind extends SignalKind> {
  readonly ask: (query: SignalQuery, now: Instant) => Promise<Outcome<RelayedAnswers[Kind]>>;
  /** How often the service has a new answer. */
  readonly round: (answer: RelayedAnswers[Kind]) => Duration;
  readonly describe: (answer: RelayedAnswers[Kind], now: Instant) => Omit<RelayedSignal, 'answer'>;
}

const createStreams = (service: SignalPublisherParts['service']): { [Kind in SignalKind]: Stream<Kind> } => ({
  index: {
    ask: (query) => service.signalIndex(query),
    round: ({ period }) => period,
    describe: ({ point: { at }, period }) => ({
      issuedAt: at,
      validUntil: addDuration(at, (2 * period) as Duration),
    }),
  },
  forecast: {
    ask: (query) => service.forecast({ ...query, horizonHours: HORIZON_HOURS }),
    round: ({ generatedPeriod }) => generatedPeriod,
    describe: (forecast) => ({ issuedAt: forecast.generatedAt, validUntil: computeFreshUntil(forecast) }),
  },
  history: {
    ask: (query, now) =>
      service.history({ ...query, start: subtractDuration(now, HISTORY_LENGTH), end: now, includeImputedMarker: true }),
    round: () => HISTORY_ROUND,
    describe: (_, now) => ({ issuedAt: now, validUntil: addDuration(now, HISTORY_VALID) }),
  },
});

/** The start of the round whose values are published by now. */
const findIssueStart = (now: Instant, round: Duration) => floorTo(subtractDuration(now, PUBLICATION_DELAY), round);

const readRound = <Kind extends SignalKind>(stream: Stream<Kind>, answer: RelayedAnswers[Kind]): Duration =>
  milliseconds(Math.max(minutes(1), stream.round(answer)));

const getTurn = (random: Random, spread: Duration) => milliseconds(Math.floor(random.fraction() * spread));

function computeWaitForNextRound({ clock, random }: SignalPublisherParts, round: Duration): Duration {
  const { wall } = clock.now();
  const next = findIssueStart(wall, round) + round + PUBLICATION_DELAY;
  return milliseconds(next + getTurn(random, TURN_SPREAD) - wall);
}

/** A relay has published since the round began, or what is stored is of this round. */
function isRoundDone<Kind extends SignalKind>(channel: SignalChannel<Kind>, clock: Clock, round: Duration): boolean {
  const { wall, uptime } = clock.now();
  const start = findIssueStart(wall, round);
  const publishedAt = channel.lastPublishedAt();
  const isPublished = publishedAt !== undefined && uptime - publishedAt < wall - start;
  return isPublished || (channel.newestIssuedAt() ?? 0) >= start;
}

/** Logs each problem of a topic when it begins, changes or ends. */
function createTopicReports(log: Log, topic: string) {
  let problem: string | undefined;
  return (text: string | undefined): void => {
    if (text !== undefined && text !== problem) log('warn', text, { topic });
    if (text === undefined && problem !== undefined) log('info', 'well again', { topic });
    problem = text;
  };
}

interface StreamRequest<Kind extends SignalKind> {
  readonly kind: Kind;
  readonly query: SignalQuery;
  readonly stream: Stream<Kind>;
}

interface Publication {
  readonly topic: string;
  readonly kind: SignalKind;
  readonly signal: RelayedSignal;
  /** Of what is stored on the topic. */
  readonly storedIssuedAt: Instant | undefined;
}

/** Publishes it retained until it is no longer valid, unless something newer is there. `isDone` is false when the broker has not taken it. */
async function publishMessage(
  { broker, clock, signingKey }: SignalPublisherParts,
  { topic, kind, signal, storedIssuedAt = 0 as Instant }: Publication,
): Promise<{ readonly isDone: boolean; readonly problem?: string }> {
  const { issuedAt, validUntil } = signal;
  const { wall } = clock.now();
  if (issuedAt < storedIssuedAt) return { isDone: true };
  if (validUntil <= wall) {
    const problem = `the newest ${kind} of the service was valid until ${formatInstant(validUntil)}: not published`;
    return { isDone: true, problem };
  }
  // Version 4 stores no message that is to expire: there the date in the signed body ends it.
  const canExpire = broker.state.kind === 'online' && broker.state.version === 5;
  const options = { retain: true, ...(canExpire ? { expiresSeconds: Math.ceil((validUntil - wall) / 1_000) } : {}) };
  if (await broker.publish(topic, encodeRelayMessage(kind, signal, signingKey), options)) return { isDone: true };
  return {
    isDone: false,
    problem: `${topic} was not published: check the broker, and let this user write and read it`,
  };
}

interface FollowedSignal<Kind extends SignalKind> {
  readonly topic: string;
  readonly kind: Kind;
  readonly query: SignalQuery;
  readonly getRound: () => Duration;
  readonly onRefusal: (sentence: string) => void;
}

/** A signal of the present round that the broker has come back without is published again: the next history is hours away. */
function followSignal<Kind extends SignalKind>(
  parts: SignalPublisherParts,
  { topic, kind, query, getRound, onRefusal }: FollowedSignal<Kind>,
): SignalChannel<Kind> {
  const { broker, clock, random, publicKeys: keys } = parts;
  const keySource = 'this relay or of a --peer-key';
  const decode = (payload: Uint8Array) =>
    decodeRelayMessage(payload, { kind, query, keys, keySource, now: clock.now().wall });
  const restorer = createPoller({
    clock,
    name: topic,
    async poll() {
      const mayBeLost = broker.state.kind === 'online' && !channel.isStored();
      const signal = mayBeLost && isRoundDone(channel, clock, getRound()) ? channel.latest() : undefined;
      if (signal === undefined) return undefined;
      const { isDone } = await publishMessage(parts, { topic, kind, signal, storedIssuedAt: undefined });
      return isDone ? undefined : PUBLISH_RETRY;
    },
  });
  /** What the broker stores comes first, then what the other relay publishes again. */
  const onOnline = () => restorer.pollAfter(milliseconds(STORED_MESSAGE_WAIT + getTurn(random, FIRST_TURN_SPREAD)));
  const channel: SignalChannel<Kind> = createSignalChannel({
    ...{ broker, clock, random, topic, decode, onRefusal, onOnline },
  });
  return {
    ...channel,
    stop() {
      restorer.stop();
      channel.stop();
    },
  };
}

/** What the broker has not taken yet, and the round in which it was asked for. */
interface Unpublished<Kind extends SignalKind> {
  readonly signal: RelayedSignal<Kind>;
  readonly roundStart: Instant;
}

/** In a later round the service has a newer one. */
const isOfRound = <Kind extends SignalKind>({ signal, roundStart }: Unpublished<Kind>, present: Instant) =>
  Math.max(roundStart, signal.issuedAt) >= present;

function startStream<Kind extends SignalKind>(
  parts: SignalPublisherParts,
  { kind, query, stream }: StreamRequest<Kind>,
): { stop(): void } {
  const { clock, random, log } = parts;
  const topic = buildSignalTopic(query.region, query.signalType, kind);
  const report = createTopicReports(log, topic);
  let round = kind === 'history' ? HISTORY_ROUND : ASSUMED_ROUND;
  const channel = followSignal(parts, { topic, kind, query, getRound: () => round, onRefusal: report });
  let unpublished: Unpublished<Kind> | undefined;
  let failures = 0;

  const getWaitForNextRound = () => computeWaitForNextRound(parts, round);

  /** Returns the wait until the next try. */
  const publish = async (one: Unpublished<Kind>): Promise<Duration> => {
    const storedIssuedAt = channel.newestIssuedAt();
    const { isDone, problem } = await publishMessage(parts, { topic, kind, signal: one.signal, storedIssuedAt });
    unpublished = isDone ? undefined : one;
    report(problem);
    return isDone ? getWaitForNextRound() : PUBLISH_RETRY;
  };

  /** In the rhythm of the service, which may be known by its signal alone. */
  const followOtherRelay = (): Duration => {
    unpublished = undefined;
    const signal = channel.latest();
    if (signal !== undefined) round = readRound(stream, signal.answer);
    return getWaitForNextRound();
  };

  const poller = createPoller({
    clock,
    name: topic,
    async poll() {
      if (isRoundDone(channel, clock, round)) return followOtherRelay();
      const now = clock.now().wall;
      const roundStart = findIssueStart(now, round);
      if (unpublished !== undefined && isOfRound(unpublished, roundStart)) return publish(unpublished);
      const outcome = await stream.ask(query, now);
      if (poller.signal.aborted) return undefined;
      failures = outcome.ok ? 0 : failures + 1;
      if (outcome.ok) {
        round = readRound(stream, outcome.value);
        return publish({ signal: { answer: outcome.value, ...stream.describe(outcome.value, now) }, roundStart });
      }
      report(failureText(outcome.failure));
      return computeRetryDelay(outcome.failure, failures, random.fraction());
    },
  });
  // The stored signal comes first.
  void channel.read(ASSUMED_ROUND).then(() => poller.pollAfter(getTurn(random, FIRST_TURN_SPREAD)));
  return {
    stop() {
      poller.stop();
      channel.stop();
    },
  };
}

/** Begins at once; the broker is started by the caller. */
export function startSignalPublisher(parts: SignalPublisherParts): { stop(): void } {
  const streams = createStreams(parts.service);
  const start = <Kind extends SignalKind>(kind: Kind, query: SignalQuery) =>
    startStream(parts, { kind, query, stream: streams[kind] });
  const started = parts.signals.flatMap((query) => SIGNAL_KINDS.map((kind) => start(kind, query)));
  return {
    stop() {
      for (const one of started) one.stop();
    },
  };
}
