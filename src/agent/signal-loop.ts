/** Keeps forecast and live index fresh and tells the view of the moment; decides neither when to ask (cadence) nor what an answer is worth (held). */

import type { SignalType } from '../config/config.ts';
import { afterFailure } from '../service/after-failure.ts';
import type { History } from '../service/answers.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import type { Service } from '../service/service.ts';
import { type Asked, nextAsk } from '../signal/cadence.ts';
import {
  emptyHeld,
  forRegion,
  type Held,
  type Note,
  type Taken,
  withForecast,
  withHistory,
  withLiveIndex,
} from '../signal/held.ts';
import { coveredUntil, viewAt } from '../signal/ladder.ts';
import type { Ties } from '../signal/local-index.ts';
import type { SignalView } from '../signal/view.ts';
import { after, between, type Duration, days, type Instant, milliseconds } from '../units.ts';
import type { Cancel, Clock, Moment, Random } from '../world.ts';

export type Source = 'live-index' | 'forecast';

/** Two days of autonomy from one answer, and a day more. */
const HORIZON_HOURS = 72;
/** A closed source is still tried so often, though the access description is read as often: it may not be readable, or list other than it opens. */
const PROBE = days(1);
const AT_ONCE = milliseconds(0);
/** A timer by the wall clock is never set closer than this, so that a clock stepping back cannot spin. */
const CLOSEST = milliseconds(1);

export interface SignalLoopParts {
  readonly service: Pick<Service, 'forecast' | 'signalIndex'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signalType: SignalType;
  readonly ties: Ties;
  /** This device's own moment within a period, in [0, 1). */
  readonly phase: number;
  readonly held?: Held;
  /** How long a first request waits while the data held still say what comes: devices that start together do not ask together. */
  readonly firstWait?: Duration;
  readonly view: (view: SignalView) => void;
  /** After each answer: what became of it. */
  readonly heard: (
    source: Source,
    news: { readonly failure?: Failure; readonly note?: Note; readonly held: Held },
  ) => void;
}

export interface SignalLoop {
  /** The device's region, as soon as it is known and when it changes; everything held is re-keyed at once. How long the first request waits. */
  setRegion(region: string): Duration;
  /** What the account's plan has of a source: a closed one is asked for once a day, an opened one at once. */
  setGate(source: Source, gate: 'open' | 'closed'): void;
  /** The data model the forecast is asked of from now on, at once when it is another; undefined for the service's default. */
  setModel(model: string | undefined): void;
  /** Measured values for the archive; those of another region are left out. */
  measured(history: History): void;
  /** Tells the view anew: the clock has changed. */
  look(): void;
  /** Tells the view anew when it is another one by now; its own timer may come a moment later. */
  lookIfDue(): void;
  held(): Held | undefined;
  stop(): void;
}

