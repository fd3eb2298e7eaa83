/** Runs the unchanged control core over a history in virtual time, with outputs that obey at once, and writes down what it did. */

import type { ControlEvent, Site } from '../../control/control-types.ts';
import { type ControlState, decodeControlState, encodeControlState, initialState, step } from '../../control/step.ts';
import type { ClockReading } from '../../domain/ports.ts';
import { type Instant, subtractDuration, type Uptime } from '../../domain/units.ts';
import type { Basis } from '../../signal/signal-view.ts';
import type { BacktestFaults } from './backtest-faults.ts';
import { findRowFrom, type RecordedSeries, timeOfRow } from './recorded-series.ts';
import type { BacktestFeed } from './signal-feeds.ts';

/** One stretch of running for one reason. */
export interface RunInterval {
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
  readonly runIntervals: RunInterval[];
  readonly transitions: Transition[];
  /** Since what is measured began. */
  readonly minutesByBasis: { [Name in Basis]?: number };
  /** Commands whose level was in place already. */
  repeatedCommands: number;
}

const isRunningLevel = (level: string | undefined) => level === 'on' || level === 'recommend' || level === 'force';

export interface SimulationOptions {
  readonly site: Site;
  readonly record: RecordedSeries;
  readonly feed: BacktestFeed;
  readonly faults: BacktestFaults;
  /** What is before only teaches. */
  readonly measureFrom: Instant;
  /** Rows done, now and then. */
  readonly onProgress?: (rows: number) => void;
}

/** The tracks of the loads, in their order. The record's wall time is true time; the device's clock may differ under a fault. */
export function simulate({
  site,
  record,
  feed,
  faults,
  measureFrom,
  onProgress,
}: SimulationOptions): readonly SimulatedTrack[] {
  const tracks: SimulatedTrack[] = site.loads.map(() => ({
    runIntervals: [],
    transitions: [],
    minutesByBasis: {},
    repeatedCommands: 0,
  }));
  const origin = timeOfRow(record, 0);
  let state: ControlState = initialState(site, undefined, false);
  let wakeAt = Number.POSITIVE_INFINITY;
  let recordedUntil = origin as number;

  const momentAt = (at: number): ClockReading => ({
    wall: (at + faults.clockError(at as Instant)) as Instant,
    uptime: (at - origin) as Uptime,
    trusted: true,
  });
  /** What has run since the last step belongs to the decision of that step. */
  const recordRunTime = (at: number): void => {
    state.loads.forEach(({ level, decision }, i) => {
      const track = tracks[i];
      if (track === undefined || at <= recordedUntil) return;
      const basis = decision?.basis ?? 'fail-safe';
      const length = Math.max(0, at - Math.max(recordedUntil, measureFrom));
      if (length > 0) track.minutesByBasis[basis] = (track.minutesByBasis[basis] ?? 0) + length / 60_000;
      if (isRunningLevel(level)) appendRunInterval(track.runIntervals, recordedUntil, at, decision?.priority === 7);
    });
    recordedUntil = at;
  };
  const stepCore = (event: ControlEvent, at: number): void => {
    recordRunTime(at);
    const stepResult = step(site, state, event, momentAt(at));
    state = stepResult.state;
    wakeAt = stepResult.wakeAt + origin;
    for (const { load, level } of stepResult.commands) {
      const i = site.loads.findIndex(({ name }) => name === load);
      const previousLevel = state.loads[i]?.level;
      const track = tracks[i];
      if (track !== undefined) {
        if (previousLevel === level) track.repeatedCommands++;
        if (isRunningLevel(previousLevel) !== isRunningLevel(level))
          track.transitions.push({ at: (at - origin) as Uptime, on: isRunningLevel(level) });
      }
      stepCore({ kind: 'confirmed', load, level }, at);
    }
  };
  const startFresh = (at: number): void => {
    recordRunTime(at);
    recordedUntil = at;
    state = initialState(site, undefined, false);
    stepCore(
      { kind: 'found', levels: Object.fromEntries(site.loads.map(({ name, initialLevel: boot }) => [name, boot])) },
      at,
    );
  };

  /** The program stops and starts within one boot: outputs keep their level, the state goes through its text. */
  const restart = (at: number): void => {
    recordRunTime(at);
    const levels = Object.fromEntries(state.loads.map(({ name, level }) => [name, level ?? 'off']));
    const read = decodeControlState(encodeControlState(state));
    if ('kind' in read) throw new Error(read.detail);
    state = initialState(site, read, true);
    stepCore({ kind: 'found', levels }, at);
  };

  for (let row = 0; row < record.rows; row++) {
    const at = timeOfRow(record, row);
    const isAfterGap = row === 0 || record.gapRows[row - 1] === row;
    if (isAfterGap) startFresh(at);
    else while (wakeAt < at) stepCore({ kind: 'tick' }, Math.max(wakeAt, recordedUntil));
    if (!isAfterGap && faults.isRestart(at)) restart(at);
    const receivedRow = faults.isAnswered(at)
      ? findRowFrom(record, subtractDuration(at, faults.answerDelay))
      : undefined;
    stepCore({ kind: 'signal', view: feed(receivedRow, momentAt(at)) }, at);
    if (onProgress !== undefined && row % 2_048 === 0) onProgress(row);
  }
  return tracks;
}

function appendRunInterval(runIntervals: RunInterval[], from: number, to: number, planned: boolean): void {
  const previous = runIntervals.at(-1);
  if (previous !== undefined && previous.to === from && previous.planned === planned)
    runIntervals[runIntervals.length - 1] = { ...previous, to: to as Instant };
  else runIntervals.push({ from: from as Instant, to: to as Instant, planned });
}
