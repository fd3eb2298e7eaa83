/** Runs the unchanged control core over a recorded history in virtual time, with outputs that obey at once, and records the running times. */

import { decodeControlState, encodeControlState } from '../../agent/control-state-codec.ts';
import type { ControlEvent, Site } from '../../control/control-types.ts';
import { type ControlState, createInitialState, step } from '../../control/step.ts';
import { isRunning } from '../../domain/levels.ts';
import type { Level } from '../../domain/load-types.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { days, type Instant, subtractDuration, type Uptime } from '../../domain/units.ts';
import type { Basis, SignalView } from '../../signal/signal-view.ts';
import type { BacktestFaults } from './backtest-faults.ts';
import { findRowFrom, getRowTime, type RecordedSeries } from './recorded-series.ts';
import type { BacktestFeed } from './signal-feeds.ts';

/** One stretch of running for one reason. */
export interface RunSpan {
  readonly from: Instant;
  readonly to: Instant;
  readonly planned: boolean;
}

/** A change between running and not. */
export interface Transition {
  readonly at: Uptime;
  readonly on: boolean;
}

export interface SimulatedTrack {
  readonly runSpans: readonly RunSpan[];
  readonly transitions: readonly Transition[];
  /** Since what is measured began. */
  readonly minutesByBasis: { readonly [Name in Basis]?: number };
  /** Commands whose level was in place already. */
  readonly repeatedCommands: number;
}

interface SimulatedSite {
  readonly site: Site;
  /** What is before only teaches. */
  readonly measureFrom: Instant;
  /** Rows before it only teach the signal: the core starts at the first row from then on. */
  readonly startFrom?: Instant;
}

/** Starts are limited by the day, and a whole daily job lies between the start and what is measured. */
const LEAD_IN = days(2);

/** A site whose loads have run for two days when the measuring begins, and not through all the days that teach the signal. */
export const startShortlyBefore = (site: Site, measureFrom: Instant): SimulatedSite => ({
  site,
  measureFrom,
  startFrom: subtractDuration(measureFrom, LEAD_IN),
});

export interface SimulationOptions {
  readonly sites: readonly SimulatedSite[];
  readonly record: RecordedSeries;
  readonly feed: BacktestFeed;
  readonly faults: BacktestFaults;
  /** Rows done, now and then. */
  readonly onProgress?: (rows: number) => void;
}

/**
 * The tracks of each site's loads, in their order. The record's wall time is true time; the device's clock may differ under a fault.
 * The sites do not share power, only the signal: it is computed once for all.
 */
export function simulateSites(options: SimulationOptions): readonly (readonly SimulatedTrack[])[] {
  const { record, feed, faults, onProgress } = options;
  const readClock = createFaultyClock(record, faults);
  const sites = options.sites.map((site) => ({
    firstRow: findRowFrom(record, site.startFrom ?? getRowTime(record, 0)),
    core: createSimulatedCore(site, getRowTime(record, 0), readClock),
  }));
  let previous: SignalView | undefined;
  for (let row = 0; row < record.rows; row++) {
    const at = getRowTime(record, row);
    const isAfterGap = row === 0 || record.gapRows[row - 1] === row;
    const started = sites.filter(({ firstRow }) => firstRow <= row);
    for (const { firstRow, core } of started) {
      const isFresh = isAfterGap || row === firstRow;
      if (isFresh) core.startFresh(at);
      else core.runUntil(at);
      if (!isFresh && faults.isRestart(at)) core.restart(at);
    }
    const answered = faults.isAnswered(at) ? findRowFrom(record, subtractDuration(at, faults.answerDelay)) : undefined;
    const view = feed(answered, readClock(at));
    for (const { firstRow, core } of started)
      if (view !== previous || isAfterGap || row === firstRow) core.receiveSignal(at, view);
    previous = view;
    if (onProgress !== undefined && row % 2_048 === 0) onProgress(row);
  }
  return sites.map(({ core }) => core.tracks);
}

const createFaultyClock = (record: RecordedSeries, faults: BacktestFaults) => {
  const origin = getRowTime(record, 0);
  return (at: number): ClockReading => ({
    wall: (at + faults.clockError(at as Instant)) as Instant,
    uptime: (at - origin) as Uptime,
    trusted: true,
  });
};

