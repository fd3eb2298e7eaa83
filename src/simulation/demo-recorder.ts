/** Records what the agent publishes over MQTT as the events, the strip and the counts of the demo. */

import { isRunning } from '../domain/levels.ts';
import type { Level } from '../domain/load-types.ts';
import { addDuration, floorTo, formatInstant, type Instant } from '../domain/units.ts';
import { buildTopics } from '../mqtt/topics.ts';
import { type DemoEvent, STRIP_CELL, type StripCell } from './transcript.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface DemoRecorder {
  onMessage(topic: string, payload: string): void;
  /** Tells the events of a moment that is over. Of a document that changed several times at one moment the last counts: how often it was sent depends on the pace of the broker. */
  endMoment(): void;
  /** Ends the moment and fills the strip: no level changes between the two. */
  recordCells(from: Instant, to: Instant): void;
  listCells(): readonly StripCell[];
  /** What the agent has published so far. */
  countMessages(): { readonly messages: number; readonly bytes: number };
  countSwitches(load: string): number;
  countDeadlines(): { readonly met: number; readonly missed: number };
}

interface SignalPayload {
  readonly index: number | null;
  readonly indexTime: string | null;
  readonly rate: number | null;
  readonly rateTime: string | null;
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

/** The strip by the start of each cell, none before `start`. */
function createStripCells(start: Instant) {
  const cells = new Map<number, StripCell>();
  return {
    fill(from: Instant, to: Instant, cell: StripCell): void {
      for (let at = floorTo(from, STRIP_CELL); at < to; at = addDuration(at, STRIP_CELL))
        if (at >= start) cells.set(at, cell);
    },
    list: (): readonly StripCell[] => [...cells.entries()].sort(([a], [b]) => a - b).map(([, cell]) => cell),
  };
}

/** The newest text of each document: `first` in their order, then those that `isOther` knows, by topic. */
function createDocuments(first: readonly string[], isOther: (topic: string) => boolean) {
  const recorded = new Map<string, string>();
  const changed = new Map<string, string>();
  return {
    set(topic: string, payload: string): void {
      if (first.includes(topic) || isOther(topic)) changed.set(topic, payload);
    },
    /** What is no longer as it was taken last. */
    takeChanged(): readonly (readonly [topic: string, payload: string])[] {
      const others = [...changed.keys()].filter((topic) => !first.includes(topic)).sort();
      const taken = [...first, ...others].flatMap((topic) => {
        const payload = changed.get(topic);
        return payload === undefined || payload === recorded.get(topic) ? [] : [[topic, payload] as const];
      });
      for (const [topic, payload] of taken) recorded.set(topic, payload);
      changed.clear();
      return taken;
    },
  };
}

/** The signal once an hour, the region and the problems of the agent when they change. */
function createStatusRecorder(now: () => Instant, onEvent: (event: DemoEvent) => void) {
  let region: string | undefined;
  let problem = '';
  let index: number | undefined;
  let lastSignalHour = -1;
  const formatNow = () => formatInstant(now());

  const recordSignal = (signal: SignalPayload) => {
    index = signal.index ?? undefined;
    const hour = Math.floor(now() / 3_600_000);
    if (index === undefined || signal.rate === null || hour === lastSignalHour) return;
    // The rate of a new period is known before the index that ranks it.
    if (signal.indexTime !== signal.rateTime) return;
    lastSignalHour = hour;
    onEvent({ event: 'signal', at: formatNow(), index, rate: signal.rate, basis: signal.basis });
  };
  const recordInfo = (info: InfoPayload) => {
    if (typeof info.region !== 'string' || info.region === region) return;
    region = info.region;
    const { regionFullName, mapLastUpdated } = info;
    onEvent({
      event: 'region',
      at: formatNow(),
      region,
      regionFullName: regionFullName ?? '',
      map: mapLastUpdated ?? null,
    });
  };
  const recordHealth = (health: { readonly problem: string }) => {
    if (health.problem !== problem && health.problem !== '')
      onEvent({ event: 'problem', at: formatNow(), problem: health.problem });
    problem = health.problem;
  };
  return { recordSignal, recordInfo, recordHealth, readIndex: () => index };
}

/** The decisions, switches and deadlines of the loads. */
function createLoadRecorder(now: () => Instant, onEvent: (event: DemoEvent) => void) {
  const levels = new Map<string, Level>();
  const switches = new Map<string, number>();
  const jobs = new Map<string, { readonly by: number; readonly isMet: boolean }>();
  const recordDecision = (load: string, { level, why, text, job }: LoadPayload) => {
    const previous = levels.get(load);
    const switched = previous !== undefined && previous !== level;
    levels.set(load, level);
    if (switched) switches.set(load, (switches.get(load) ?? 0) + 1);
    if (job !== null) {
      const isMet = job.doneMinutes >= job.needMinutes - NEED_TOLERANCE_MINUTES;
      jobs.set(`${load} ${job.by}`, { by: Date.parse(job.by), isMet });
    }
    onEvent({ event: 'decision', at: formatInstant(now()), load, level, switched, why, text });
  };
  return {
    recordDecision,
    listRunning: () => new Set([...levels].filter(([, level]) => isRunning(level)).map(([load]) => load)),
    countSwitches: (load: string) => switches.get(load) ?? 0,
    countDeadlines(until: Instant) {
      const past = [...jobs.values()].filter(({ by }) => by <= until);
      const met = past.filter(({ isMet }) => isMet).length;
      return { met, missed: past.length - met };
    },
  };
}

export function createDemoRecorder(
  device: string,
  clock: Pick<VirtualClock, 'now'>,
  onEvent: (event: DemoEvent) => void,
): DemoRecorder {
  const topics = buildTopics({ device });
  const now = () => clock.now().wall;
  let moment = now();
  const status = createStatusRecorder(() => moment, onEvent);
  const loads = createLoadRecorder(() => moment, onEvent);
  const cells = createStripCells(now());
  let [messages, bytes] = [0, 0];

  const documents = createDocuments(
    [topics.info, topics.health, topics.signal],
    (topic) => topic.startsWith(topics.load('')) && !topic.slice(topics.load('').length).includes('/'),
  );

  const endMoment = () => {
    for (const [topic, payload] of documents.takeChanged()) {
      const document = JSON.parse(payload);
      if (topic === topics.info) status.recordInfo(document);
      else if (topic === topics.health) status.recordHealth(document);
      else if (topic === topics.signal) status.recordSignal(document);
      else loads.recordDecision(topic.slice(topics.load('').length), document);
    }
  };
  return {
    onMessage(topic, payload) {
      messages += 1;
      bytes += Buffer.byteLength(topic) + Buffer.byteLength(payload);
      if (now() > moment) {
        endMoment();
        moment = now();
      }
      if (payload !== '') documents.set(topic, payload);
    },
    endMoment,
    recordCells(from, to) {
      endMoment();
      cells.fill(from, to, { index: status.readIndex(), running: loads.listRunning() });
    },
    listCells: cells.list,
    countMessages: () => ({ messages, bytes }),
    countSwitches: loads.countSwitches,
    countDeadlines: () => loads.countDeadlines(now()),
  };
}
