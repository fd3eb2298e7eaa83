/** Feeds events to the control core, executes its commands and runs its wake-ups. */

import type { ControlEvent, Decision, Site, StepResult } from '../control/control-types.ts';
import type { Level } from '../domain/load-types.ts';
import type { Cancel, Clock, ClockReading } from '../domain/ports.ts';
import type { Output, OutputFailure } from '../outputs/output.ts';
import { createActuators } from './actuators.ts';
import type { LoadsFound } from './load-outputs.ts';

export interface StepReport<State> {
  readonly state: State;
  readonly event: ControlEvent;
  readonly decisions: readonly Decision[];
  /** Whether the core gave a command in this step. */
  readonly hasCommands: boolean;
  readonly now: ClockReading;
}

export interface ControlLoopParts<State> {
  readonly site: Site;
  readonly step: (site: Site, state: State, event: ControlEvent, now: ClockReading) => StepResult<State>;
  readonly clock: Clock;
  readonly outputs: ReadonlyMap<string, Output>;
  /** Before each wake-up of the core: a signal that is due by then is fed first. */
  readonly beforeTick: () => void;
  /** After each step, before its commands are sent. */
  readonly onStep: (report: StepReport<State>) => void;
  /** Resolves when a restart would find the state of the last step. */
  readonly onceSaved: () => Promise<unknown>;
  readonly onOutputFault: (load: string, failure: OutputFailure | undefined) => void;
}

export interface ControlLoop<State> {
  /** The first event: what the outputs were found at. A load that cannot be read, and one whose output reports by itself, gets it once more. */
  start(state: State, found: LoadsFound): void;
  /** Without effect before `start` and after `stop`. */
  feed(event: ControlEvent): void;
  /** Resolves when no output is being switched. */
  stop(): Promise<void>;
  /** After `stop`: the level a load was left at, for the saved state. */
  recordFinalLevel(load: string, level: Level): void;
}

export function createControlLoop<State>(parts: ControlLoopParts<State>): ControlLoop<State> {
  const { site, step, clock, outputs, onceSaved, onStep, onOutputFault } = parts;
  let state: State | undefined;
  let isStopped = false;
  let wake: Cancel | undefined;
  const decisions = new Map<string, Decision>();
  const actuators = createActuators({
    ...{ outputs, onceSaved },
    onApplied(load, level) {
      onOutputFault(load, undefined);
      feed({ kind: 'confirmed', load, level });
    },
    onFailed(load, failure, disagreements) {
      onOutputFault(load, failure);
      feed({ kind: 'failed', load, disagreements });
      if (failure.answer !== undefined) feed({ kind: 'confirmed', load, level: failure.answer });
    },
  });

  const feed = (event: ControlEvent): void => {
    if (state === undefined || isStopped) return;
    const now = clock.now();
    const { state: next, decisions: changed, commands, wakeAt } = step(site, state, event, now);
    state = next;
    for (const decision of changed) decisions.set(decision.load, decision);
    onStep({ state, event, decisions: changed, hasCommands: commands.length > 0, now });
    for (const { load, level, current } of commands) actuators.requestLevel(load, level, current);
    wake?.();
    wake = clock.wakeAt(wakeAt, 'control', () => {
      parts.beforeTick();
      feed({ kind: 'tick' });
    });
  };

  return {
    start(initialState, found) {
      state = initialState;
      feed({ kind: 'found', ...found });
      for (const { load, level, current } of decisions.values()) {
        const output = outputs.get(load);
        const keepsLevel = load in found.levels && output?.watchDevice === undefined;
        if (output !== undefined && !actuators.hasRequest(load) && !keepsLevel)
          actuators.requestLevel(load, level, current);
      }
    },
    feed,
    recordFinalLevel(load, level) {
      if (state === undefined) return;
      const event: ControlEvent = { kind: 'confirmed', load, level };
      const now = clock.now();
      state = step(site, state, event, now).state;
      onStep({ state, event, decisions: [], hasCommands: false, now });
    },
    stop() {
      isStopped = true;
      wake?.();
      return actuators.stop();
    },
  };
}