interface SimulatedCore {
  readonly tracks: readonly SimulatedTrack[];
  /** As after a gap: no state, every output at its first level. */
  startFresh(at: Instant): void;
  /** The program stops and starts within one boot: outputs keep their level, the state goes through its text. */
  restart(at: Instant): void;
  /** Runs every wake-up that the core has set before `at`. */
  runUntil(at: Instant): void;
  receiveSignal(at: Instant, view: SignalView): void;
}

function createSimulatedCore(
  { site, measureFrom }: SimulatedSite,
  origin: Instant,
  readClock: (at: number) => ClockReading,
): SimulatedCore {
  const recorder = createTrackRecorder(site, origin, measureFrom);
  let state: ControlState = createInitialState(site, undefined, 'other-boot');
  let wakeAt = Number.POSITIVE_INFINITY;

  const stepCore = (event: ControlEvent, at: number): void => {
    recorder.recordRunTime(state, at);
    const result = step(site, state, event, readClock(at));
    state = result.state;
    wakeAt = result.wakeAt + origin;
    for (const { load, level } of result.commands) {
      const i = site.loads.findIndex(({ name }) => name === load);
      recorder.recordCommand(i, state.loads[i]?.level, level, at);
      stepCore({ kind: 'confirmed', load, level }, at);
    }
  };
  const startWith = (at: number, levels: Readonly<Record<string, Level>>): void =>
    stepCore({ kind: 'found', levels }, at);

  return {
    tracks: recorder.tracks,
    startFresh(at) {
      recorder.recordRunTime(state, at);
      state = createInitialState(site, undefined, 'other-boot');
      startWith(at, Object.fromEntries(site.loads.map(({ name, initialLevel }) => [name, initialLevel])));
    },
    restart(at) {
      recorder.recordRunTime(state, at);
      const levels = Object.fromEntries(state.loads.map(({ name, level }) => [name, level ?? 'off']));
      const read = decodeControlState(encodeControlState(state));
      if ('kind' in read) throw new Error(read.detail);
      state = createInitialState(site, read, 'same-boot');
      startWith(at, levels);
    },
    runUntil(at) {
      while (wakeAt < at) stepCore({ kind: 'tick' }, Math.max(wakeAt, recorder.recordedUntil()));
    },
    receiveSignal: (at, view) => stepCore({ kind: 'signal', view }, at),
  };
}

interface TrackRecorder {
  readonly tracks: readonly SimulatedTrack[];
  recordedUntil(): number;
  /** What has run since the last step belongs to the decision of that step. */
  recordRunTime(state: ControlState, at: number): void;
  recordCommand(load: number, previous: Level | undefined, level: Level, at: number): void;
}

function createTrackRecorder({ loads }: Site, origin: Instant, measureFrom: Instant): TrackRecorder {
  const tracks = loads.map(() => ({
    runSpans: [] as RunSpan[],
    transitions: [] as Transition[],
    minutesByBasis: {} as { [Name in Basis]?: number },
    repeatedCommands: 0,
  }));
  let recordedUntil: number = origin;
  return {
    tracks,
    recordedUntil: () => recordedUntil,
    recordRunTime(state, at) {
      if (at <= recordedUntil) return;
      const length = Math.max(0, at - Math.max(recordedUntil, measureFrom));
      tracks.forEach(({ runSpans, minutesByBasis }, i) => {
        const { level, decision } = state.loads[i] ?? {};
        const basis = decision?.basis ?? 'fail-safe';
        if (length > 0) minutesByBasis[basis] = (minutesByBasis[basis] ?? 0) + length / 60_000;
        if (isRunning(level)) appendRunSpan(runSpans, recordedUntil, at, decision?.priority === 7);
      });
      recordedUntil = at;
    },
    recordCommand(load, previous, level, at) {
      const track = tracks[load];
      if (track === undefined) return;
      if (previous === level) track.repeatedCommands++;
      if (isRunning(previous) !== isRunning(level))
        track.transitions.push({ at: (at - origin) as Uptime, on: isRunning(level) });
    },
  };
}

function appendRunSpan(runSpans: RunSpan[], from: number, to: number, planned: boolean): void {
  const previous = runSpans.at(-1);
  if (previous !== undefined && previous.to === from && previous.planned === planned)
    runSpans[runSpans.length - 1] = { ...previous, to: to as Instant };
  else runSpans.push({ from: from as Instant, to: to as Instant, planned });
}