export function createSignalLoop(parts: SignalLoopParts): SignalLoop {
  const { service, clock, random, signalType, ties, phase, firstWait } = parts;
  let held = parts.held;
  let region: string | undefined;
  let model: string | undefined;
  let stopped = false;
  let asking = false;
  let nextRequest: Cancel | undefined;
  let nextLook: Cancel | undefined;
  let changesAt: Instant | undefined;
  const asked: Partial<Record<Source, Asked>> = {};
  const failures: Record<Source, number> = { 'live-index': 0, forecast: 0 };
  const closed = new Set<Source>();
  /** The first round of requests is over, whatever came of it. */
  let hasAsked = false;

  const look = (): void => {
    // Before the region is known, or while nothing is held and the first answers are due, nothing is said: a restart must not take its own haste for a lack of signal.
    if (stopped || region === undefined) return;
    const now = clock.now();
    const view = viewAt(held ?? emptyHeld('', signalType), now, { ties, ownRegion: region });
    if (!hasAsked && view.index === undefined && view.outlook === undefined) return;
    nextLook?.();
    changesAt = view.changesAt;
    const wait = milliseconds(Math.max(CLOSEST, between(now.wall, view.changesAt)));
    nextLook = clock.wakeAt(after(now.uptime, wait), 'view', look);
    parts.view(view);
  };

  const hasForecast = () => {
    const { wall, trusted } = clock.now();
    return trusted && held?.forecast !== undefined && wall < coveredUntil(held.forecast);
  };

  const waitFor = (source: Source, now: Moment): Duration =>
    nextAsk(source, held ?? emptyHeld(region ?? '', signalType), asked[source], now, phase);

  const schedule = (): void => {
    nextRequest?.();
    if (stopped || region === undefined || asking) return;
    const now = clock.now();
    const wait = Math.min(waitFor('live-index', now), waitFor('forecast', now)) as Duration;
    nextRequest = clock.wakeAt(after(now.uptime, wait), 'signal', () => void askWhatIsDue());
  };

  const askWhatIsDue = async (): Promise<void> => {
    asking = true;
    for (const source of ['live-index', 'forecast'] as const) {
      if (!stopped && region !== undefined && waitFor(source, clock.now()) <= 0) await ask(source, region);
    }
    asking = false;
    if (!hasAsked) {
      hasAsked = true;
      look();
    }
    schedule();
  };

  const ask = async (source: Source, about: string): Promise<void> => {
    const at = clock.now();
    asked[source] = { at };
    const query = { region: about, signalType };
    const taken =
      source === 'forecast'
        ? take(
            await service.forecast({
              ...query,
              horizonHours: HORIZON_HOURS,
              ...(model === undefined ? {} : { model }),
            }),
            (mine, answer) => withForecast(mine, answer, clock.now()),
          )
        : take(await service.signalIndex(query), (mine, answer) => withLiveIndex(mine, answer, clock.now()));
    // An answer that comes after the region has changed is of no use any more.
    if (stopped || about !== region) return;
    const { failure, accepted, note } = taken;
    held = taken.held;
    failures[source] = failure === undefined ? 0 : failures[source] + 1;
    if (failure !== undefined)
      asked[source] = { at: clock.now(), wait: afterFailure(failure, failures[source], random.fraction()) };
    parts.heard(source, {
      held,
      ...(failure === undefined ? {} : { failure }),
      ...(note === undefined ? {} : { note }),
    });
    if (accepted) look();
  };

  const take = <Answer>(
    outcome: Outcome<Answer>,
    by: (held: Held, answer: Answer) => Taken,
  ): Taken & { readonly failure?: Failure } => {
    const mine = held ?? emptyHeld(region ?? '', signalType);
    return outcome.ok ? by(mine, outcome.value) : { held: mine, accepted: false, failure: outcome.failure };
  };

  return {
    setRegion(found) {
      if (found === region) return AT_ONCE;
      const isFirst = region === undefined;
      region = found;
      held = held === undefined ? emptyHeld(found, signalType) : forRegion(held, found);
      closed.clear();
      look();
      const wait = isFirst && firstWait !== undefined && hasForecast() ? firstWait : AT_ONCE;
      asked.forecast = { at: clock.now(), wait };
      asked['live-index'] = asked.forecast;
      schedule();
      return wait;
    },
    setGate(source, gate) {
      if ((gate === 'closed') === closed.has(source)) return;
      if (gate === 'closed') {
        closed.add(source);
        asked[source] = { at: clock.now(), wait: PROBE };
      } else {
        closed.delete(source);
        delete asked[source];
      }
      schedule();
    },
    setModel(wanted) {
      if (wanted === model) return;
      model = wanted;
      if (closed.has('forecast')) return;
      delete asked.forecast;
      schedule();
    },
    measured(history) {
      if (region === undefined || stopped) return;
      const taken = withHistory(held ?? emptyHeld(region, signalType), history, clock.now());
      if (!taken.accepted) return;
      held = taken.held;
      look();
    },
    look,
    lookIfDue() {
      if (changesAt !== undefined && clock.now().wall >= changesAt) look();
    },
    held: () => held,
    stop() {
      stopped = true;
      nextRequest?.();
      nextLook?.();
    },
  };
}
