/** The link to an MQTT broker through mqtt.js: one fresh client for each attempt, own back-off; queues nothing, decides nothing about content. */

import type { IClientOptions, MqttClient } from 'mqtt';
import type {
  Broker,
  BrokerCredentials,
  BrokerMessage,
  BrokerOptions,
  BrokerState,
  BrokerWill,
  Cancel,
  Clock,
  Random,
  SubscriptionOptions,
} from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  durationBetween,
  milliseconds,
  minutes,
  seconds,
  type Uptime,
} from '../domain/units.ts';
import { adviseReconnect, type DisconnectReason, type ReconnectAdvice } from './broker-disconnect.ts';
import { createPacketGuard } from './packet-guard.ts';

const KEEPALIVE = seconds(30);
const BROKER_CONNECT_TIMEOUT = seconds(10);
const BROKER_ANSWER_TIMEOUT = seconds(10);
const LEAVE_TIMEOUT = seconds(1);
/** A link that lives this long was a good one: the next back-off begins anew. */
const STABLE_AFTER = minutes(1);
const FIRST_RECONNECT_WAIT = milliseconds(500);
const LONGEST_RECONNECT_WAIT = minutes(1);
/** Between attempts that only a change of credentials, certificates or names can help. */
const REFUSED_RECONNECT_WAIT = minutes(5);
/** Largest packet accepted; the broker of version 5 is told so. */
const MAX_PACKET = 65_536;
const MAX_TOPIC_BYTES = 65_535;

type Receive = (message: BrokerMessage) => void;
type Version = 5 | 4;

export interface BrokerParts {
  /** The real clock: links live in real time, also while the agent's time is accelerated. */
  readonly clock: Clock;
  readonly random: Random;
}

/** A link that was accepted and has not ended. */
interface Link {
  readonly client: MqttClient;
  readonly since: Uptime;
  readonly receivers: Map<string, Set<Receive>>;
  /** Publications and subscriptions that wait for the broker's answer. */
  readonly waiting: Set<(taken: boolean) => void>;
}

