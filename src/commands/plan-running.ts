/** What the running agent has planned: read from its state directory, nothing is asked of the service or of the agent. */

import { createMemory } from '../agent/memory.ts';
import { createStore } from '../agent/store.ts';
import type { LoadConfig } from '../config/config.ts';
import { kilograms } from '../control/schedule.ts';
import type { LoadState } from '../control/step.ts';
import { createDisk } from '../platform/disk.ts';
import { viewAt } from '../signal/ladder.ts';
import type { Outlook } from '../signal/view.ts';
import { type Duration, type Instant, iso, type Uptime } from '../units.ts';
import { type Arguments, JobError, type Terminal } from './command.ts';
import { locatedConfig } from './configuration.ts';
import type { Planned } from './plan.ts';

export interface RunningPlan extends Omit<Planned, 'emissions'> {
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

/** The plans of all loads that have a job, as last saved. Throws `JobError` when no agent has saved any. */
export async function runningPlans(args: Arguments, terminal: Terminal, now: Instant): Promise<readonly RunningPlan[]> {
  const config = await locatedConfig(args.text('config'), { env: terminal.env, state: args.text('state') });
  const store = createStore(createDisk(config.state), () => {});
  const options = {
    signalType: config.service.signalType,
    boot: undefined,
    note: (text: string) => terminal.err(`${text}\n`),
  };
  const { control, held } = await createMemory(store, options);
  if (control === undefined)
    throw new JobError(`${config.state} holds no plan; no agent has run there; start one with gridtide run`);
  const moment = { wall: now, uptime: 0 as Uptime, trusted: true };
  const outlook = held && viewAt(held, moment, { ties: config.ties, ownRegion: held.region }).outlook;
  return config.loads.flatMap((load) => {
    const state = control.state.loads.find(({ name }) => name === load.name);
    return state?.job === undefined ? [] : [running({ load, state, job: state.job, outlook, now })];
  });
}

interface Saved {
  readonly load: LoadConfig;
  readonly state: LoadState;
  readonly job: NonNullable<LoadState['job']>;
  readonly outlook: Outlook | undefined;
  readonly now: Instant;
}

function running({ load, state, job, outlook, now }: Saved): RunningPlan {
  const runs = state.plan?.runs ?? [];
  const isKnown = outlook?.units === 'lbs_co2_per_mwh' && runs.some(({ to }) => to > outlook.from);
  const value = isKnown ? Math.round(kilograms(outlook, runs, load.power) * 1e6) / 1e6 : null;
  const minutesOf = (length: number) => Math.round(length / 60_000);
  return {
    load: load.name,
    by: iso(job.by),
    needMinutes: minutesOf(job.need),
    doneMinutes: minutesOf(job.done),
    madeAt: iso(state.plan?.madeAt ?? job.from),
    gapToBound: state.plan?.gap ?? 0,
    mustRun: job.latched,
    isPast: job.by < now,
    slots: runs.map(({ from, to }) => ({ start: iso(from), minutes: minutesOf(to - from), kw: load.power })),
    starts: runs.length,
    emissions: { value, units: 'kg' },
    feasible: (state.decision?.job?.shortfall ?? 0) === 0,
    shortfallMinutes: minutesOf(state.decision?.job?.shortfall ?? (0 as Duration)),
  };
}

function endOf(plan: RunningPlan): string {
  const { by, madeAt, isPast, feasible, shortfallMinutes, emissions, gapToBound } = plan;
  const { value, units } = emissions;
  if (isPast)
    return `the deadline ${by} is past and this plan is of ${madeAt}: no agent has run since; start one with gridtide run`;
  if (!feasible) return `${shortfallMinutes} min will be missing`;
  const kg = value === null ? 'what it will emit is not known now' : `${value.toFixed(2)} ${units} CO2 still to come`;
  if (gapToBound === 0) return kg;
  return `${kg}; the loads together cost ${(100 * gapToBound).toFixed(1)} % more than if each had the power budget to itself`;
}

/** One block of lines a load. */
export function runningText(plans: readonly RunningPlan[]): string {
  if (plans.length === 0) return 'no load has a job\n';
  return plans
    .map((plan) => {
      const { load, by, needMinutes, doneMinutes, mustRun, slots } = plan;
      const head = `${load}: ${doneMinutes} of ${needMinutes} min by ${by}${mustRun ? ', can wait no longer' : ''}`;
      const lines = slots.map(({ start, minutes, kw }) => `  ${start}  ${String(minutes).padStart(5)} min  ${kw} kW`);
      return [head, ...lines, `  ${endOf(plan)}`].join('\n');
    })
    .join('\n')
    .concat('\n');
}
