/** Loads that obey the core, a power supply that fails and clocks that lie, with the invariants of control checked at every step. */

import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import type { ControlEvent, Decision, Site, StepResult } from '../../src/control/control-types.ts';
import { type ControlState, createInitialState, step } from '../../src/control/step.ts';
import { getPowerPortion } from '../../src/domain/currents.ts';
import { isRunning } from '../../src/domain/levels.ts';
import type { Level, LoadConfig, LoadCurrent } from '../../src/domain/load-types.ts';
import type { ClockReading } from '../../src/domain/ports.ts';
import { type Duration, hours, type Instant, type Uptime } from '../../src/domain/units.ts';
import type { SignalView } from '../../src/signal/signal-view.ts';

export type SiteAction =
  | { readonly kind: 'pass'; readonly length: number }
  | {
      readonly kind: 'signal';
      readonly index?: number;
      readonly flat: boolean;
      readonly indexLasts: number;
      readonly horizon?: readonly number[];
      readonly profile: boolean;
      readonly horizonLasts: number;
    }
  | {
      readonly kind: 'override';
      readonly load: number;
      readonly level: Level;
      readonly length: number;
      readonly source: 'local' | 'remote';
    }
  | { readonly kind: 'clear'; readonly load: number }
  | { readonly kind: 'arm'; readonly load: number; readonly need: number; readonly within: number }
  | { readonly kind: 'trip'; readonly load: number; readonly tripped: boolean }
  | { readonly kind: 'fail'; readonly load: number; readonly times: number }
  | { readonly kind: 'lag'; readonly length: number }
  | { readonly kind: 'jump'; readonly by: number }
  | { readonly kind: 'trust'; readonly trusted: boolean }
  | { readonly kind: 'restart'; readonly sameBoot: boolean; readonly away: number };

interface LevelChange {
  readonly at: number;
  readonly level: Level;
  readonly cause: 'command' | 'safety' | 'found' | 'power';
  /** From running to not running, or the reverse. */
  readonly switches: boolean;
}

interface SimulatedDevice {
  readonly load: LoadConfig;
  level: Level;
  /** Of a charger that is lowered. */
  current: LoadCurrent | undefined;
  changes: LevelChange[];
  /** In true time. */
  starts: number[];
  failuresLeft: number;
  /** Of the last command, where it failed. */
  failedLevel: Level | undefined;
  pendingSwitch:
    | {
        readonly level: Level;
        readonly current: LoadCurrent | undefined;
        readonly at: number;
        readonly safety: boolean;
      }
    | undefined;
}

/** Chance that does not come from the generator: which moments are probed. */
function createProbeRandom(seed: number) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

export class SimulatedSite {
  readonly site: Site;
  readonly devices: readonly SimulatedDevice[];
  readonly violations: string[] = [];
  events = 0;
  /** Never jumps and survives boots: what a watch on the wall would say. */
  private trueTime = 0;
  private wallOffset: number;
  private bootedAt = 0;
  private trusted = true;
  private state: ControlState;
  private savedText: string;
  private wakeAt = 0;
  private lag = 0;
  private readonly probe: () => number;

  constructor(site: Site, start: Instant, seed: number) {
    this.site = site;
    this.wallOffset = start;
    this.probe = createProbeRandom(seed);
    this.devices = site.loads.map((load) => ({
      load,
      level: load.output.kind === 'sg-ready' ? 'normal' : 'off',
      current: undefined,
      changes: [],
      starts: [],
      failuresLeft: 0,
      failedLevel: undefined,
      pendingSwitch: undefined,
    }));
    this.state = createInitialState(site, undefined, 'other-boot');
    this.savedText = '';
    this.sendFound();
  }

  private sendFound() {
    const amps = this.devices.flatMap(({ load, current }) =>
      current === undefined ? [] : [[load.name, current.amps]],
    );
    this.send({
      kind: 'found',
      levels: Object.fromEntries(this.devices.map(({ load, level }) => [load.name, level])),
      amps: Object.fromEntries(amps),
    });
  }