/** What mosquitto hangs up on beside wildcards: control characters, halves of pairs, code points that are no characters. */
const FORBIDDEN_IN_TOPIC = /[+#]|\p{Cc}|\p{Cs}|\p{Noncharacter_Code_Point}/u;

/** A topic that may be published to or read: mqtt.js checks publications not at all, and a broker answers a bad one by hanging up. */
export const isTopic = (topic: string) =>
  topic !== '' && !FORBIDDEN_IN_TOPIC.test(topic) && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES;

const replaceWildcards = (filter: string) => filter.replace(/(?<=^|\/)\+(?=$|\/)/g, 'any');

/** What may be read: a topic in which `+` may stand for whole levels. */
export const isTopicFilter = (filter: string) => isTopic(replaceWildcards(filter));

/** Whether `topic` is one of those meant by `filter`. */
export function matchesFilter(filter: string, topic: string): boolean {
  if (!filter.includes('+')) return filter === topic;
  const levels = topic.split('/');
  const wanted = filter.split('/');
  return wanted.length === levels.length && wanted.every((level, n) => level === '+' || level === levels[n]);
}

/** How long to wait after the `failures`-th ended attempt in a row; `fraction` spreads it over the upper half. */
export function getReconnectWait(verdict: ReconnectAdvice, failures: number, fraction: number): Duration {
  if (verdict.otherVersion === 'certain' && failures === 1) return milliseconds(0);
  const longest = verdict.refused
    ? REFUSED_RECONNECT_WAIT
    : Math.min(LONGEST_RECONNECT_WAIT, FIRST_RECONNECT_WAIT * 2 ** (failures - 1));
  return milliseconds(longest * (0.5 + fraction / 2));
}

export const createBrokerFactory =
  (parts: BrokerParts) =>
  (options: BrokerOptions): Broker =>
    createBroker(parts, options);

function createBroker({ clock, random }: BrokerParts, options: BrokerOptions): Broker {
  const watchers = new Set<(state: BrokerState) => void>();
  const denied = new Set<string>();
  let state: BrokerState = { kind: 'connecting' };
  let version: Version = 5;
  let link: Link | undefined;
  let attempt: MqttClient | undefined;
  let failures = 0;
  let shortLinks = 0;
  let retryTimer: Cancel | undefined;
  let started = false;
  let stopped: Promise<void> | undefined;

  const setState = (next: BrokerState) => {
    state = next;
    for (const report of [...watchers]) report(next);
  };

  const connect = async (): Promise<void> => {
    retryTimer = undefined;
    const credentials = options.credentials === undefined ? {} : await options.credentials().catch(() => undefined);
    if (stopped !== undefined) return;
    if (credentials === undefined)
      return retryLater({
        cause:
          'a file named under mqtt cannot be read: nothing is told or taken over MQTT; check usernameFile, passwordFile, ca, certificate and key',
        refused: true,
        otherVersion: 'no',
      });
    // The default is the module in Node and in a bundle's chunk alike; its names are not.
    const { connect: open } = (await import('mqtt')).default;
    if (stopped !== undefined) return;
    try {
      watchClient(open({ ...parseBrokerUrl(options.url), ...buildClientOptions(options, credentials, version) }));
    } catch (error) {
      retryLater({
        cause: `mqtt.url or the certificates cannot be used (${getErrorMessage(error)}): nothing is told or taken over MQTT; correct them`,
        refused: true,
        otherVersion: 'no',
      });
    }
  };

  const watchClient = (client: MqttClient): void => {
    attempt = client;
    let code: string | number | undefined;
    let message: string | undefined;
    let reasonCode: number | undefined;
    client.on('error', (error) => {
      code ??= getMqttErrorCode(error);
      message ??= getErrorMessage(error);
    });
    client.on('disconnect', (packet) => {
      reasonCode = packet.reasonCode;
    });
    const isTooLarge = createPacketGuard(MAX_PACKET);
    client.stream.on('data', (chunk: Uint8Array) => {
      if (!isTooLarge(chunk)) return;
      message ??= `a message of more than ${MAX_PACKET} bytes`;
      client.stream.destroy();
    });
    client.once('connect', () => onClientOnline(client));
    client.once('close', () => {
      client.end(true);
      attempt = undefined;
      const wasOnline = link?.client === client;
      if (wasOnline) onLinkLost();
      // A second holder of the client id never makes the broker unreachable.
      else shortLinks = 0;
      if (stopped !== undefined) return;
      const reason: DisconnectReason = {
        address: formatBrokerAddress(options.url),
        clientId: options.clientId,
        wasOnline,
        shortLinks,
        ...(code === undefined ? {} : { code }),
        ...(message === undefined ? {} : { message }),
        ...(reasonCode === undefined ? {} : { reasonCode }),
      };
      retryLater(adviseReconnect(reason));
    });
  };

  const onClientOnline = (client: MqttClient): void => {
    const newLink: Link = { client, since: clock.now().uptime, receivers: new Map(), waiting: new Set() };
    link = newLink;
    denied.clear();
    client.on('message', (topic, payload, { retain, dup }) => {
      const message: BrokerMessage = { topic, payload, retained: retain === true, duplicate: dup === true };
      const matching = [...newLink.receivers].filter(([filter]) => matchesFilter(filter, topic));
      for (const [, receivers] of matching) for (const receive of receivers) receive(message);
    });
    setState({ kind: 'online', version, denied: [] });
  };

  const onLinkLost = (): void => {
    if (link === undefined) return;
    const { since, waiting } = link;
    link = undefined;
    const stable = durationBetween(since, clock.now().uptime) >= STABLE_AFTER;
    if (stable) failures = 0;
    shortLinks = stable ? 0 : shortLinks + 1;
    for (const finish of [...waiting]) finish(false);
  };

  const retryLater = (verdict: ReconnectAdvice): void => {
    failures += 1;
    if (verdict.otherVersion !== 'no') version = version === 5 ? 4 : 5;
    const reconnectWait = getReconnectWait(verdict, failures, random.fraction());
    retryTimer = clock.wakeAt(addDuration(clock.now().uptime, reconnectWait), 'broker', () => void connect());
    // A change of version at once is no news for anybody.
    if (reconnectWait > 0) setState({ kind: 'offline', cause: verdict.cause, refused: verdict.refused });
  };

  const reportDenied = (action: string): void => {
    if (denied.has(action)) return;
    denied.add(action);
    if (link !== undefined) setState({ kind: 'online', version, denied: [...denied] });
  };

  /** `ask` gets a callback to be called with the broker's answer; false when none comes in time or the link ends. */
  const awaitAnswer = (
    requestLink: Link,
    what: string,
    sendRequest: (done: (error?: Error | null) => void) => void,
  ): Promise<boolean> =>
    new Promise((resolve) => {
      const finish = (taken: boolean) => {
        if (!requestLink.waiting.delete(finish)) return;
        deadline();
        resolve(taken);
      };
      requestLink.waiting.add(finish);
      const deadline = clock.wakeAt(addDuration(clock.now().uptime, BROKER_ANSWER_TIMEOUT), `broker ${what}`, () =>
        finish(false),
      );
      sendRequest((error) => {
        const code = error ? getMqttErrorCode(error) : undefined;
        if (typeof code === 'number' && code >= 128 && requestLink === link) reportDenied(what);
        finish(!error);
      });
    });

  const disconnect = async (last: BrokerWill | undefined): Promise<void> => {
    retryTimer?.();
    const client = link?.client ?? attempt;
    if (link !== undefined && last !== undefined)
      await withTimeout(broker.publish(last.topic, last.payload, { retain: true }));
    if (client !== undefined) {
      await withTimeout(new Promise<void>((resolve) => client.end(link === undefined, () => resolve())));
      client.end(true);
    }
    onLinkLost();
    state = { kind: 'offline', cause: 'the link to the broker was closed by this side', refused: false };
  };

  const withTimeout = (work: Promise<unknown>): Promise<void> =>
    new Promise((resolve) => {
      const cancelTimeout = clock.wakeAt(addDuration(clock.now().uptime, LEAVE_TIMEOUT), 'broker farewell', resolve);
      void work.then(() => {
        cancelTimeout();
        resolve();
      });
    });

  const broker: Broker = {
    start() {
      if (started || stopped !== undefined) return;
      started = true;
      void connect();
    },
    get state() {
      return state;
    },
    watchState(report) {
      watchers.add(report);
      return () => void watchers.delete(report);
    },
    async publish(topic, payload, { retain }) {
      const here = link;
      if (here === undefined || !isTopic(topic)) return false;
      return awaitAnswer(here, `publishing ${topic}`, (done) =>
        here.client.publish(topic, payload, { qos: 1, retain }, done),
      );
    },
    async subscribe(filter: string, receive: Receive, { wantsRetained: stored }: SubscriptionOptions) {
      const here = link;
      if (here === undefined || !isTopicFilter(filter)) return false;
      const known = here.receivers.get(filter);
      here.receivers.set(filter, new Set([...(known ?? []), receive]));
      // MQTT 5 section 3.8.3.1: retain handling 2 sends no stored message, retain as published marks live ones.
      const wish = { [filter]: { qos: 1 as const, rap: !stored, rh: stored ? 0 : 2 } };
      const taken = await awaitAnswer(here, `reading ${filter}`, (done) => here.client.subscribe(wish, done));
      if (!taken) here.receivers.get(filter)?.delete(receive);
      return taken;
    },
    stop(last) {
      stopped ??= disconnect(last);
      return stopped;
    },
  };
  return broker;
}

/** Read here: mqtt.js would ask Node's old parser of addresses, which warns of itself on standard error from Node 24 on. */
function parseBrokerUrl(url: string): IClientOptions {
  const { protocol, hostname, port } = new URL(url);
  return {
    protocol: protocol === 'mqtts:' ? 'mqtts' : 'mqtt',
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port === '' ? {} : { port: Number(port) }),
  };
}

function buildClientOptions(options: BrokerOptions, credentials: BrokerCredentials, version: Version): IClientOptions {
  const { clientId, will, keepalive = KEEPALIVE } = options;
  const { username, password, ca, certificate, key } = credentials;
  return {
    clientId,
    clean: true,
    protocolVersion: version,
    keepalive: keepalive / 1_000,
    connectTimeout: BROKER_CONNECT_TIMEOUT,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // 65,536 small buffers, 7 MiB, to write a number faster.
    writeCache: false,
    rejectUnauthorized: true,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(ca === undefined ? {} : { ca: [...process.getBuiltinModule('node:tls').rootCertificates, ca] }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(will === undefined
      ? {}
      : { will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
    ...(version === 5 ? { properties: { maximumPacketSize: MAX_PACKET } } : {}),
  };
}

const getErrorMessage = (error: unknown) => (error instanceof Error ? error.message : `${error}`);

function getMqttErrorCode(error: Error): string | number | undefined {
  if (!('code' in error)) return undefined;
  return typeof error.code === 'string' || typeof error.code === 'number' ? error.code : undefined;
}

function formatBrokerAddress(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'mqtts:' ? 8883 : 1883) : port}`;
}
