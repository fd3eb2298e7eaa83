/** What the running agent has planned: read from its state directory, nothing is asked of the service or of the agent. */

import { createDocumentStore } from '../../agent/document-store.ts';
import { createPersistence } from '../../agent/persistence.ts';
import { formatHoursMinutes } from '../../control/explain.ts';
import { computeJobEmissions } from '../../control/planning/schedule-job.ts';
import type { LoadState } from '../../control/step.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { toLocalTime } from '../../domain/local-time.ts';
import { formatLocalTime } from '../../domain/text-format.ts';
import { toLocalDay } from '../../domain/time-zone.ts';
import {
  type Duration,
  days,
  formatInstant,
  type Instant,
  minutes,
  RATE_UNITS,
  type Uptime,
} from '../../domain/units.ts';
import { createFileDisk } from '../../platform/file-disk.ts';
import { buildSignalView } from '../../signal/freshness.ts';
import type { Horizon } from '../../signal/signal-view.ts';
import type { PlanResult } from '../lab/plan-result.ts';
import { type Arguments, JobError, type Terminal } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';

export interface RunningPlan extends Omit<PlanResult, 'emissions'> {
  /** Of what is still to come; null when nothing held tells of it. */
  readonly emissions: { readonly value: number | null; readonly units: string };
  readonly load: string;
  readonly by: string;
  readonly needMinutes: number;
  readonly doneMinutes: number;
  /** When the plan was made. */
  readonly madeAt: string;
  /** By what share the loads' plans cost more than if each had the power budget to itself. */
  readonly gapToBound: number;
  /** The clock no longer allows to wait: it runs until done. */
  readonly mustRun: boolean;
  /** The deadline has passed, and no agent has run since to plan for the next. */
  readonly isPast: boolean;
}

export interface RunningPlans {
  readonly loads: readonly RunningPlan[];
  /** Of the house. */
  readonly timezone: string;
}

/** The plans of all loads that have a job, as last saved. Throws `JobError` when no agent has saved any. */
export async function readRunningPlans(args: Arguments, terminal: Terminal, now: Instant): Promise<RunningPlans> {
  const config = await loadConfigWithPaths(args.text('config'), { env: terminal.env, state: args.text('state') });
  const store = createDocumentStore(createFileDisk(config.state), () => {});
  const options = {
    signalType: config.service.signalType,
    boot: undefined,
    note: (text: string) => terminal.err(`${text}\n`),
  };
  const { control, signalData: held } = await createPersistence(store, options);
  if (control === undefined)
    throw new JobError(`${config.state} holds no plan; no agent has run there; start one with gridtide run`);
  const moment = { wall: now, uptime: 0 as Uptime, trusted: true };
  const outlook = held && buildSignalView(held, moment, { ties: config.ties, ownRegion: held.region }).horizon;
  const loads = config.loads.flatMap((load) => {
    const state = control.state.loads.find(({ name }) => name === load.name);
    return state?.job === undefined ? [] : [buildRunningPlan({ load, state, job: state.job, outlook, now })];
  });
  return { loads, timezone: config.place.timezone };
}

interface SavedLoad {
  readonly load: LoadConfig;
  readonly state: LoadState;
  readonly job: NonNullable<LoadState['job']>;
  readonly outlook: Horizon | undefined;
  readonly now: Instant;
}

function buildRunningPlan({ load, state, job, outlook, now }: SavedLoad): RunningPlan {
  const runs = state.plan?.runs ?? [];
  const isKnown = outlook?.units === RATE_UNITS && runs.some(({ to }) => to > outlook.from);
  const value = isKnown ? Math.round(computeJobEmissions(outlook, runs, load.powerKw) * 1e6) / 1e6 : null;
  const minutesOf = (length: number) => Math.round(length / 60_000);
  return {
    load: load.name,
    by: formatInstant(job.by),
    needMinutes: minutesOf(job.need),
    doneMinutes: minutesOf(job.done),
    madeAt: formatInstant(state.plan?.madeAt ?? job.from),
    gapToBound: state.plan?.optimalityGap ?? 0,
    mustRun: job.forcedByDeadline,
    isPast: job.by < now,
    slots: runs.map(({ from, to }) => ({
      start: formatInstant(from),
      minutes: minutesOf(to - from),
      kw: load.powerKw,
    })),
    starts: runs.length,
    emissions: { value, units: 'kg' },
    feasible: (state.decision?.job?.shortfall ?? 0) === 0,
    shortfallMinutes: minutesOf(state.decision?.job?.shortfall ?? (0 as Duration)),
  };
}

/** A moment of the JSON document as the clocks of the house show it. */
function formatHouseTime(timezone: string, time: string): string {
  const at = Date.parse(time) as Instant;
  const day = formatInstant((toLocalDay(timezone, at) * days(1)) as Instant).slice(0, 10);
  return `${day} ${formatLocalTime(toLocalTime(timezone, at))}`;
}

function formatPlanEnd(plan: RunningPlan, local: (said: string) => string): string {
  const { by, madeAt, isPast, feasible, shortfallMinutes, emissions, gapToBound } = plan;
  const { value, units } = emissions;
  if (isPast)
    return `the deadline ${local(by)} is past and this plan is of ${local(madeAt)}: no agent has run since; start one with gridtide run`;
  if (!feasible) return `${formatHoursMinutes(minutes(shortfallMinutes))} will be missing`;
  const kg = value === null ? 'what it will emit is not known now' : `${value.toFixed(2)} ${units} CO2 still to come`;
  if (gapToBound === 0) return kg;
  return `${kg}; the loads together cost ${(100 * gapToBound).toFixed(1)} % more than if each had the power budget to itself`;
}

/** One block of lines a load. */
export function formatRunningPlans({ loads, timezone }: RunningPlans): string {
  if (loads.length === 0) return 'no load has a job\n';
  const local = (said: string) => formatHouseTime(timezone, said);
  const blocks = loads.map((plan) => {
    const { load, by, needMinutes, doneMinutes, mustRun, slots } = plan;
    const share = `${formatHoursMinutes(minutes(doneMinutes))} of ${formatHoursMinutes(minutes(needMinutes))}`;
    const head = `${load}: ${share} by ${local(by)}${mustRun ? ', can wait no longer' : ''}`;
    const lines = slots.map(
      ({ start, minutes: length, kw }) =>
        `  ${local(start)}  ${formatHoursMinutes(minutes(length)).padStart(11)}  ${kw} kW`,
    );
    return [head, ...lines, `  ${formatPlanEnd(plan, local)}`].join('\n');
  });
  return `times in ${timezone}\n${blocks.join('\n')}\n`;
}