  private now(): ClockReading {
    return {
      wall: Math.round(this.wallOffset + this.trueTime) as Instant,
      uptime: Math.round(this.trueTime - this.bootedAt + 60_000) as Uptime,
      trusted: this.trusted,
    };
  }

  private reportViolation(rule: number, what: string) {
    if (this.violations.length < 5) this.violations.push(`invariant ${rule}: ${what} (event ${this.events})`);
  }

  act(action: SiteAction) {
    const load = 'load' in action ? (this.site.loads[action.load % this.site.loads.length]?.name ?? '') : '';
    const device = this.devices.find((one) => one.load.name === load);
    switch (action.kind) {
      case 'pass':
        return this.passTime(action.length);
      case 'signal':
        return this.send({ kind: 'signal', view: this.view(action) });
      case 'override':
        return this.send({
          kind: 'override',
          load,
          level: action.level,
          for: action.length as Duration,
          source: action.source,
        });
      case 'clear':
        return this.send({ kind: 'clear', load });
      case 'arm': {
        const by = (this.now().wall + action.within) as Instant;
        return this.send({ kind: 'arm', load, need: action.need as Duration, by });
      }
      case 'trip':
        return this.send({ kind: 'safety', load, tripped: action.tripped });
      case 'fail':
        if (device !== undefined) device.failuresLeft = action.times;
        return;
      case 'lag':
        this.lag = action.length;
        return;
      case 'jump':
        this.wallOffset += action.by;
        return this.send({ kind: 'tick' }, { jump: true });
      case 'trust':
        this.trusted = action.trusted;
        return this.send({ kind: 'tick' });
      case 'restart':
        return this.restart(action.sameBoot, action.away);
    }
  }

  private view(action: Extract<SiteAction, { kind: 'signal' }>): SignalView {
    const { wall } = this.now();
    const from = (Math.floor(wall / 1_800_000) * 1_800_000) as Instant;
    return {
      changesAt: (wall + 300_000) as Instant,
      ...(action.index === undefined
        ? {}
        : {
            index: {
              value: action.index as never,
              basis: 'live-index',
              at: wall,
              startsUntil: (wall + action.indexLasts / 2) as Instant,
              validUntil: (wall + action.indexLasts) as Instant,
              flat: action.flat,
              quality: 'full',
            },
          }),
      ...(action.horizon === undefined
        ? {}
        : {
            horizon: {
              basis: action.profile ? 'own-profile' : 'fresh-forecast',
              from,
              period: 1_800_000 as Duration,
              values: action.horizon,
              units: 'lbs_co2_per_mwh',
              generatedAt: wall,
              validUntil: (wall + action.horizonLasts) as Instant,
            },
          }),
    };
  }

  /** Time passes; the core is woken when it asked to be, outputs answer when they do. */
  private passTime(length: number) {
    const end = this.trueTime + length;
    for (let guard = 0; guard < 3_000; guard++) {
      const answers = this.devices.map((device) => device.pendingSwitch?.at ?? Infinity);
      const next = Math.min(this.wakeAt, ...answers);
      if (next > end) break;
      this.trueTime = Math.max(this.trueTime, next);
      const device = this.devices.find(
        ({ pendingSwitch: underway }) => underway !== undefined && underway.at <= this.trueTime,
      );
      if (device === undefined) this.send({ kind: 'tick' });
      else this.deliverAnswer(device);
    }
    this.trueTime = Math.max(this.trueTime, end);
  }

  private deliverAnswer(device: SimulatedDevice) {
    const { pendingSwitch: underway, load } = device;
    if (underway === undefined) return;
    device.pendingSwitch = undefined;
    if (device.failuresLeft > 0) {
      device.failuresLeft -= 1;
      if (underway.level !== device.level) device.failedLevel = underway.level;
      this.restartBlockTime(device);
      this.send({ kind: 'failed', load: load.name, disagreements: 1 + (device.failuresLeft % 4) });
      return;
    }
    device.current = underway.current;
    device.failedLevel = undefined;
    this.changeLevel(device, underway.level, underway.safety ? 'safety' : 'command');
    this.send({ kind: 'confirmed', load: load.name, level: underway.level });
  }

