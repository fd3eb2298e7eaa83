/** The link to one MQTT device: follows the broker's link, reads the device's topics, and waits for changes of what it reports. */

import type { Broker, BrokerMessage, BrokerState, Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Duration } from '../domain/units.ts';
import { createDeviceReports, type DeviceReports, type DeviceReportsParts } from './device-reports.ts';

export interface DeviceLinkParts extends DeviceReportsParts {
  readonly broker: Broker;
  /** Called at each start of the broker's link, before anything is read from the device or sent to it. */
  readonly acquire: () => Promise<void>;
  /** Called once the device's topics are subscribed. */
  readonly onUp: () => Promise<void>;
}

export interface DeviceLink extends Omit<DeviceReports, 'receive' | 'forget' | 'topics'> {
  /** The broker's link is up, and it is known whether another agent has the device. */
  isOnline(): boolean;
  isStarted(): boolean;
  /** Requests the state of the device, where the device has a topic for that. */
  query(): Promise<void>;
  /** Follows the broker's link from now on; may be called again. */
  start(): Promise<void>;
  stop(): void;
  /** Resolves at once when `isDone`, else after a change makes it so or after `length`. */
  waitUntil(isDone: () => boolean, length: Duration): Promise<void>;
}

export function createDeviceLink(parts: DeviceLinkParts): DeviceLink {
  const { load, broker, clock, acquire, onUp } = parts;
  const { query } = parts.config;
  const waits = createWaits(load, clock);
  const reports = createDeviceReports({
    ...parts,
    onChange() {
      waits.check();
      parts.onChange();
    },
  });
  let wasOnline = false;
  let isAcquired = false;
  let linkCount = 0;
  let unwatch: Cancel | undefined;

  const sendQuery = async (): Promise<void> => {
    if (query !== undefined) await broker.publish(query.topic, query.payload, { retain: false });
  };

  const receive = (message: BrokerMessage): void => {
    if (unwatch !== undefined) reports.receive(message);
  };

  const resume = async (): Promise<void> => {
    linkCount += 1;
    const ownLink = linkCount;
    await acquire();
    if (ownLink !== linkCount) return;
    isAcquired = broker.state.kind === 'online';
    for (const topic of reports.topics) await broker.subscribe(topic, receive, { wantsRetained: true });
    await sendQuery();
    if (ownLink === linkCount) await onUp();
  };

  const onLinkState = (state: BrokerState): void => {
    const isOnline = state.kind === 'online';
    if (!isOnline && wasOnline) {
      isAcquired = false;
      reports.forget();
    }
    waits.check();
    if (isOnline && !wasOnline) void resume();
    wasOnline = isOnline;
  };

  return {
    ...reports,
    isOnline: () => isAcquired && broker.state.kind === 'online',
    isStarted: () => unwatch !== undefined,
    query: sendQuery,
    async start() {
      if (unwatch !== undefined) return;
      unwatch = broker.watchState(onLinkState);
      wasOnline = broker.state.kind === 'online';
      if (wasOnline) await resume();
    },
    stop() {
      unwatch?.();
      unwatch = undefined;
      linkCount += 1;
      reports.stop();
      waits.check();
    },
    waitUntil: waits.waitUntil,
  };
}

/** Promises for conditions that `check` tests again. */
function createWaits(load: string, clock: Clock) {
  const listeners = new Set<() => void>();
  return {
    check() {
      for (const listener of [...listeners]) listener();
    },
    waitUntil: (isDone: () => boolean, length: Duration): Promise<void> =>
      new Promise((resolve) => {
        if (isDone()) return resolve();
        const end = () => {
          listeners.delete(listener);
          cancelTimeout();
          resolve();
        };
        const listener = () => {
          if (isDone()) end();
        };
        listeners.add(listener);
        const cancelTimeout = clock.wakeAt(addDuration(clock.now().uptime, length), `report of ${load}`, end);
      }),
  };
}
