/** The broker port over mqtt.js: a fresh client for each attempt, with its own back-off; it queues nothing. */

import type { MqttClient } from 'mqtt';
import { waitAbortable } from '../domain/abortable-wait.ts';
import type {
  Broker,
  BrokerNames,
  BrokerOptions,
  BrokerState,
  BrokerWill,
  Cancel,
  Clock,
  Random,
} from '../domain/ports.ts';
import { addDuration, type Duration, durationBetween, milliseconds, minutes, seconds } from '../domain/units.ts';
import {
  adviseReconnect,
  CONFIGURED_NAMES,
  describeUnreadableFile,
  describeUnusableOptions,
  type ReconnectAdvice,
} from './broker-disconnect.ts';
import { type ClientEnd, getErrorMessage, type MqttVersion, openMqttClient, watchClientEnd } from './mqtt-client.ts';
import { createMqttLink, type MqttLink } from './mqtt-link.ts';
import { PingTimer } from './ping-timer.ts';

const LEAVE_TIMEOUT = seconds(1);
/** A link that lasted this long was good: the next back-off begins anew. */
const STABLE_AFTER = minutes(1);
const FIRST_RECONNECT_WAIT = milliseconds(500);
/** A broker on the home network is back soon. */
const LONGEST_RECONNECT_WAIT = seconds(10);
/** Between attempts that only a change of credentials, certificates or names can help. */
const REFUSED_RECONNECT_WAIT = minutes(5);

export interface BrokerParts {
  /** The real clock: links run in real time, also while the agent's time is accelerated. */
  readonly clock: Clock;
  readonly random: Random;
}

/** How long to wait after the `failures`-th ended attempt in a row; `fraction` spreads it over the upper half. */
export function getReconnectWait(advice: ReconnectAdvice, failures: number, fraction: number): Duration {
  if (advice.otherVersion === 'certain' && failures === 1) return milliseconds(0);
  const longest = advice.refused
    ? REFUSED_RECONNECT_WAIT
    : Math.min(LONGEST_RECONNECT_WAIT, FIRST_RECONNECT_WAIT * 2 ** (failures - 1));
  return milliseconds(longest * (0.5 + fraction / 2));
}

export function createBrokerFactory(parts: BrokerParts): (options: BrokerOptions) => Broker {
  const pingTimer = new PingTimer(parts.clock);
  return (options) => new ReconnectingBroker({ ...parts, pingTimer }, options);
}

class ReconnectingBroker implements Broker {
  state: BrokerState = { kind: 'connecting' };
  private readonly watchers = new Set<(state: BrokerState) => void>();
  private version: MqttVersion = 5;
  private link: MqttLink | undefined;
  private attempt: MqttClient | undefined;
  private failures = 0;
  private shortLinks = 0;
  private cancelRetry: Cancel | undefined;
  private isStarted = false;
  private stopped: Promise<void> | undefined;
  private readonly parts: BrokerParts & { readonly pingTimer: PingTimer };
  private readonly options: BrokerOptions;
  private readonly names: BrokerNames;

  constructor(parts: ReconnectingBroker['parts'], options: BrokerOptions) {
    this.parts = parts;
    this.options = options;
    this.names = options.names ?? { program: 'agent', ...CONFIGURED_NAMES };
  }

  start(): void {
    if (this.isStarted || this.stopped !== undefined) return;
    this.isStarted = true;
    void this.connect();
  }

  watchState(report: (state: BrokerState) => void): Cancel {
    this.watchers.add(report);
    return () => void this.watchers.delete(report);
  }

  async publish(...message: Parameters<Broker['publish']>): Promise<boolean> {
    return this.link?.publish(...message) ?? false;
  }

  async subscribe(...subscription: Parameters<Broker['subscribe']>): Promise<boolean> {
    return this.link?.subscribe(...subscription) ?? false;
  }

  async ping(): Promise<boolean> {
    return this.link?.ping() ?? false;
  }

