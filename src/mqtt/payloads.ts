/** The JSON documents of the MQTT tree: the signal, each load, the agent itself. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control-types.ts';
import { isRunning } from '../domain/levels.ts';
import { formatInstant, type Instant, inMinutes, RATE_UNITS } from '../domain/units.ts';
import type { DeviceStatus } from '../outputs/output.ts';
import type { SignalView } from '../signal/signal-view.ts';

const roundTo = (value: number, digits: number) => Number(value.toFixed(digits));
const formatTimeOrNull = (at: Instant | undefined) => (at === undefined ? null : formatInstant(at));

/** `…/signal` */
export function buildSignalPayload({ region, index, rate, horizon }: SignalView, text: string, now: Instant) {
  return {
    time: formatInstant(now),
    region: region ?? null,
    index: index === undefined ? null : roundTo(index.value, 2),
    basis: index?.basis ?? horizon?.basis ?? 'fail-safe',
    validUntil: formatTimeOrNull(index?.validUntil),
    flat: index?.flat ?? false,
    rate: rate === undefined ? null : roundTo(rate.value, 2),
    units: RATE_UNITS,
    text,
  };
}

/** What an override asks for, or `auto`. */
function getOverrideState({ why, wantedWhy, wanted }: Decision): 'on' | 'off' | 'auto' {
  const reason = wantedWhy ?? why;
  if (reason !== 'override' && reason !== 'remote-override') return 'auto';
  return isRunning(wanted) ? 'on' : 'off';
}

/** `…/loads/<load>`: `level` is decided, `told` was sent to the device, `confirmed` the device reports. */
export function buildLoadPayload(decision: Decision, text: string, device: DeviceStatus = {}) {
  const { at, level, wanted, why, wantedWhy, priority, basis, index, rate, until, next, job, energy } = decision;
  return {
    time: formatInstant(at),
    level,
    told: device.told ?? null,
    confirmed: device.confirmed ?? null,
    available: device.available ?? null,
    running: isRunning(level),
    wanted,
    why,
    wantedWhy: wantedWhy ?? null,
    text,
    priority,
    basis,
    override: getOverrideState(decision),
    index: index === undefined ? null : roundTo(index.value, 2),
    rate: rate === undefined ? null : { value: roundTo(rate.value, 2), units: rate.units },
    until: formatTimeOrNull(until),
    next: next === undefined ? null : { level: next.level, at: formatInstant(next.at) },
    job:
      job === undefined
        ? null
        : {
            by: formatInstant(job.by),
            needMinutes: roundTo(inMinutes(job.need), 1),
            doneMinutes: roundTo(inMinutes(job.done), 1),
            shortfallMinutes: roundTo(inMinutes(job.shortfall), 1),
          },
    energyKwh: energy === undefined ? null : roundTo(energy, 3),
  };
}

export interface Info {
  readonly startedAt: Instant;
  readonly region?: string;
  readonly regionFullName?: string;
  readonly mapLastUpdated?: Instant;
}

/** `…/info` */
export function buildInfoPayload(
  { startedAt, region, regionFullName, mapLastUpdated }: Info,
  config: Config,
  version: string,
) {
  return {
    version,
    device: config.device,
    startedAt: formatInstant(startedAt),
    region: region ?? null,
    regionFullName: regionFullName ?? null,
    mapLastUpdated: formatTimeOrNull(mapLastUpdated),
    signalType: config.service.signalType,
    timezone: config.place.timezone,
    loads: config.loads.map(({ name, type, output, powerKw, observeOnly }) => ({
      name,
      type,
      output: output.kind,
      powerKw,
      observeOnly,
    })),
  };
}
