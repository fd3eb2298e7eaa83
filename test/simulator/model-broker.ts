/** The MQTT broker of the simulated house: retained messages, last wills, lost acknowledgements, and links that come and go. */

import type {
  Broker,
  BrokerCredentials,
  BrokerMessage,
  BrokerOptions,
  BrokerState,
  SubscriptionOptions,
} from '../../src/domain/ports.ts';
import type { Chance } from './chance.ts';
import type { SimClock } from './sim-clock.ts';

/** `isWill`: the broker publishes it for a client that is gone. */
type OnMessage = (topic: string, payload: string, isWill: boolean) => void;

export interface ModelBroker {
  trouble: 'down' | 'refuses' | 'acks-lost' | 'stalls' | undefined;
  /** It does nothing from now on, and then what it was sent meanwhile; links that were given up meanwhile leave their wills. */
  beginStall(): void;
  endStall(): void;
  /** Ends and starts every link; forgets the retained messages where the broker keeps none. */
  restart(options: { readonly forgets: boolean }): void;
  /** Of any client, the agent included. */
  onMessage(listen: OnMessage): void;
  /** A message of a device or of a person. */
  publish(topic: string, payload: string, options: { readonly retain: boolean }): void;
  findRetained(topic: string): string | undefined;
  connect(options: BrokerOptions, life: LinkLife): Broker;
  /** A life has ended: the broker notices after a while. */
  abandonDead(): void;
  /** The process behind links does nothing: those that stay silent for long enough end. */
  abandonStalled(): void;
}

/** The life of the agent that the link belongs to. */
interface LinkLife {
  act<Result>(work: () => Promise<Result>): Promise<Result>;
  isAlive(): boolean;
  isStalled(): boolean;
  /** Something reaches it over a link, be it later. */
  deliver(run: () => void, link: BrokerOptions): void;
}

interface Subscription {
  readonly filter: string;
  readonly receive: (message: BrokerMessage) => void;
  readonly wantsRetained: boolean;
}

interface Session {
  readonly life: LinkLife;
  readonly options: BrokerOptions;
  subscriptions: Subscription[];
  /** The client gave it up, which the broker has not read yet. */
  isLeft: boolean;
  /** Ends it from the broker's side. */
  drop(cause: string): void;
  /** Ends it from the client's side. */
  leave(): void;
}

export interface ModelBrokerParts {
  readonly clock: SimClock;
  readonly version: 4 | 5;
  /** Milliseconds from a client to the broker. */
  readonly latency: number;
  readonly onCredentials: (credentials: BrokerCredentials | undefined) => void;
  readonly chance: Chance;
}

const WILL_DELAY = 45_000;
const RETRY_DELAY = 5_000;
/** Of silence until the broker gives up a link, which its client uses at least each 18 s, and until the client does. */
const BROKER_PATIENCE = [9_000, 32_000] as const;
const CLIENT_PATIENCE = [18_000, 36_000] as const;

const isMatch = (filter: string, topic: string): boolean => {
  const [wanted, found] = [filter.split('/'), topic.split('/')];
  return wanted.length === found.length && wanted.every((level, i) => level === '+' || level === found[i]);
};

const toMessage = (topic: string, payload: string, retained: boolean): BrokerMessage => ({
  topic,
  payload: new TextEncoder().encode(payload),
  retained,
  duplicate: false,
});

