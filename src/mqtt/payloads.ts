/** The JSON documents of the MQTT tree: the signal, each load, the agent itself. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control-types.ts';
import { getPowerPortion } from '../domain/currents.ts';
import { isRunning, listMqttDevices } from '../domain/levels.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import { chooseRateUnit, convertRate, type RateUnit } from '../domain/rate-units.ts';
import { getThresholds } from '../domain/thresholds.ts';
import { formatInstant, type Instant, inMinutes, RATE_UNITS } from '../domain/units.ts';
import type { DeviceStatus } from '../outputs/output.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { acceptsCommands, listCommandLevels } from './parse-command.ts';
import { type ControlFacts, type ExpectedRun, formatTimeOrNull, listPlannedRuns, roundTo } from './watcher-payloads.ts';

/** In which unit rates are published. */
export const getRateUnit = ({ units, place }: Pick<Config, 'units' | 'place'>): RateUnit =>
  chooseRateUnit({ ...(units && { units }), timezone: place.timezone });

/** `…/signal` */
export function buildSignalPayload(view: SignalView, facts: { text: string; now: Instant; unit: RateUnit }) {
  const { region, index, rate, horizon } = view;
  const { text, now, unit } = facts;
  return {
    time: formatInstant(now),
    region: region ?? null,
    index: index === undefined ? null : roundTo(index.value, 2),
    indexTime: formatTimeOrNull(index?.at),
    basis: index?.basis ?? horizon?.basis ?? 'fail-safe',
    validUntil: formatTimeOrNull(index?.validUntil),
    flat: index?.flat ?? false,
    rate: rate === undefined ? null : roundTo(convertRate(rate.value, unit), 2),
    rateTime: formatTimeOrNull(rate?.at),
    units: unit,
    text,
  };
}

/** The level of an override, or `auto`. */
function getOverrideState({ why, wantedWhy, wanted }: Decision): Level | 'auto' {
  const reason = wantedWhy ?? why;
  return reason === 'override' || reason === 'remote-override' ? wanted : 'auto';
}

const toOnOff = (level: Level | 'auto') => (level === 'auto' ? level : isRunning(level) ? 'on' : 'off');

/** What is published of a load beside its decision and its device. */
export interface LoadFacts {
  readonly unit: RateUnit;
  readonly load: LoadConfig;
  readonly control?: ControlFacts;
  readonly energyTodayKwh?: number;
}

/** When it starts and ends next: by its plan, else by the next change that the decision foresees, else as expected by the forecast. */
function findNextRun({ at, level, next }: Decision, { expected = [], ...control }: Partial<ControlFacts> = {}) {
  const planned = listPlannedRuns(control);
  const isExpected = planned.length === 0 && next === undefined && expected.length > 0;
  const runs: readonly ExpectedRun[] = isExpected ? expected : planned;
  const ahead = runs.filter(({ to = Infinity }) => to > at);
  const present = isRunning(level) ? ahead.find(({ from = at }) => from <= at) : undefined;
  const following = ahead.find(({ from = at }) => from > at);
  const change = next === undefined ? {} : isRunning(next.level) ? { start: next.at } : { end: next.at };
  const start = following?.from ?? change.start;
  const end = isRunning(level) ? (present?.to ?? change.end) : following?.to;
  return { nextStart: formatTimeOrNull(start), nextEnd: formatTimeOrNull(end), nextIsExpected: isExpected };
}

function convertDecisionRate({ rate }: Decision, unit: RateUnit) {
  if (rate === undefined) return null;
  if (rate.units !== RATE_UNITS) return { value: roundTo(rate.value, 2), units: rate.units };
  return { value: roundTo(convertRate(rate.value, unit), 2), units: unit };
}

function formatVehicle(vehicle: DeviceStatus['vehicle']): 'away' | 'connected' | 'charging' | null {
  if (vehicle?.connected === undefined) return null;
  if (!vehicle.connected) return 'away';
  return vehicle.charging === true ? 'charging' : 'connected';
}

/** `…/loads/<load>`: `level` is decided, `told` was sent to the device, `confirmed` the device reports. */
export function buildLoadPayload(decision: Decision, text: string, facts: LoadFacts, device: DeviceStatus = {}) {
  const { at, level, wanted, why, wantedWhy, priority, basis, index, until, next, job, energy } = decision;
  return {
    time: formatInstant(at),
    level,
    told: device.sent ?? null,
    confirmed: device.confirmed ?? null,
    available: device.available ?? null,
    vehicle: formatVehicle(device.vehicle),
    running: isRunning(level),
    wanted,
    why,
    wantedWhy: wantedWhy ?? null,
    text,
    priority,
    basis,
    override: toOnOff(getOverrideState(decision)),
    overrideLevel: getOverrideState(decision),
    paused: facts.control?.paused ?? false,
    ...getThresholds(facts.load, facts.control?.thresholds),
    index: index === undefined ? null : roundTo(index.value, 2),
    rate: convertDecisionRate(decision, facts.unit),
    until: formatTimeOrNull(until),
    next: next === undefined ? null : { level: next.level, at: formatInstant(next.at) },
    ...findNextRun(decision, facts.control),
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
    powerKw: isRunning(level) ? roundTo(facts.load.powerKw * getPowerPortion(decision.current), 3) : 0,
    energyTodayKwh: facts.energyTodayKwh ?? null,
    money: buildMoneyPayload(decision),
  };
}

/** Null without a tariff. */
function buildMoneyPayload({ money }: Decision) {
  if (money === undefined) return null;
  const { currency, price, spent, expected, objective } = money;
  return {
    currency,
    pricePerKwh: roundTo(price, 5),
    objective: objective ?? 'carbon',
    spent: spent === undefined ? null : roundTo(spent, 3),
    expectedCost: expected === undefined ? null : roundTo(expected.cost, 3),
    expectedKg: expected?.kg === undefined ? null : roundTo(expected.kg, 3),
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
    units: getRateUnit(config),
    acceptsCommands: config.mqtt !== undefined && acceptsCommands(config.mqtt),
    loads: config.loads.map((load) => ({
      name: load.name,
      type: load.type,
      output: load.output.kind,
      commandTopics: listMqttDevices(load.output).map(({ commandTopic }) => commandTopic),
      levels: listCommandLevels(load),
      powerKw: load.powerKw,
      onBelow: load.onBelow,
      offAbove: load.offAbove,
      hasGoal: load.goal !== undefined,
      observeOnly: load.observeOnly,
    })),
  };
}