  private changeLevel(device: SimulatedDevice, level: Level, cause: LevelChange['cause']) {
    const { load, changes } = device;
    if (device.level === level) return;
    const before = changes.findLast((one) => one.level !== 'block' || one.switches);
    const since = this.trueTime - (before?.at ?? -Infinity);
    const switches = isRunning(level) !== isRunning(device.level);
    if (cause === 'command' && switches && since < (isRunning(level) ? load.minOff : load.minOn) - 1)
      this.reportViolation(1, `${load.name} to ${level} ${since / 1000} s after the last change`);
    if (cause === 'safety' && isRunning(level)) this.reportViolation(1, `${load.name} was started by a safety trip`);
    device.level = level;
    if (switches && isRunning(level)) this.countStart(device);
    if (switches || level === 'block')
      device.changes = [...changes.slice(-20), { at: this.trueTime, level, cause, switches }];
  }

  /** The process ends; under `sameBoot` false the power fails, too, and relays drop. */
  private restart(sameBoot: boolean, away: number) {
    if (sameBoot) for (const device of this.devices) this.completePendingSwitch(device);
    this.trueTime += away;
    for (const device of this.devices) {
      this.restartBlockTime(device);
      device.failedLevel = undefined;
    }
    if (!sameBoot) {
      this.bootedAt = this.trueTime;
      for (const device of this.devices) {
        device.pendingSwitch = undefined;
        device.level = device.load.output.kind === 'sg-ready' ? 'normal' : 'off';
        device.current = undefined;
        device.changes = [
          ...device.changes,
          { at: this.trueTime, level: device.level, cause: 'power', switches: true },
        ];
      }
    }
    const read = decodeControlState(this.savedText);
    if ('kind' in read) throw new Error(read.detail);
    this.state = createInitialState(this.site, read, sameBoot ? 'same-boot' : 'other-boot');
    this.sendFound();
  }

  /** Nobody can end a block who is not there, or whom the output does not obey: its time counts anew. */
  private restartBlockTime(device: SimulatedDevice) {
    if (device.level !== 'block') return;
    device.changes = [...device.changes, { at: this.trueTime, level: 'block', cause: 'found', switches: false }];
  }

  /** A relay told just before the process ended takes the level all the same. */
  private completePendingSwitch(device: SimulatedDevice) {
    const { pendingSwitch: underway } = device;
    device.pendingSwitch = undefined;
    if (underway === undefined || device.failuresLeft > 0) return;
    device.current = underway.current;
    this.changeLevel(device, underway.level, underway.safety ? 'safety' : 'command');
  }

  private send(event: ControlEvent, how: { readonly jump?: boolean } = {}) {
    this.events += 1;
    const now = this.now();
    const before = this.state;
    const next = step(this.site, before, event, now);
    this.checkSavedState(event, next, now);
    this.state = next.state;
    this.savedText = encodeControlState(next.state);
    this.wakeAt = this.trueTime + (next.wakeAt - now.uptime);
    this.carryOutCommands(next, before);
    this.checkStep(next, event, now);
    this.checkDecisions(next.state, event, now);
    this.checkPlans(before, next, now);
    this.probeNextSteps(next, now);
    if (how.jump === true) this.checkAfterJump(next);
  }

  /** 12: a save and a load in between change nothing. */
  private checkSavedState(event: ControlEvent, next: StepResult<ControlState>, now: ClockReading) {
    const saved = this.savedText === '' ? undefined : decodeControlState(this.savedText);
    if (saved === undefined || this.state.restart !== 'no') return;
    if ('kind' in saved) return this.reportViolation(12, saved.detail);
    // The agent builds the view anew from its signal data before it goes on.
    const twin = step(this.site, { ...saved, view: this.state.view }, event, now);
    if (encodeControlState(twin.state) !== encodeControlState(next.state))
      this.reportViolation(12, 'a saved and loaded state went another way');
    if (JSON.stringify(twin.commands) !== JSON.stringify(next.commands))
      this.reportViolation(12, 'other commands after a load');
  }

