/** The level that an MQTT device reports, compared with the current that its last command allows. */

import type { DeviceCurrent, Level, MqttOutputConfig } from '../../domain/load-types.ts';
import type { BrokerMessage } from '../../domain/ports.ts';
import type { DeviceReading } from '../output.ts';
import { parseDeviceState, readNumber, readValue } from './parse-device-state.ts';

interface LevelNews {
  /** Undefined when the message neither reports the level nor changes what is known of it. */
  readonly reading?: DeviceReading | undefined;
  /** Whether the message reports the level; one may report the current alone. */
  readonly isState: boolean;
}

export interface ReportedLevel {
  readonly topics: readonly string[];
  /** Takes a report of the level or the current. */
  receive(message: BrokerMessage): LevelNews;
  /** The last report, unless it was forgotten since. */
  reading(): DeviceReading | undefined;
  /** Reports of the level so far, and those of the current that changed the reading; a level the same as before counts. */
  reportCount(): number;
  /** The command that is being sent; `current`: of a charger that is lowered. With a higher one it is not on as commanded. */
  expectLevel(level: Level | undefined, current: DeviceCurrent | undefined): void;
  /** Whether the device has reported the current that it allows. */
  isCurrentKnown(): boolean;
  /** That current, in amperes; undefined where its state alone tells it. */
  reportedAmps(): number | undefined;
  forget(): void;
}

export function createReportedLevel(config: MqttOutputConfig): ReportedLevel {
  const { stateTopic, current } = config;
  let statePayload: Uint8Array | undefined;
  let amps: number | undefined;
  let expected: DeviceCurrent | undefined;
  /** By the last command "on". */
  let allowedAmps = Infinity;
  let reportCount = 0;

  const reading = (): DeviceReading | undefined => {
    if (statePayload === undefined) return undefined;
    const stateOn = expected?.stateOn ?? config.stateOn;
    const found = parseDeviceState(statePayload, { ...config, ...(stateOn === undefined ? {} : { stateOn }) });
    if (found === 'other' && allowsCurrent(statePayload, config)) return 'other-current';
    const isExceeded = expected !== undefined && amps !== undefined && amps > expected.amps;
    return found === 'on' && isExceeded ? 'other-current' : found;
  };

  return {
    topics: [current?.topic, stateTopic].flatMap((topic) => topic ?? []),
    receive({ topic, payload }) {
      const before = reading();
      if (topic === current?.topic) amps = readNumber(payload, current);
      const isState = topic === stateTopic && parseDeviceState(payload, config) !== undefined;
      if (isState) statePayload = payload;
      const found = reading();
      if (!isState && found === before) return { isState };
      reportCount += 1;
      return { reading: found, isState };
    },
    reading,
    reportCount: () => reportCount,
    expectLevel(level, next) {
      const nextAmps = level === 'on' ? (next?.amps ?? Infinity) : allowedAmps;
      // A charger that is raised reports it; until then its last report tells nothing of what it will allow.
      if (nextAmps > allowedAmps) amps = undefined;
      allowedAmps = nextAmps;
      expected = level === 'on' ? next : undefined;
    },
    reportedAmps: () => amps,
    isCurrentKnown: () => amps !== undefined || expected?.stateOn !== undefined,
    forget() {
      statePayload = undefined;
      amps = undefined;
    },
  };
}

/** Of a charger whose state is its current: whether it allows at least the least that it can be lowered to. */
const allowsCurrent = (payload: Uint8Array, { lowerCurrents: [least] = [], statePath }: MqttOutputConfig) =>
  least?.stateOn !== undefined && Number(readValue(payload, statePath)) >= Number(least.stateOn);
