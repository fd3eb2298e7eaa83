/** The link to one MQTT device: its reports, its availability, and waits for changes of either. */

import type { MqttOutputConfig } from '../domain/load-types.ts';
import type { Broker, BrokerMessage, BrokerState, Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Duration } from '../domain/units.ts';
import { parseAvailability, parseDeviceState } from './devices/parse-device-state.ts';
import type { DeviceReading } from './output.ts';

export interface DeviceLinkParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly clock: Clock;
  /** Called with each report of the device. */
  readonly onReading: (reading: DeviceReading) => void;
  /** Called when the device's last will says that it is gone, and when it is back. */
  readonly onAvailability: (isAvailable: boolean) => void;
  /** Called at each start of the broker's link, once the device's topics are subscribed. */
  readonly onUp: () => Promise<void>;
  /** Called after each change of what follows. */
  readonly onChange: () => void;
}

export interface DeviceLink {
  /** What the device reported last: on this link of the broker, not before its last will, and not too long ago. */
  reading(): DeviceReading | undefined;
  /** Reports so far; a report the same as before counts. */
  reportCount(): number;
  /** False after the device's last will; undefined where the device leaves none. */
  isAvailable(): boolean | undefined;
  isOnline(): boolean;
  isStarted(): boolean;
  /** Asks the device for its state, where it takes such a question. */
  query(): Promise<void>;
  /** Follows the broker's link from now on; may be called again. */
  start(): Promise<void>;
  stop(): void;
  /** Resolves at once when `isDone`, else after a change makes it so or after `length`. */
  waitUntil(isDone: () => boolean, length: Duration): Promise<void>;
}

export function createDeviceLink(parts: DeviceLinkParts): DeviceLink {
  const { load, config, broker, clock, onReading, onAvailability, onUp } = parts;
  const { stateTopic, availability, query, stateMaxAge } = config;
  const waits = createWaits(load, clock);
  let reading: DeviceReading | undefined;
  let reportCount = 0;
  let isAvailable: boolean | undefined;
  let wasOnline = false;
  let unwatch: Cancel | undefined;
  let ageTimer: Cancel | undefined;

  const setReading = (next: DeviceReading | undefined): void => {
    ageTimer?.();
    reading = next;
    if (next !== undefined && stateMaxAge !== undefined)
      ageTimer = clock.wakeAt(addDuration(clock.now().uptime, stateMaxAge), `age of ${load}`, () =>
        setReading(undefined),
      );
    waits.check();
    parts.onChange();
  };

  const receiveState = ({ payload }: BrokerMessage): void => {
    const found = unwatch === undefined ? undefined : parseDeviceState(payload, config);
    if (found === undefined) return;
    reportCount += 1;
    setReading(found);
    onReading(found);
  };

  const receiveAvailability = ({ payload }: BrokerMessage): void => {
    if (unwatch === undefined || availability === undefined) return;
    const found = parseAvailability(payload, availability);
    if (found === undefined || found === isAvailable) return;
    isAvailable = found;
    if (!found) setReading(undefined);
    parts.onChange();
    onAvailability(found);
  };

  const sendQuery = async (): Promise<void> => {
    if (query !== undefined) await broker.publish(query.topic, query.payload, { retain: false });
  };

  const resume = async (): Promise<void> => {
    if (availability !== undefined)
      await broker.subscribe(availability.topic, receiveAvailability, { wantsRetained: true });
    if (stateTopic !== undefined) await broker.subscribe(stateTopic, receiveState, { wantsRetained: true });
    await sendQuery();
    await onUp();
  };

  const onLinkState = (state: BrokerState): void => {
    const isOnline = state.kind === 'online';
    if (!isOnline && wasOnline) {
      isAvailable = undefined;
      setReading(undefined);
    }
    waits.check();
    if (isOnline && !wasOnline) void resume();
    wasOnline = isOnline;
  };

  return {
    reading: () => reading,
    reportCount: () => reportCount,
    isAvailable: () => isAvailable,
    isOnline: () => broker.state.kind === 'online',
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
      ageTimer?.();
      waits.check();
    },
    waitUntil: waits.waitUntil,
  };
}

/** Promises for conditions that `check` looks at again. */
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