  private carryOutCommands(next: StepResult<ControlState>, before: ControlState) {
    for (const { load, level, current } of next.commands) {
      const device = this.devices.find((one) => one.load.name === load);
      const state = before.loads.find(({ name }) => name === load);
      if (device === undefined || state === undefined) return this.reportViolation(3, `a command for ${load}`);
      const after = next.state.loads.find(({ name }) => name === load);
      // After a failed command for another level the device may have taken that one.
      const isSure = device.failedLevel === undefined || device.failedLevel === level;
      if (isSure && after?.level === level && state.pending === undefined && state.current?.amps === current?.amps)
        this.reportViolation(6, `${load} is told ${level}, which it has`);
      const levels = load === 'heating' ? ['block', 'normal', 'recommend', 'force'] : ['off', 'on'];
      if (!levels.includes(level)) this.reportViolation(3, `${load} does not know ${level}`);
      const safety = after?.decision?.why === 'safety';
      device.pendingSwitch = { level, current, at: this.trueTime + this.lag, safety };
    }
    this.checkPower();
  }

  /** 2 */
  private countStart(device: SimulatedDevice) {
    const { load } = device;
    device.starts = [...device.starts.slice(-100), this.trueTime];
    const within = (length: number) => device.starts.filter((at) => at > this.trueTime - length).length;
    const [hour, day] = [within(hours(1)), within(hours(24))];
    if (hour > load.maxStartsPerHour) this.reportViolation(2, `${load.name}: ${hour} starts in an hour`);
    if (day > load.maxStartsPerDay) this.reportViolation(2, `${load.name}: ${day} starts in a day`);
  }

  /** 9: what draws now and what may any moment never exceed the budget. */
  private checkPower() {
    const { budget } = this.site;
    if (budget === undefined) return;
    const drawing = this.devices.filter(
      ({ level, pendingSwitch: underway, load }) =>
        !load.observeOnly && (isRunning(level) || isRunning(underway?.level)),
    );
    const power = drawing.reduce((sum, { load, level, current, pendingSwitch: underway }) => {
      const portions = [
        isRunning(level) ? getPowerPortion(current) : 0,
        isRunning(underway?.level) ? getPowerPortion(underway?.current) : 0,
      ];
      return sum + load.powerKw * Math.max(...portions);
    }, 0);
    if (power > budget + 1e-9) this.reportViolation(9, `${power} kW are granted`);
  }

  /** 16: what is planned keeps the rules from where the load stands. What it costs, the tests of the planner compare. */
  private checkPlans(before: ControlState, { state, commands }: StepResult<ControlState>, now: ClockReading) {
    for (const [i, { name, plan, job, level, pending, runningSince: runSince }] of state.loads.entries()) {
      const load = this.site.loads[i];
      if (load === undefined || plan === undefined || job === undefined || job.forcedByDeadline) continue;
      const { runs } = plan;
      const first = runs[0];
      const [was, isCommanded] = [before.loads[i], commands.some((one) => one.load === name)];
      if (plan.madeAt !== now.wall || plan.runs === was?.plan?.runs || first === undefined) continue;
      // What a command of this step has changed, the plan did not know yet.
      const running = isCommanded ? isRunning(was?.pending?.level ?? was?.level) : isRunning(pending?.level ?? level);
      const goesOn = running && first.from <= now.wall;
      const fresh = goesOn ? runs.slice(1) : runs;
      const least = load.output.kind === 'sg-ready' ? Math.max(load.minOn, load.minStateTime) : load.minOn;
      const says = (what: string) =>
        this.reportViolation(16, `${name}: ${what}: ${JSON.stringify({ runs, by: job.by, now })}`);
      if (fresh.some(({ from, to }) => to - from < least - 1)) says('a run is too short');
      if (runs.some(({ from }, n) => n > 0 && from - (runs[n - 1]?.to ?? 0) < load.minOff - 1)) says('a pause is');
      if (fresh.some(({ from, to }) => from < job.from || to > job.by + 1)) says('it leaves the window');
      if (fresh.length > Math.max(0, (load.maxInterruptions ?? Infinity) + 1 - job.starts))
        says('too many starts of the job');
      if (fresh.length > load.maxStartsPerDay) says('too many starts of the day');
      if (!running && !isCommanded && first.from < now.wall + load.minOff - (now.uptime - runSince) - 1)
        says('no pause before');
      const planned = runs.reduce((sum, { from, to }) => sum + to - from, 0);
      if (planned < job.need - job.done - 1) says('it does not deliver');
    }
  }