export function createModelBroker({ clock, version, latency, onCredentials, chance }: ModelBrokerParts): ModelBroker {
  const retainedMessages = new Map<string, string>();
  const listeners: OnMessage[] = [];
  const sessions = new Map<string, Session>();
  /** What reached a broker that stalls. */
  let backlog: (() => void)[] | undefined;
  const takeIn = (run: () => void): void => {
    if (backlog === undefined) run();
    else backlog.push(run);
  };
  const awaitTurn = () => (backlog === undefined ? undefined : new Promise<void>((resume) => takeIn(resume)));

  const accept = (topic: string, payload: string, retain: boolean, isWill = false): void => {
    if (retain && payload === '') retainedMessages.delete(topic);
    else if (retain) retainedMessages.set(topic, payload);
    for (const listen of listeners) listen(topic, payload, isWill);
    for (const session of sessions.values())
      for (const { filter, receive, wantsRetained } of session.subscriptions)
        if (isMatch(filter, topic))
          clock.runAt(clock.now() + latency, () => {
            if (sessions.get(session.options.clientId) === session)
              receive(toMessage(topic, payload, version === 5 && !wantsRetained && retain));
          });
  };
  const end = (session: Session, cause: string): void => {
    const { clientId, will } = session.options;
    if (sessions.get(clientId) !== session) return;
    sessions.delete(clientId);
    session.drop(cause);
    if (will === undefined) return;
    const { delaySeconds = 0, retain = true } = will;
    // A client that goes on with its session before the delay is over leaves no will (MQTT 5).
    const mayReturn = version === 5 && !retain;
    clock.runAt(clock.now() + (version === 5 ? delaySeconds * 1_000 : 0), () => {
      if (!mayReturn || !sessions.has(clientId)) accept(will.topic, will.payload, retain, true);
    });
  };

  const model: ModelBroker = {
    trouble: undefined,
    restart({ forgets }) {
      if (forgets) retainedMessages.clear();
      for (const session of [...sessions.values()]) end(session, 'the broker closed the connection');
    },
    onMessage: (listen) => void listeners.push(listen),
    publish: (topic, payload, { retain }) => {
      if (model.trouble !== 'down') takeIn(() => accept(topic, payload, retain));
    },
    findRetained: (topic) => retainedMessages.get(topic),
    abandonDead() {
      for (const session of sessions.values())
        if (!session.life.isAlive()) clock.runAt(clock.now() + WILL_DELAY, () => end(session, 'keep-alive timeout'));
    },
    abandonStalled() {
      for (const session of sessions.values()) {
        if (!session.life.isStalled()) continue;
        clock.runAt(clock.now() + chance.within(...BROKER_PATIENCE), () => {
          if (session.life.isStalled()) takeIn(() => end(session, 'keep-alive timeout'));
        });
      }
    },
    beginStall() {
      backlog = [];
      const ownBacklog = backlog;
      for (const session of sessions.values())
        clock.runAt(clock.now() + chance.within(...CLIENT_PATIENCE), () => {
          if (backlog !== ownBacklog || session.isLeft) return;
          session.leave();
          takeIn(() => end(session, 'the client has left'));
        });
    },
    endStall() {
      const delayed = backlog ?? [];
      backlog = undefined;
      for (const run of delayed) run();
    },
    connect: (options, life) => createLink(options, life),
  };

  function createLink(options: BrokerOptions, life: LinkLife): Broker {
    let state: BrokerState = { kind: 'connecting' };
    let isStopped = false;
    let session: Session | undefined;
    const watchers = new Set<(state: BrokerState) => void>();
    const setState = (next: BrokerState): void => {
      life.deliver(() => {
        state = next;
        for (const watcher of [...watchers]) watcher(next);
      }, options);
    };
    const retry = () => void clock.runAt(clock.now() + RETRY_DELAY, () => life.deliver(() => void attempt(), options));
    const attempt = async (): Promise<void> => {
      if (isStopped || !life.isAlive()) return;
      const credentials = await life.act(async () => options.credentials?.());
      await clock.wait(2 * latency);
      if (backlog !== undefined) await awaitTurn();
      if (isStopped || !life.isAlive()) return;
      if (options.credentials !== undefined) onCredentials(credentials);
      if (model.trouble === 'down' || model.trouble === 'refuses') {
        const refused = model.trouble === 'refuses';
        const cause = refused ? 'the broker refuses the user name or password' : 'the broker refuses connections';
        setState({ kind: 'offline', cause, refused });
        retry();
        return;
      }
      const previous = sessions.get(options.clientId);
      if (previous !== undefined) end(previous, 'another client took the id');
      session = {
        life,
        options,
        subscriptions: [],
        isLeft: false,
        drop(cause) {
          if (isStopped || this.isLeft || !life.isAlive()) return;
          setState({ kind: 'offline', cause, refused: false });
          retry();
        },
        leave() {
          if (isStopped || !life.isAlive()) return;
          this.isLeft = true;
          setState({ kind: 'offline', cause: 'the broker does not answer', refused: false });
          retry();
        },
      };
      sessions.set(options.clientId, session);
      setState({ kind: 'online', version, denied: [] });
    };
    const isOnline = () =>
      session !== undefined && sessions.get(options.clientId) === session && !session.isLeft && !isStopped;

    const subscribe = async (
      filter: string,
      receive: Subscription['receive'],
      { wantsRetained }: SubscriptionOptions,
    ): Promise<boolean> => {
      if (!isOnline()) return false;
      await clock.wait(latency);
      if (backlog !== undefined) await awaitTurn();
      if (!isOnline() || session === undefined) return false;
      const ifAlive: Subscription['receive'] = (message) => life.deliver(() => receive(message), options);
      session.subscriptions = session.subscriptions.filter((one) => one.filter !== filter);
      session.subscriptions.push({ filter, receive: ifAlive, wantsRetained });
      const stored = wantsRetained || version === 4 ? [...retainedMessages] : [];
      await clock.wait(latency);
      if (!isOnline()) return false;
      for (const [topic, payload] of stored) if (isMatch(filter, topic)) ifAlive(toMessage(topic, payload, true));
      return true;
    };

    return {
      start: () => void attempt(),
      get state() {
        return state;
      },
      watchState(report) {
        watchers.add(report);
        return () => void watchers.delete(report);
      },
      publish: (topic, payload, { retain }) =>
        life.act(async () => {
          if (!isOnline()) return false;
          await clock.wait(latency);
          if (!isOnline()) return false;
          // What is sent to a broker that stalls reaches it, also when its sender has given up meanwhile.
          takeIn(() => accept(topic, String(payload), retain));
          if (backlog !== undefined) await awaitTurn();
          if (!isOnline()) return false;
          const isAckLost = model.trouble === 'acks-lost';
          await clock.wait(isAckLost ? 10_000 : latency);
          return !isAckLost && isOnline();
        }),
      subscribe: (filter, receive, wants) => life.act(() => subscribe(filter, receive, wants)),
      ping: () =>
        life.act(async () => {
          if (!isOnline()) return false;
          await clock.wait(2 * latency);
          if (backlog !== undefined) await awaitTurn();
          return isOnline();
        }),
      stop: (last) =>
        life.act(async () => {
          if (isOnline() && last !== undefined) {
            await clock.wait(latency);
            if (isOnline()) takeIn(() => accept(last.topic, last.payload, true));
          }
          if (session !== undefined && sessions.get(options.clientId) === session) sessions.delete(options.clientId);
          isStopped = true;
        }),
    };
  }

  return model;
}