  stop(last?: BrokerWill): Promise<void> {
    this.stopped ??= this.disconnect(last);
    return this.stopped;
  }

  private async connect(): Promise<void> {
    const { credentials } = this.options;
    const files = credentials === undefined ? {} : await credentials().catch(() => undefined);
    if (this.stopped !== undefined) return;
    if (files === undefined) return this.retryUnusable(describeUnreadableFile(this.names));
    try {
      const client = await openMqttClient(this.options, files, {
        version: this.version,
        pingTimer: this.parts.pingTimer,
      });
      if (this.stopped === undefined) this.watch(client);
      else client.end(true);
    } catch (error) {
      this.retryUnusable(describeUnusableOptions(this.names, getErrorMessage(error)));
    }
  }

  private watch(client: MqttClient): void {
    this.attempt = client;
    client.once('connect', () => this.goOnline(client));
    watchClientEnd(client, (end) => this.onClientEnd(client, end));
  }

  private goOnline(client: MqttClient): void {
    const denied = new Set<string>();
    const link = createMqttLink({ client, clock: this.parts.clock, version: this.version }, (action) => {
      if (this.link !== link || denied.has(action)) return;
      denied.add(action);
      this.setState({ kind: 'online', version: this.version, denied: [...denied] });
    });
    this.link = link;
    this.setState({ kind: 'online', version: this.version, denied: [] });
  }

  private onClientEnd(client: MqttClient, end: ClientEnd): void {
    this.attempt = undefined;
    const wasOnline = this.link?.client === client;
    // A second holder of the client id never makes the broker unreachable.
    if (wasOnline) this.endLink();
    else this.shortLinks = 0;
    if (this.stopped !== undefined) return;
    const { url, clientId } = this.options;
    const { shortLinks, names } = this;
    const address = formatBrokerAddress(url);
    this.retryLater(adviseReconnect({ address, clientId, wasOnline, shortLinks, names, ...end }));
  }

  private endLink(): void {
    const { link } = this;
    if (link === undefined) return;
    this.link = undefined;
    const isStable = durationBetween(link.since, this.parts.clock.now().uptime) >= STABLE_AFTER;
    if (isStable) this.failures = 0;
    this.shortLinks = isStable ? 0 : this.shortLinks + 1;
    link.end();
  }

  private readonly retryUnusable = (cause: string): void =>
    this.retryLater({ cause, refused: true, otherVersion: 'no' });

  private retryLater(advice: ReconnectAdvice): void {
    const { clock, random } = this.parts;
    this.failures += 1;
    if (advice.otherVersion !== 'no') this.version = this.version === 5 ? 4 : 5;
    const wait = getReconnectWait(advice, this.failures, random.fraction());
    this.cancelRetry = clock.wakeAt(addDuration(clock.now().uptime, wait), 'broker', () => void this.connect());
    // An immediate change of version is not reported.
    if (wait > 0) this.setState({ kind: 'offline', cause: advice.cause, refused: advice.refused });
  }

  private setState(next: BrokerState): void {
    this.state = next;
    for (const report of [...this.watchers]) report(next);
  }

  private async disconnect(last: BrokerWill | undefined): Promise<void> {
    this.cancelRetry?.();
    const client = this.link?.client ?? this.attempt;
    const goodbye = { clock: this.parts.clock, wait: LEAVE_TIMEOUT, name: 'broker farewell' };
    const { link } = this;
    if (link !== undefined && last !== undefined)
      await waitAbortable<boolean>(
        goodbye,
        (finish) => void link.publish(last.topic, last.payload, { retain: true }).then(finish),
      );
    if (client !== undefined) {
      const isForced = this.link === undefined;
      await waitAbortable<true>(goodbye, (finish) => void client.end(isForced, () => finish(true)));
      client.end(true);
    }
    this.endLink();
    this.state = { kind: 'offline', cause: 'the agent closed the link to the broker', refused: false };
  }
}

function formatBrokerAddress(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'mqtts:' ? 8883 : 1883) : port}`;
}