  private checkStep(next: StepResult<ControlState>, event: ControlEvent, now: ClockReading) {
    if (!Number.isSafeInteger(next.wakeAt) || next.wakeAt <= now.uptime)
      this.reportViolation(15, `wakeAt is ${next.wakeAt}`);
    for (const device of this.devices) {
      const { load, level, pendingSwitch: underway } = device;
      const blocked = device.changes.at(-1);
      if (level === 'block' && underway === undefined && blocked?.level === 'block') {
        const length = this.trueTime - blocked.at;
        if (length > load.maxBlock + this.lag + 1 && device.failuresLeft === 0)
          this.reportViolation(3, `${load.name} blocked for ${length / 60_000} min`);
      }
      // 11
      if (event.kind === 'safety' && event.tripped && event.load === load.name)
        if (isRunning(underway?.level ?? level)) this.reportViolation(11, `${load.name} runs on after a trip`);
    }
  }

  private checkDecisions(state: ControlState, event: ControlEvent, now: ClockReading) {
    for (const [i, load] of state.loads.entries()) {
      const config = this.site.loads[i];
      const { decision } = load;
      if (decision === undefined || config === undefined) continue;
      this.checkBasis(decision, state.view, config, now);
      this.checkSilence(decision, state, config, now);
      const override =
        decision.why === 'override' ? load.local : decision.why === 'remote-override' ? load.remote : undefined;
      // 7
      if (override !== undefined && (override.until <= now.uptime || override.until > now.uptime + hours(24)))
        this.reportViolation(7, `${load.name}: override until ${override.until}`);
      // 5
      const job = load.job;
      if (job?.forcedByDeadline === true && job.done < job.need && decision.priority > 6)
        this.reportViolation(5, `${load.name}: ${decision.why}`);
      if (event.kind === 'tick') this.checkStaysForced(load.name, job, now);
    }
    this.forcedDeadlines = new Map(
      state.loads.map((load) => [load.name, load.job?.forcedByDeadline === true ? load.job.by : undefined]),
    );
  }

  private forcedDeadlines = new Map<string, number | undefined>();

  /** 5: a latch ends with the job only. */
  private checkStaysForced(name: string, job: ControlState['loads'][number]['job'], now: ClockReading) {
    const by = this.forcedDeadlines.get(name);
    if (by === undefined || by <= now.wall) return;
    if (job?.by === by && !job.forcedByDeadline && job.done < job.need)
      this.reportViolation(5, `${name} lost its latch`);
  }

  /** 8 */
  private checkBasis(decision: Decision, view: SignalView | undefined, load: LoadConfig, now: ClockReading) {
    const index = view?.index !== undefined && now.wall < view.index.validUntil ? view.index.basis : undefined;
    const horizonBasis =
      view?.horizon !== undefined && now.wall < view.horizon.validUntil ? view.horizon.basis : undefined;
    const { basis, why } = decision;
    const cited = why === 'planned' || why === 'plan-waits' ? [horizonBasis] : [index, horizonBasis];
    const valid =
      basis === 'fail-safe' ||
      (basis === 'default-window' ? load.window !== undefined : now.trusted && cited.includes(basis));
    if (!valid) this.reportViolation(8, `${load.name}: ${why} cites ${basis}`);
  }

