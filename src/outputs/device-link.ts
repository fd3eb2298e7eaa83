/** The link to one MQTT device: reads its state while the broker is there, and waits for changes of either. */

import type { Level, MqttOutputConfig } from '../domain/load-types.ts';
import type { Broker, BrokerMessage, BrokerState, Cancel, Clock, Log } from '../domain/ports.ts';
import { addDuration, type Duration } from '../domain/units.ts';
import { parseDeviceState } from './devices/parse-device-state.ts';

export interface DeviceLinkParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each level the device reports. */
  readonly onLevel: (level: Level) => void;
  /** Called at each start of the broker's link, once the state topic is subscribed. */
  readonly onUp: () => Promise<void>;
}

export interface DeviceLink {
  /** The level the device reported last. */
  reportedLevel(): Level | undefined;
  isOnline(): boolean;
  isStarted(): boolean;
  /** Follows the broker's link from now on; may be called again. */
  start(): Promise<void>;
  stop(): void;
  /** Resolves at once when `isDone`, else after a change makes it so or after `length`. */
  waitUntil(isDone: () => boolean, length: Duration): Promise<void>;
}

export function createDeviceLink({ load, config, broker, clock, log, onLevel, onUp }: DeviceLinkParts): DeviceLink {
  const { stateTopic } = config;
  /** Called at each report of the device and each change of the broker's link. */
  const listeners = new Set<() => void>();
  let reportedLevel: Level | undefined;
  let wasOnline = false;
  let unwatch: Cancel | undefined;

  const notifyListeners = () => {
    for (const listener of [...listeners]) listener();
  };

  const receiveState = ({ payload }: BrokerMessage): void => {
    if (unwatch === undefined) return;
    const level = parseDeviceState(payload, config);
    if (level === undefined) {
      log('debug', `"${load}": the state on ${stateTopic} is neither on nor off`, { load });
      return;
    }
    reportedLevel = level;
    notifyListeners();
    onLevel(level);
  };

  const resume = async (): Promise<void> => {
    if (stateTopic !== undefined) await broker.subscribe(stateTopic, receiveState, { wantsRetained: true });
    await onUp();
  };

  const onLinkState = (state: BrokerState): void => {
    notifyListeners();
    const isOnline = state.kind === 'online';
    if (isOnline && !wasOnline) void resume();
    wasOnline = isOnline;
  };

  return {
    reportedLevel: () => reportedLevel,
    isOnline: () => broker.state.kind === 'online',
    isStarted: () => unwatch !== undefined,
    async start() {
      if (unwatch !== undefined) return;
      unwatch = broker.watchState(onLinkState);
      wasOnline = broker.state.kind === 'online';
      if (wasOnline) await resume();
    },
    stop() {
      unwatch?.();
      unwatch = undefined;
      notifyListeners();
    },
    waitUntil: (isDone, length) =>
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
