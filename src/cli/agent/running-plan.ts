/** The schedules that the running agent has planned, read from its state directory. */

import { createDocumentStore } from '../../agent/document-store.ts';
import { loadSavedState } from '../../agent/persistence.ts';
import { computeJobEmissions } from '../../control/planning/schedule-job.ts';
import type { LoadState } from '../../control/step.ts';
import { formatDuration } from '../../domain/duration-text.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { formatLocalDateTime } from '../../domain/local-time.ts';
import { formatMoney } from '../../domain/tariff.ts';
import { type Duration, formatInstant, type Instant, minutes, RATE_UNITS, type Uptime } from '../../domain/units.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { findOtherAgent } from '../../platform/single-instance.ts';
import { buildSignalView } from '../../signal/freshness.ts';
import type { Horizon } from '../../signal/signal-view.ts';
import type { PlanResult } from '../lab/plan-result.ts';
import { type Arguments, JobError, type Terminal } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';

interface RunningPlan extends Omit<PlanResult, 'emissions' | 'bill'> {
  /** Of the rest of the schedule; null when no forecast covers it. */
  readonly emissions: { readonly value: number | null; readonly units: string };
  /** As expected when it was made; null without prices. */
  readonly bill: { readonly value: number; readonly currency: string; readonly spent: number } | null;
  readonly load: string;
  readonly by: string;
  readonly needMinutes: number;
  readonly doneMinutes: number;
  /** When the plan was made. */
  readonly madeAt: string;
  /** By what share the plans of all loads cost more than if each had the power budget alone. */
  readonly gapToBound: number;
  /** The deadline forces the load to run until done. */
  readonly mustRun: boolean;
  /** By the clock of this machine the deadline has passed. */
  readonly isPast: boolean;
}

export interface RunningPlans {
  readonly loads: readonly RunningPlan[];
  readonly timezone: string;
  /** An agent runs on the saved state, perhaps by another clock than this machine's. */
  readonly isAgentSeen: boolean;
}

/** The plans of all loads that have a job, as last saved. Throws `JobError` when no agent has saved any. */
export async function readRunningPlans(args: Arguments, terminal: Terminal, now: Instant): Promise<RunningPlans> {
  const options = { state: args.text('state'), allowsMissingCredentials: true };
  const config = await loadConfigWithPaths(args.text('config'), terminal, options);
  const disk = createSharedFileDisk(config.state);
  const store = createDocumentStore(disk, () => {});
  const saved = {
    signalType: config.service.signalType,
    note: (text: string) => terminal.err(`${text}\n`),
  };
  const { control, signalData } = await loadSavedState([store], saved);
  if (control === undefined)
    throw new JobError(
      `${config.state} has no plan because no agent has run with this state directory; name that of the running agent with --state DIR, or start one with gridtide run`,
    );
  const isAgentSeen = (await findOtherAgent(disk)) !== undefined;
  if (!isAgentSeen)
    terminal.err(
      `no running agent of ${config.state} is seen from here: no load follows this plan, unless one runs in a container or hidden from this user; start one with gridtide run\n`,
    );
  const moment = { wall: now, uptime: 0 as Uptime, trusted: true };
  const horizon =
    signalData && buildSignalView(signalData, moment, { ties: config.ties, ownRegion: signalData.region }).horizon;
  const loads = config.loads.flatMap((load) => {
    const state = control.state.loads.find(({ name }) => name === load.name);
    return state?.job === undefined ? [] : [buildRunningPlan({ load, state, job: state.job, horizon, now })];
  });
  return { loads, timezone: config.place.timezone, isAgentSeen };
}

interface SavedLoad {
  readonly load: LoadConfig;
  readonly state: LoadState;
  readonly job: NonNullable<LoadState['job']>;
  readonly horizon: Horizon | undefined;
  readonly now: Instant;
}

function buildRunningPlan({ load, state, job, horizon, now }: SavedLoad): RunningPlan {
  const runs = state.plan?.runs ?? [];
  const isKnown = horizon?.units === RATE_UNITS && runs.some(({ to }) => to > horizon.from);
  const mass = isKnown ? computeJobEmissions(horizon, runs, load.powerKw) : state.plan?.expected?.kg;
  const value = mass === undefined ? null : Math.round(mass * 1e6) / 1e6;
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
    bill: buildBill(load, state, job),
    feasible: (state.decision?.job?.shortfall ?? 0) === 0,
    shortfallMinutes: minutesOf(state.decision?.job?.shortfall ?? (0 as Duration)),
  };
}

function buildBill({ powerKw }: LoadConfig, { plan }: LoadState, { bill }: SavedLoad['job']): RunningPlan['bill'] {
  if (plan?.expected === undefined) return null;
  const { cost, currency } = plan.expected;
  return { value: roundToCents(cost), currency, spent: roundToCents(powerKw * (bill?.spent ?? 0)) };
}

const roundToCents = (value: number) => Math.round(value * 100) / 100;

function formatPlanEnd(plan: RunningPlan, isAgentSeen: boolean, local: (time: string) => string): string {
  const { by, madeAt, isPast, feasible, shortfallMinutes, emissions, gapToBound, bill } = plan;
  const { value, units } = emissions;
  if (isPast && isAgentSeen)
    return `by the clock of this machine the deadline ${local(by)} has passed; this plan is from ${local(madeAt)}: the running agent follows a clock of its own (gridtide run --now), or has not saved a newer one yet`;
  if (isPast)
    return `the deadline ${local(by)} has passed and this plan is from ${local(madeAt)}: no agent has run since; start one with gridtide run`;
  if (!feasible) return `${formatDuration(minutes(shortfallMinutes))} will be missing`;
  const kg =
    value === null ? 'no saved forecast gives its emissions yet' : `${value.toFixed(2)} ${units} CO2 still to come`;
  const sums =
    bill === null
      ? kg
      : `${kg}, ${formatMoney(bill.value, bill.currency)}; ${formatMoney(bill.spent, bill.currency)} spent`;
  if (gapToBound === 0) return sums;
  return `${sums}; the loads together cost ${(100 * gapToBound).toFixed(1)} % more than if each had the power budget to itself`;
}

/** One block of lines per load. */
export function formatRunningPlans({ loads, timezone, isAgentSeen }: RunningPlans): string {
  if (loads.length === 0) return 'no load has a job\n';
  const local = (time: string) => formatLocalDateTime(timezone, Date.parse(time) as Instant);
  const blocks = loads.map((plan) => {
    const { load, by, needMinutes, doneMinutes, mustRun, slots } = plan;
    const share = `${formatDuration(minutes(doneMinutes))} of ${formatDuration(minutes(needMinutes))}`;
    const head = `${load}: ${share} by ${local(by)}${mustRun ? ', must run now to meet its deadline' : ''}`;
    const lines = slots.map(
      ({ start, minutes: length, kw }) => `  ${local(start)}  ${formatDuration(minutes(length)).padStart(7)}  ${kw} kW`,
    );
    return [head, ...lines, `  ${formatPlanEnd(plan, isAgentSeen, local)}`].join('\n');
  });
  return `times in ${timezone}\n${blocks.join('\n')}\n`;
}
