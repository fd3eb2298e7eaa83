/** The link to an MQTT broker through mqtt.js: one fresh client for each attempt, own back-off; queues nothing, decides nothing about content. */

import type { IClientOptions, MqttClient } from 'mqtt';
import { after, between, type Duration, milliseconds, minutes, seconds, type Uptime } from '../units.ts';
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
  Subscription,
} from '../world.ts';
import { type Ending, type Verdict, verdictOf } from './broker-ending.ts';
import { createPacketWatch } from './broker-packets.ts';

const KEEPALIVE = seconds(30);
const CONNECT_WITHIN = seconds(10);
const ANSWER_WITHIN = seconds(10);
const LEAVE_WITHIN = seconds(1);
/** A link that lives this long was a good one: the next back-off begins anew. */
const STABLE = minutes(1);
const FIRST_WAIT = milliseconds(500);
const LONGEST_WAIT = minutes(1);
/** Between attempts that only a change of credentials, certificates or names can help. */
const REFUSED_WAIT = minutes(5);
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
const NO_TOPIC = /[+#]|\p{Cc}|\p{Cs}|\p{Noncharacter_Code_Point}/u;

/** A topic that may be published to or read: mqtt.js checks publications not at all, and a broker answers a bad one by hanging up. */
export const isTopic = (topic: string) =>
  topic !== '' && !NO_TOPIC.test(topic) && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES;

const withoutPlus = (filter: string) => filter.replace(/(?<=^|\/)\+(?=$|\/)/g, 'any');

/** What may be read: a topic in which `+` may stand for whole levels. */
export const isFilter = (filter: string) => isTopic(withoutPlus(filter));

/** Whether `topic` is one of those meant by `filter`. */
export function covers(filter: string, topic: string): boolean {
  if (!filter.includes('+')) return filter === topic;
  const levels = topic.split('/');
  const wanted = filter.split('/');
  return wanted.length === levels.length && wanted.every((level, n) => level === '+' || level === levels[n]);
}

/** How long to wait after the `failures`-th ended attempt in a row; `fraction` spreads it over the upper half. */
export function waitAfter(verdict: Verdict, failures: number, fraction: number): Duration {
  if (verdict.otherVersion === 'certain' && failures === 1) return milliseconds(0);
  const longest = verdict.refused ? REFUSED_WAIT : Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1));
  return milliseconds(longest * (0.5 + fraction / 2));
}

