/** Measures the planner and the step: against every small schedule, against a MILP solver, and against the clock. Exits 1 when a bar is missed. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { ControlEvent, Site } from '../../src/control/control-types.ts';
import { planSlots } from '../../src/control/planning/planner.ts';
import type { SlotPlanRequest } from '../../src/control/planning/slot-plan.ts';
import { createInitialState, step } from '../../src/control/step.ts';
import type { ClockReading } from '../../src/domain/ports.ts';
import { hours, type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { findBestSchedule } from '../../test/control/brute-force.ts';
import {
  buildHorizon,
  buildSite,
  buildView,
  carLoad,
  heatingLoad,
  instantFrom,
  tankLoad,
} from '../../test/control/control-setup.ts';
import { buildInstance, createSeededFractions, isBeyondPatterns } from '../../test/control/planner-instances.ts';
import { drawRates, measurePlans, PLAN_SIZES } from './control/plan-times.ts';

const missed: string[] = [];

function row(name: string, value: string, bar: string, holds: boolean) {
  console.log(`${name.padEnd(58)} ${value.padStart(22)}   bar ${bar}${holds ? '' : '   MISSED'}`);
  if (!holds) missed.push(name);
}

const differs = (a: number, b: number) => Math.abs(a - b) > 1e-9 * Math.max(1, Math.abs(b));

function againstEverySchedule(tries: number) {
  const random = createSeededFractions(1);
  let compared = 0;
  let different = 0;
  while (compared < tries) {
    const one = buildInstance(random, 11);
    if (isBeyondPatterns(one)) continue;
    compared += 1;
    const [plan, best] = [planSlots(one), findBestSchedule(one)];
    const same =
      plan === undefined || best === undefined
        ? plan === undefined && best === undefined
        : !differs(plan.cost, best.cost) && plan.starts === best.starts;
    if (!same) different += 1;
  }
  row(`every schedule of ${tries} instances up to 11 slots`, `${different} different`, '0', different === 0);
}

interface Solver {
  solve(
    problem: string,
    options: Record<string, unknown>,
  ): { Status: string; Columns: Record<string, { Primal: number }> };
}

/** The same job as a mixed integer programme: x runs, y starts. */
function programme({ weights, need, minOn, minOff, startCost, maxStarts }: SlotPlanRequest): string {
  const slots = weights.length;
  const all = Array.from({ length: slots }, (_, t) => t);
  const sum = (name: string, from: number, to: number) =>
    all
      .slice(Math.max(0, from), to + 1)
      .map((t) => `${name}${t}`)
      .join(' + ');
  const lines: string[] = [];
  for (const t of all) {
    lines.push(t === 0 ? 'x0 - y0 <= 0' : `x${t} - x${t - 1} - y${t} <= 0`);
    lines.push(`${sum('y', t - minOn + 1, t)} - x${t} <= 0`);
    if (t >= minOff) lines.push(`${sum('y', t - minOff + 1, t)} + x${t - minOff} <= 1`);
    if (t > slots - minOn) lines.push(`y${t} = 0`);
  }
  lines.push(`${sum('x', 0, slots - 1)} >= ${need}`, `${sum('y', 0, slots - 1)} <= ${maxStarts}`);
  const objective = all.map((t) => `${weights[t]} x${t} + ${startCost} y${t}`).join(' + ');
  const binaries = all.map((t) => `x${t} y${t}`).join(' ');
  return `Minimize\n obj: ${objective}\nSubject To\n${lines.map((line, i) => ` c${i}: ${line}`).join('\n')}\nBinary\n ${binaries}\nEnd\n`;
}

