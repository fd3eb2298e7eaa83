/** Feeds events to the control core, carries its commands to the outputs and wakes it when it asked; decides nothing about levels. */

import type { ControlEvent, Decision, Site, StepResult } from '../control/control-types.ts';
import type { Level } from '../domain/load-types.ts';
import type { Cancel, Clock, ClockReading } from '../domain/ports.ts';
import { isOutputFailure, type Output, type OutputFailure } from '../outputs/output.ts';

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
  readonly state: State;
  readonly clock: Clock;
  readonly outputs: ReadonlyMap<string, Output>;
  /** Before time alone is fed to the core: whoever holds the signal tells it first what is valid from now on. */
  readonly beforeTick: () => void;
  /** After each step. */
  readonly onStep: (news: StepReport<State>) => void;
  readonly onOutputFault: (load: string, failure: OutputFailure | undefined) => void;
}

export interface ControlLoop {
  /** The first event: what the outputs were found at. A load that cannot be read is told its level once more, for nobody knows. */
  start(levels: Readonly<Record<string, Level>>): void;
  feed(event: ControlEvent): void;
  /** No event has an effect from here on; resolves when no output is being told anything. */
  stop(): Promise<void>;
  /** After `stop`: the level a load was left at, for the state that is kept. */
  recordFinalLevel(load: string, level: Level): void;
}

interface Actuator {
  wanted: Level | undefined;
  busy: Promise<void> | undefined;
  failures: number;
}

export function createControlLoop<State>(parts: ControlLoopParts<State>): ControlLoop {
  const { site, step, clock, outputs, onStep, onOutputFault } = parts;
  let state = parts.state;
  let wake: Cancel | undefined;
  let stopped = false;
  const decidedLevels = new Map<string, Level>();
  const actuators = new Map<string, Actuator>(
    [...outputs.keys()].map((load) => [load, { wanted: undefined, busy: undefined, failures: 0 }]),
  );

  const feed = (event: ControlEvent): void => {
    if (stopped) return;
    const now = clock.now();
    const next = step(site, state, event, now);
    state = next.state;
    for (const { load, level } of next.decisions) decidedLevels.set(load, level);
    for (const { load, level } of next.commands) requestLevel(load, level);
    onStep({ state, event, decisions: next.decisions, hasCommands: next.commands.length > 0, now });
    wake?.();
    wake = clock.wakeAt(next.wakeAt, 'control', () => {
      parts.beforeTick();
      feed({ kind: 'tick' });
    });
  };

  const requestLevel = (load: string, level: Level): void => {
    const actuator = actuators.get(load);
    if (actuator === undefined) return;
    actuator.wanted = level;
    actuator.busy ??= applyPending(load, actuator);
  };

  /** Tells the output the newest wanted level until none newer has come; calls do not overlap. */
  const applyPending = async (load: string, actuator: Actuator): Promise<void> => {
    const output = outputs.get(load);
    while (output !== undefined && actuator.wanted !== undefined) {
      const level = actuator.wanted;
      actuator.wanted = undefined;
      const failure = await output.apply(level);
      if (isOutputFailure(failure)) {
        actuator.failures += 1;
        onOutputFault(load, failure);
        feed({ kind: 'failed', load, disagreements: actuator.failures });
      } else {
        actuator.failures = 0;
        onOutputFault(load, undefined);
        feed({ kind: 'confirmed', load, level });
      }
    }
    actuator.busy = undefined;
  };

  return {
    start(levels) {
      feed({ kind: 'found', levels });
      for (const [load, { busy }] of actuators) {
        const level = decidedLevels.get(load);
        if (busy === undefined && level !== undefined && !(load in levels)) requestLevel(load, level);
      }
    },
    feed,
    recordFinalLevel(load, level) {
      const event: ControlEvent = { kind: 'confirmed', load, level };
      const now = clock.now();
      state = step(site, state, event, now).state;
      onStep({ state, event, decisions: [], hasCommands: false, now });
    },
    async stop() {
      stopped = true;
      wake?.();
      for (const actuator of actuators.values()) {
        actuator.wanted = undefined;
      }
      await Promise.all([...actuators.values()].map(({ busy }) => busy));
    },
  };
}
