/** The JSON documents of the MQTT tree: what the agent knows of signal, loads and itself, with words. Computes nothing. */

import type { Config, Level } from '../config/config.ts';
import type { Decision } from '../control/control.ts';
import type { SignalView } from '../signal/view.ts';
import { type Instant, inMinutes, iso } from '../units.ts';

const round = (value: number, digits: number) => Number(value.toFixed(digits));
const timeOf = (at: Instant | undefined) => (at === undefined ? null : iso(at));

/** `…/signal` */
export function signalJson({ region, index, rate, outlook }: SignalView, words: string, now: Instant) {
  return {
    time: iso(now),
    region: region ?? null,
    index: index === undefined ? null : round(index.value, 2),
    basis: index?.basis ?? outlook?.basis ?? 'fail-safe',
    validUntil: timeOf(index?.validUntil),
    flat: index?.flat ?? false,
    rate: rate === undefined ? null : round(rate.value, 2),
    units: 'lbs_co2_per_mwh',
    words,
  };
}

const isRunning = (level: Level) => level === 'on' || level === 'recommend' || level === 'force';

/** What an override asks for, or `auto`. */
function overrideOf({ why, wish, wanted }: Decision): 'on' | 'off' | 'auto' {
  const speaking = wish ?? why;
  if (speaking !== 'override' && speaking !== 'remote-override') return 'auto';
  return isRunning(wanted) ? 'on' : 'off';
}

/** `…/loads/<load>` */
export function loadJson(decision: Decision, words: string) {
  const { at, level, wanted, why, wish, priority, basis, index, rate, until, next, job, energy } = decision;
  return {
    time: iso(at),
    level,
    running: isRunning(level),
    wanted,
    why,
    wish: wish ?? null,
    words,
    priority,
    basis,
    override: overrideOf(decision),
    index: index === undefined ? null : round(index.value, 2),
    rate: rate === undefined ? null : { value: round(rate.value, 2), units: rate.units },
    until: timeOf(until),
    next: next === undefined ? null : { level: next.level, at: iso(next.at) },
    job:
      job === undefined
        ? null
        : {
            by: iso(job.by),
            needMinutes: round(inMinutes(job.need), 1),
            doneMinutes: round(inMinutes(job.done), 1),
            shortfallMinutes: round(inMinutes(job.shortfall), 1),
          },
    energyKwh: energy === undefined ? null : round(energy, 3),
  };
}

export interface Info {
  readonly startedAt: Instant;
  readonly region?: string;
  readonly regionFullName?: string;
  readonly mapLastUpdated?: Instant;
}

/** `…/info` */
export function infoJson({ startedAt, region, regionFullName, mapLastUpdated }: Info, config: Config, version: string) {
  return {
    version,
    device: config.device,
    startedAt: iso(startedAt),
    region: region ?? null,
    regionFullName: regionFullName ?? null,
    mapLastUpdated: timeOf(mapLastUpdated),
    signalType: config.service.signalType,
    timezone: config.place.timezone,
    loads: config.loads.map(({ name, type, output, power, shadow }) => ({
      name,
      type,
      output: output.kind,
      powerKw: power,
      shadow,
    })),
  };
}
