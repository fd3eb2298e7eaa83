/** The level that an MQTT device reports, compared with the current that its last command allows. */

import type { DeviceCurrent, Level, MqttOutputConfig } from '../../domain/load-types.ts';
import type { BrokerMessage } from '../../domain/ports.ts';
import type { DeviceReading } from '../output.ts';
import { parseDeviceState, readNumber } from './parse-device-state.ts';

export interface ReportedLevel {
  readonly topics: readonly string[];
  /** The reading after a report of the level or the current; undefined when the message tells neither. */
  receive(message: BrokerMessage): DeviceReading | undefined;
  /** The last report, unless it was forgotten since. */
  reading(): DeviceReading | undefined;
  /** Reports of level or current so far; a report the same as before counts. */
  reportCount(): number;
  /** The command that is being sent; `current`: of a charger that is lowered. With a higher one it is not on as commanded. */
  expectLevel(level: Level | undefined, current: DeviceCurrent | undefined): void;
  /** Whether the device has reported the current that it allows. */
  isCurrentKnown(): boolean;
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
    return found === 'on' && expected !== undefined && amps !== undefined && amps > expected.amps ? 'other' : found;
  };

  return {
    topics: [current?.topic, stateTopic].flatMap((topic) => topic ?? []),
    receive({ topic, payload }) {
      if (topic === current?.topic) amps = readNumber(payload, current);
      else if (topic !== stateTopic) return undefined;
      if (topic === stateTopic && parseDeviceState(payload, config) !== undefined) statePayload = payload;
      const found = reading();
      if (found !== undefined) reportCount += 1;
      return found;
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
    isCurrentKnown: () => amps !== undefined || expected?.stateOn !== undefined,
    forget() {
      statePayload = undefined;
      amps = undefined;
    },
  };
}