export const createBrokers =
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
  let short = 0;
  let wait: Cancel | undefined;
  let started = false;
  let stopped: Promise<void> | undefined;

  const become = (next: BrokerState) => {
    state = next;
    for (const report of [...watchers]) report(next);
  };

  const connect = async (): Promise<void> => {
    wait = undefined;
    const credentials = options.credentials === undefined ? {} : await options.credentials().catch(() => undefined);
    if (stopped !== undefined) return;
    if (credentials === undefined)
      return tryLater({
        cause:
          'a file named under mqtt cannot be read: nothing is told or taken over MQTT; check usernameFile, passwordFile, ca, certificate and key',
        refused: true,
        otherVersion: 'no',
      });
    // The default is the module in Node and in a bundle's chunk alike; its names are not.
    const { connect: open } = (await import('mqtt')).default;
    if (stopped !== undefined) return;
    try {
      follow(open({ ...addressOf(options.url), ...clientOptions(options, credentials, version) }));
    } catch (error) {
      tryLater({
        cause: `mqtt.url or the certificates cannot be used (${messageOf(error)}): nothing is told or taken over MQTT; correct them`,
        refused: true,
        otherVersion: 'no',
      });
    }
  };

  const follow = (client: MqttClient): void => {
    attempt = client;
    let code: string | number | undefined;
    let message: string | undefined;
    let farewell: number | undefined;
    client.on('error', (error) => {
      code ??= codeOf(error);
      message ??= messageOf(error);
    });
    client.on('disconnect', (packet) => {
      farewell = packet.reasonCode;
    });
    const isTooLarge = createPacketWatch(MAX_PACKET);
    client.stream.on('data', (chunk: Uint8Array) => {
      if (!isTooLarge(chunk)) return;
      message ??= `a message of more than ${MAX_PACKET} bytes`;
      client.stream.destroy();
    });
    client.once('connect', () => online(client));
    client.once('close', () => {
      client.end(true);
      attempt = undefined;
      const wasOnline = link?.client === client;
      if (wasOnline) lose();
      // A second holder of the client id never makes the broker unreachable.
      else short = 0;
      if (stopped !== undefined) return;
      const ending: Ending = {
        at: placeOf(options.url),
        clientId: options.clientId,
        wasOnline,
        short,
        ...(code === undefined ? {} : { code }),
        ...(message === undefined ? {} : { message }),
        ...(farewell === undefined ? {} : { farewell }),
      };
      tryLater(verdictOf(ending));
    });
  };

  const online = (client: MqttClient): void => {
    const here: Link = { client, since: clock.now().uptime, receivers: new Map(), waiting: new Set() };
    link = here;
    denied.clear();
    client.on('message', (topic, payload, { retain, dup }) => {
      const message: BrokerMessage = { topic, payload, retained: retain === true, duplicate: dup === true };
      const meant = [...here.receivers].filter(([filter]) => covers(filter, topic));
      for (const [, receivers] of meant) for (const receive of receivers) receive(message);
    });
    become({ kind: 'online', version, denied: [] });
  };

  const lose = (): void => {
    if (link === undefined) return;
    const { since, waiting } = link;
    link = undefined;
    const stable = between(since, clock.now().uptime) >= STABLE;
    if (stable) failures = 0;
    short = stable ? 0 : short + 1;
    for (const settle of [...waiting]) settle(false);
  };

  const tryLater = (verdict: Verdict): void => {
    failures += 1;
    if (verdict.otherVersion !== 'no') version = version === 5 ? 4 : 5;
    const pause = waitAfter(verdict, failures, random.fraction());
    wait = clock.wakeAt(after(clock.now().uptime, pause), 'broker', () => void connect());
    // A change of version at once is no news for anybody.
    if (pause > 0) become({ kind: 'offline', cause: verdict.cause, refused: verdict.refused });
  };

  const deny = (what: string): void => {
    if (denied.has(what)) return;
    denied.add(what);
    if (link !== undefined) become({ kind: 'online', version, denied: [...denied] });
  };

  /** `ask` gets a callback to be called with the broker's answer; false when none comes in time or the link ends. */
  const answered = (here: Link, what: string, ask: (done: (error?: Error | null) => void) => void): Promise<boolean> =>
    new Promise((resolve) => {
      const settle = (taken: boolean) => {
        if (!here.waiting.delete(settle)) return;
        deadline();
        resolve(taken);
      };
      here.waiting.add(settle);
      const deadline = clock.wakeAt(after(clock.now().uptime, ANSWER_WITHIN), `broker ${what}`, () => settle(false));
      ask((error) => {
        const code = error ? codeOf(error) : undefined;
        if (typeof code === 'number' && code >= 128 && here === link) deny(what);
        settle(!error);
      });
    });

  const leave = async (last: BrokerWill | undefined): Promise<void> => {
    wait?.();
    const client = link?.client ?? attempt;
    if (link !== undefined && last !== undefined)
      await inTime(broker.publish(last.topic, last.payload, { retain: true }));
    if (client !== undefined) {
      await inTime(new Promise<void>((resolve) => client.end(link === undefined, () => resolve())));
      client.end(true);
    }
    lose();
    state = { kind: 'offline', cause: 'the link to the broker was closed by this side', refused: false };
  };

  const inTime = (work: Promise<unknown>): Promise<void> =>
    new Promise((resolve) => {
      const late = clock.wakeAt(after(clock.now().uptime, LEAVE_WITHIN), 'broker farewell', resolve);
      void work.then(() => {
        late();
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
    watch(report) {
      watchers.add(report);
      return () => void watchers.delete(report);
    },
    async publish(topic, payload, { retain }) {
      const here = link;
      if (here === undefined || !isTopic(topic)) return false;
      return answered(here, `publishing ${topic}`, (done) =>
        here.client.publish(topic, payload, { qos: 1, retain }, done),
      );
    },
    async subscribe(filter: string, receive: Receive, { stored }: Subscription) {
      const here = link;
      if (here === undefined || !isFilter(filter)) return false;
      const known = here.receivers.get(filter);
      here.receivers.set(filter, new Set([...(known ?? []), receive]));
      // MQTT 5 section 3.8.3.1: retain handling 2 sends no stored message, retain as published marks live ones.
      const wish = { [filter]: { qos: 1 as const, rap: !stored, rh: stored ? 0 : 2 } };
      const taken = await answered(here, `reading ${filter}`, (done) => here.client.subscribe(wish, done));
      if (!taken) here.receivers.get(filter)?.delete(receive);
      return taken;
    },
    stop(last) {
      stopped ??= leave(last);
      return stopped;
    },
  };
  return broker;
}

/** Read here: mqtt.js would ask Node's old parser of addresses, which warns of itself on standard error from Node 24 on. */
function addressOf(url: string): IClientOptions {
  const { protocol, hostname, port } = new URL(url);
  return {
    protocol: protocol === 'mqtts:' ? 'mqtts' : 'mqtt',
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port === '' ? {} : { port: Number(port) }),
  };
}

function clientOptions(options: BrokerOptions, credentials: BrokerCredentials, version: Version): IClientOptions {
  const { clientId, will, keepalive = KEEPALIVE } = options;
  const { username, password, ca, certificate, key } = credentials;
  return {
    clientId,
    clean: true,
    protocolVersion: version,
    keepalive: keepalive / 1_000,
    connectTimeout: CONNECT_WITHIN,
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

const messageOf = (error: unknown) => (error instanceof Error ? error.message : `${error}`);

function codeOf(error: Error): string | number | undefined {
  if (!('code' in error)) return undefined;
  return typeof error.code === 'string' || typeof error.code === 'number' ? error.code : undefined;
}

function placeOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'mqtts:' ? 8883 : 1883) : port}`;
}
