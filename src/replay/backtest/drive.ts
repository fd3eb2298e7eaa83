/** Runs the unchanged control core over a history in virtual time, with outputs that obey at once, and writes down what it did. */

import type { Event, Site } from '../../control/control.ts';
import { initialState, loadState, type State, saveState, step } from '../../control/step.ts';
import type { Basis } from '../../signal/view.ts';
import { before, type Instant, type Uptime } from '../../units.ts';
import type { Moment } from '../../world.ts';
import type { Faults } from './faults.ts';
import type { Feed } from './feeds.ts';
import { type Record, rowFrom, timeOf } from './record.ts';

/** One stretch of running for one reason. */
export interface Stretch {
  readonly from: Instant;
  readonly to: Instant;
  readonly planned: boolean;
}

/** A change between running and not. */
export interface Edge {
  readonly at: Uptime;
  readonly on: boolean;
}

export interface Track {
  readonly stretches: Stretch[];
  readonly edges: Edge[];
  /** Since what is measured began. */
  readonly minutes: { [Name in Basis]?: number };
  /** Commands whose level was in place already. */
  repeated: number;
}

const isOn = (level: string | undefined) => level === 'on' || level === 'recommend' || level === 'force';

export interface Drive {
  readonly site: Site;
  readonly record: Record;
  readonly feed: Feed;
  readonly faults: Faults;
  /** What is before only teaches. */
  readonly measured: Instant;
  /** Rows done, now and then. */
  readonly progress?: (rows: number) => void;
}

/** The tracks of the loads, in their order. The record's wall time is true time; the device's clock may differ under a fault. */
export function drive({ site, record, feed, faults, measured, progress }: Drive): readonly Track[] {
  const tracks: Track[] = site.loads.map(() => ({ stretches: [], edges: [], minutes: {}, repeated: 0 }));
  const origin = timeOf(record, 0);
  let state: State = initialState(site, undefined, false);
  let wakeAt = Number.POSITIVE_INFINITY;
  let last = origin as number;

  const moment = (at: number): Moment => ({
    wall: (at + faults.clockError(at as Instant)) as Instant,
    uptime: (at - origin) as Uptime,
    trusted: true,
  });
  /** What has run since the last step belongs to the decision of that step. */
  const account = (at: number): void => {
    state.loads.forEach(({ level, decision }, i) => {
      const track = tracks[i];
      if (track === undefined || at <= last) return;
      const basis = decision?.basis ?? 'fail-safe';
      const length = Math.max(0, at - Math.max(last, measured));
      if (length > 0) track.minutes[basis] = (track.minutes[basis] ?? 0) + length / 60_000;
      if (isOn(level)) addStretch(track.stretches, last, at, decision?.priority === 7);
    });
    last = at;
  };
  const feedCore = (event: Event, at: number): void => {
    account(at);
    const done = step(site, state, event, moment(at));
    state = done.state;
    wakeAt = done.wakeAt + origin;
    for (const { load, level } of done.commands) {
      const i = site.loads.findIndex(({ name }) => name === load);
      const was = state.loads[i]?.level;
      const track = tracks[i];
      if (track !== undefined) {
        if (was === level) track.repeated++;
        if (isOn(was) !== isOn(level)) track.edges.push({ at: (at - origin) as Uptime, on: isOn(level) });
      }
      feedCore({ kind: 'confirmed', load, level }, at);
    }
  };
  const begin = (at: number): void => {
    account(at);
    last = at;
    state = initialState(site, undefined, false);
    feedCore({ kind: 'found', levels: Object.fromEntries(site.loads.map(({ name, boot }) => [name, boot])) }, at);
  };

  /** The program stops and starts within one boot: outputs keep their level, the state goes through its text. */
  const restart = (at: number): void => {
    account(at);
    const levels = Object.fromEntries(state.loads.map(({ name, level }) => [name, level ?? 'off']));
    const read = loadState(saveState(state));
    if ('kind' in read) throw new Error(read.detail);
    state = initialState(site, read, true);
    feedCore({ kind: 'found', levels }, at);
  };

  for (let row = 0; row < record.rows; row++) {
    const at = timeOf(record, row);
    const gap = row === 0 || record.ends[row - 1] === row;
    if (gap) begin(at);
    else while (wakeAt < at) feedCore({ kind: 'tick' }, Math.max(wakeAt, last));
    if (!gap && faults.restarts(at)) restart(at);
    const told = faults.heard(at) ? rowFrom(record, before(at, faults.lateness)) : undefined;
    feedCore({ kind: 'signal', view: feed(told, moment(at)) }, at);
    if (progress !== undefined && row % 2_048 === 0) progress(row);
  }
  return tracks;
}

function addStretch(stretches: Stretch[], from: number, to: number, planned: boolean): void {
  const before = stretches.at(-1);
  if (before !== undefined && before.to === from && before.planned === planned)
    stretches[stretches.length - 1] = { ...before, to: to as Instant };
  else stretches.push({ from: from as Instant, to: to as Instant, planned });
}