async function againstSolver(tries: number) {
  const require = createRequire(join(process.env.GRIDTIDE_ROOT ?? process.cwd(), 'package.json'));
  const solver = (await (require('highs') as () => Promise<Solver>)()) as Solver;
  const random = createSeededFractions(288);
  let different = 0;
  const started = performance.now();
  for (let i = 0; i < tries; i++) {
    const minOn = 1 + Math.floor(random() * 6);
    const one: SlotPlanRequest = {
      weights: drawRates(random, 288),
      need: Math.max(minOn, 12 + Math.floor(random() * 96)),
      minOn,
      minOff: 1 + Math.floor(random() * 6),
      startCost: Math.round(random() * 200),
      maxStarts: 1 + Math.floor(random() * 6),
      running: false,
      age: 99,
      lastSlot: 1,
    };
    const plan = planSlots(one);
    const answer = solver.solve(programme(one), { mip_rel_gap: 0, mip_abs_gap: 0, output_flag: false });
    const chosen = (name: string) => Math.round(answer.Columns[name]?.Primal ?? 0);
    const cost = one.weights.reduce((sum, w, t) => sum + w * chosen(`x${t}`) + one.startCost * chosen(`y${t}`), 0);
    if (plan === undefined || answer.Status !== 'Optimal' || differs(plan.cost, cost)) different += 1;
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  row(`MILP solver, ${tries} instances of 288 slots (${seconds} s)`, `${different} different`, '0', different === 0);
}

function speed(repeats: readonly number[]) {
  for (const [i, size] of PLAN_SIZES.entries()) {
    const [half, most] = measurePlans(size, repeats[i] ?? 100);
    const name = `plan of ${size.slots} slots, N = ${size.need}, at most ${size.maxStarts} starts`;
    const value = `p50 ${half.toFixed(2)} p95 ${most.toFixed(2)} ms`;
    row(name, value, `p95 <= ${size.bar} ms of CPU`, most <= size.bar);
  }
}

/** The core over months of forecasts each five minutes, without anything around it. */
function rolling(name: string, site: Site, days: number) {
  const random = createSeededFractions(5);
  const start = instantFrom('2026-01-05T08:00:00Z');
  const truth = drawRates(random, (days + 2) * 288);
  let state = createInitialState(site, undefined, 'other-boot');
  const found: ControlEvent = {
    kind: 'found',
    levels: Object.fromEntries(site.loads.map(({ name: load }) => [load, 'off'])),
  };
  const begun = process.cpuUsage();
  const now = (slot: number): ClockReading => ({
    wall: (start + slot * minutes(5)) as Instant,
    uptime: (hours(1) + slot * minutes(5)) as Uptime,
    trusted: true,
  });
  const take = (event: ControlEvent, moment: ClockReading) => {
    const next = step(site, state, event, moment);
    state = next.state;
    for (const { load, level } of next.commands) take({ kind: 'confirmed', load, level }, moment);
  };
  take(found, now(0));
  for (let slot = 0; slot < days * 288; slot++) {
    const { wall } = now(slot);
    const outlook = buildHorizon(wall, [], {
      values: Array.from(truth.subarray(slot, slot + 288)),
      validUntil: (wall + hours(24)) as Instant,
    });
    take({ kind: 'signal', view: buildView({ horizon: outlook }) }, now(slot));
  }
  const used = process.cpuUsage(begun);
  const seconds = (used.user + used.system) / 1e6;
  const whole = (seconds * 28 * 30.4) / days;
  row(name, `${whole.toFixed(0)} s for 28 months`, '<= 120 s of CPU', whole <= 120);
}

const quick = process.argv.includes('--quick');
againstEverySchedule(quick ? 2_000 : 30_000);
speed([2_000, quick ? 20 : 100]);
const { window: _window, ...pump } = heatingLoad();
rolling(
  'three loads, rolling plan on every forecast',
  buildSite(
    carLoad({
      goal: {
        need: { kind: 'time', time: hours(4) },
        by: Array(7).fill(420) as never,
        from: 1080,
        armedBy: 'schedule',
      },
    }),
    carLoad({
      name: 'day',
      goal: { need: { kind: 'time', time: hours(4) }, by: Array(7).fill(1080) as never, armedBy: 'schedule' },
    }),
    { ...pump, goal: { need: { kind: 'time', time: hours(3) }, by: Array(7).fill(0) as never, armedBy: 'schedule' } },
  ),
  quick ? 10 : 60,
);
rolling(
  'three loads on thresholds only',
  buildSite(tankLoad(), tankLoad({ name: 'second' }), heatingLoad()),
  quick ? 10 : 60,
);
await againstSolver(quick ? 10 : 200);
if (missed.length > 0) {
  console.log(`missed: ${missed.join('; ')}`);
  process.exitCode = 1;
}