  /** 10: without anything valid a load is at its window or fail-safe level at once, ten minutes after a start at the latest. */
  private checkSilence(decision: Decision, state: ControlState, load: LoadConfig, now: ClockReading) {
    const silent = now.uptime - state.startedAt >= 600_000 && now.trusted;
    const view = state.view;
    const index = view?.index !== undefined && now.wall < view.index.validUntil;
    const hasHorizon = view?.horizon !== undefined && now.wall < view.horizon.validUntil;
    const reason = decision.wantedWhy ?? decision.why;
    if (silent && !index && !hasHorizon && decision.priority >= 7) {
      const allowed = ['window', 'outside-window', 'no-data', 'output-fault', 'goal-done', 'not-armed'];
      if (!allowed.includes(reason)) this.reportViolation(10, `${load.name}: ${reason} without data`);
    }
    if (now.trusted && hasHorizon && index && ['no-data', 'window', 'outside-window', 'boot'].includes(reason))
      this.reportViolation(10, `${load.name}: ${reason} with data`);
  }

  /** 6 and 15: the same tick again changes nothing, nor does one at any time before `wakeAt`. 14: what a high rung decided stands. */
  private probeNextSteps(next: StepResult<ControlState>, now: ClockReading) {
    const again = step(this.site, next.state, { kind: 'tick' }, now);
    if (again.commands.length + again.decisions.length > 0)
      this.reportViolation(6, `a repeated tick says ${formatStep(again)}`);
    if (this.probe() < 0.3) {
      const ahead = Math.floor(this.probe() * (next.wakeAt - now.uptime));
      const later: ClockReading = {
        ...now,
        wall: (now.wall + ahead) as Instant,
        uptime: (now.uptime + ahead) as Uptime,
      };
      const early = step(this.site, next.state, { kind: 'tick' }, later);
      if (early.commands.length + early.decisions.length > 0)
        this.reportViolation(
          15,
          `${ahead} ms on, ${next.wakeAt - later.uptime} ms before wakeAt: ${formatStep(early)}`,
        );
    }
    if (this.probe() < 0.2) this.checkOtherSignal(next, now);
  }

  private checkOtherSignal({ state }: StepResult<ControlState>, now: ClockReading) {
    const period = (state.view?.horizon?.period ?? 300_000) as Duration;
    const values = Array.from({ length: 48 }, () => this.probe() * 1000);
    const from = (Math.floor(now.wall / period) * period) as Instant;
    const later = (now.wall + 600_000) as Instant;
    const view: SignalView = {
      changesAt: later,
      index: {
        value: (this.probe() * 100) as never,
        basis: 'live-index',
        at: now.wall,
        startsUntil: later,
        validUntil: later,
        flat: false,
        quality: 'full',
      },
      horizon: {
        basis: 'fresh-forecast',
        from,
        period,
        values,
        units: 'lbs_co2_per_mwh',
        generatedAt: now.wall,
        validUntil: (from + 48 * period) as Instant,
      },
    };
    const other = step(this.site, state, { kind: 'signal', view }, now);
    for (const [i, load] of state.loads.entries()) {
      const [a, b] = [load.decision, other.state.loads[i]?.decision];
      if (a === undefined || b === undefined || ![1, 4, 5, 6].includes(a.priority)) continue;
      if (a.level !== b.level || a.why !== b.why)
        this.reportViolation(14, `${load.name}: ${a.why} ${a.level} became ${b.why} ${b.level}`);
    }
  }

  /** 13 */
  private checkAfterJump(next: StepResult<ControlState>) {
    for (const { load } of this.site.loads.map((one) => ({ load: one.name })))
      if (next.commands.filter((one) => one.load === load).length > 1)
        this.reportViolation(13, `${load} was switched twice`);
    const again = step(this.site, next.state, { kind: 'tick' }, this.now());
    if (again.commands.length > 0) this.reportViolation(13, `a second command after one jump`);
  }

  job(name: string) {
    return this.state.loads.find((load) => load.name === name)?.job;
  }

  previousJob(name: string) {
    return this.state.loads.find((load) => load.name === name)?.previousJob;
  }
}

const formatStep = ({ commands, decisions }: StepResult<ControlState>) =>
  [
    ...commands.map(({ load, level }) => `${load} told ${level}`),
    ...decisions.map(({ load, why, level, wantedWhy }) => `${load} ${level} ${why} ${wantedWhy ?? ''}`),
  ].join(', ');
