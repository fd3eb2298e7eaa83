/** Listens to what the agent publishes, as any household would, and turns it into the events, the strip and the counts of the demo. */

import { isRunning } from '../domain/levels.ts';
import type { Level } from '../domain/load-types.ts';
import { addDuration, floorTo, formatInstant, type Instant } from '../domain/units.ts';
import { type DemoEvent, STRIP_CELL, type StripCell } from './transcript.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface DemoRecorder {
  onMessage(topic: string, payload: string): void;
  /** Fills the strip: no level changes between the two. */
  recordCells(from: Instant, to: Instant): void;
  listCells(): readonly StripCell[];
  countSwitches(load: string): number;
  countDeadlines(): { readonly met: number; readonly missed: number };
}

interface SignalPayload {
  readonly index: number | null;
  readonly rate: number | null;
  readonly basis: string;
}

interface LoadPayload {
  readonly level: Level;
  readonly why: string;
  readonly text: string;
  readonly job: { readonly by: string; readonly needMinutes: number; readonly doneMinutes: number } | null;
}

interface InfoPayload {
  readonly region?: string | null;
  readonly regionFullName?: string | null;
  readonly mapLastUpdated?: string | null;
}

/** A job short of its need by less than this many minutes is met. */
const NEED_TOLERANCE_MINUTES = 0.01;

export function createDemoRecorder(
  device: string,
  clock: Pick<VirtualClock, 'now'>,
  onEvent: (event: DemoEvent) => void,
): DemoRecorder {
  const start = clock.now().wall;
  const levels = new Map<string, Level>();
  const switches = new Map<string, number>();
  const jobs = new Map<string, { readonly by: number; readonly isMet: boolean }>();
  const cells = new Map<number, StripCell>();
  let region: string | undefined;
  let problem = '';
  let index: number | undefined;
  let lastSignalHour = -1;
  const now = () => formatInstant(clock.now().wall);

  const recordSignal = (signal: SignalPayload) => {
    index = signal.index ?? undefined;
    const hour = Math.floor(clock.now().wall / 3_600_000);
    // The index comes a moment before the first forecast, and with it the rate.
    if (index === undefined || signal.rate === null || hour === lastSignalHour) return;
    lastSignalHour = hour;
    onEvent({ event: 'signal', at: now(), index, rate: signal.rate, basis: signal.basis });
  };
  const recordDecision = (load: string, { level, why, text, job }: LoadPayload) => {
    const previous = levels.get(load);
    const switched = previous !== undefined && previous !== level;
    levels.set(load, level);
    if (switched) switches.set(load, (switches.get(load) ?? 0) + 1);
    if (job !== null)
      jobs.set(`${load} ${job.by}`, {
        by: Date.parse(job.by),
        isMet: job.doneMinutes >= job.needMinutes - NEED_TOLERANCE_MINUTES,
      });
    onEvent({ event: 'decision', at: now(), load, level, switched, why, text });
  };
  const recordInfo = (info: InfoPayload) => {
    if (typeof info.region !== 'string' || info.region === region) return;
    region = info.region;
    const { regionFullName, mapLastUpdated } = info;
    onEvent({ event: 'region', at: now(), region, regionFullName: regionFullName ?? '', map: mapLastUpdated ?? null });
  };
  const recordHealth = (health: { readonly problem: string }) => {
    if (health.problem !== problem && health.problem !== '')
      onEvent({ event: 'problem', at: now(), problem: health.problem });
    problem = health.problem;
  };

  return {
    onMessage(topic, payload) {
      const [root, publisher, part, load, ...below] = topic.split('/');
      if (root !== 'gridtide' || publisher !== device || payload === '') return;
      if (part === 'signal') recordSignal(JSON.parse(payload));
      if (part === 'loads' && load !== undefined && below.length === 0) recordDecision(load, JSON.parse(payload));
      if (part === 'info') recordInfo(JSON.parse(payload));
      if (part === 'health') recordHealth(JSON.parse(payload));
    },
    recordCells(from, to) {
      const running = new Set([...levels].filter(([, level]) => isRunning(level)).map(([load]) => load));
      for (let at = floorTo(from, STRIP_CELL); at < to; at = addDuration(at, STRIP_CELL))
        if (at >= start) cells.set(at, { index, running });
    },
    listCells: () => [...cells.entries()].sort(([a], [b]) => a - b).map(([, cell]) => cell),
    countSwitches: (load) => switches.get(load) ?? 0,
    countDeadlines() {
      const past = [...jobs.values()].filter(({ by }) => by <= clock.now().wall);
      const met = past.filter(({ isMet }) => isMet).length;
      return { met, missed: past.length - met };
    },
  };
}
