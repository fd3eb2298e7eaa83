/** Keeps forecast and live index fresh and tells the view of the moment; decides neither when to ask (cadence) nor what an answer is worth (held). */

import type { SignalType } from '../domain/load-types.ts';
import type { Cancel, Clock, ClockReading, Random } from '../domain/ports.ts';
import { addDuration, type Duration, days, durationBetween, type Instant, milliseconds } from '../domain/units.ts';
import type { History } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';
import { buildSignalView, coveredUntil } from '../signal/freshness.ts';
import type { TieRule } from '../signal/percentile-index.ts';
import { type LastPoll, nextPoll } from '../signal/poll-schedule.ts';
import {
  emptySignalData,
  type SignalData,
  type SignalNote,
  type SignalUpdate,
  withForecast,
  withHistory,
  withLiveIndex,
  withRegion,
} from '../signal/signal-store.ts';
import type { SignalView } from '../signal/signal-view.ts';

export type SignalSource = 'live-index' | 'forecast';

/** Two days of autonomy from one answer, and a day more. */
const HORIZON_HOURS = 72;
/** A closed source is still tried so often, though the access description is read as often: it may not be readable, or list other than it opens. */
const CLOSED_PROBE_INTERVAL = days(1);
const NO_WAIT = milliseconds(0);
/** A timer by the wall clock is never set closer than this, so that a clock stepping back cannot spin. */
const MIN_TIMER_WAIT = milliseconds(1);

export interface SignalLoopParts {
  readonly service: Pick<ServiceClient, 'forecast' | 'signalIndex'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signalType: SignalType;
  readonly ties: TieRule;
  /** This device's own moment within a period, in [0, 1). */
  readonly phase: number;
  readonly initialData?: SignalData;
  /** How long a first request waits while the data held still say what comes: devices that start together do not ask together. */
  readonly firstWait?: Duration;
  readonly onView: (view: SignalView) => void;
  /** After each answer: what became of it. */
  readonly onAnswer: (
    source: SignalSource,
    news: { readonly failure?: Failure; readonly note?: SignalNote; readonly initialData: SignalData },
  ) => void;
}

export interface SignalLoop {
  /** The device's region, as soon as it is known and when it changes; everything held is re-keyed at once. How long the first request waits. */
  setRegion(region: string): Duration;
  /** What the account's plan has of a source: a closed one is asked for once a day, an opened one at once. */
  setGate(source: SignalSource, gate: 'open' | 'closed'): void;
  /** The data model the forecast is asked of from now on, at once when it is another; undefined for the service's default. */
  setModel(model: string | undefined): void;
  /** Measured values for the archive; those of another region are left out. */
  addHistory(history: History): void;
  /** Tells the view anew: the clock has changed. */
  publishView(): void;
  /** Tells the view anew when it is another one by now; its own timer may come a moment later. */
  publishViewIfDue(): void;
  data(): SignalData | undefined;
  stop(): void;
}

export function createSignalLoop(parts: SignalLoopParts): SignalLoop {
  const { service, clock, random, signalType, ties, phase, firstWait } = parts;
  let data = parts.initialData;
  let region: string | undefined;
  let model: string | undefined;
  let stopped = false;
  let isRequesting = false;
  let requestTimer: Cancel | undefined;
  let viewTimer: Cancel | undefined;
  let viewChangesAt: Instant | undefined;
  const lastRequests: Partial<Record<SignalSource, LastPoll>> = {};
  const failures: Record<SignalSource, number> = { 'live-index': 0, forecast: 0 };
  const closedSources = new Set<SignalSource>();
  /** The first round of requests is over, whatever came of it. */
  let hasFinishedFirstRound = false;

  const publishView = (): void => {
    // Before the region is known, or while nothing is held and the first answers are due, nothing is said: a restart must not take its own haste for a lack of signal.
    if (stopped || region === undefined) return;
    const now = clock.now();
    const view = buildSignalView(data ?? emptySignalData('', signalType), now, { ties, ownRegion: region });
    if (!hasFinishedFirstRound && view.index === undefined && view.horizon === undefined) return;
    viewTimer?.();
    viewChangesAt = view.changesAt;
    const wait = milliseconds(Math.max(MIN_TIMER_WAIT, durationBetween(now.wall, view.changesAt)));
    viewTimer = clock.wakeAt(addDuration(now.uptime, wait), 'view', publishView);
    parts.onView(view);
  };

  const hasForecast = () => {
    const { wall, trusted } = clock.now();
    return trusted && data?.forecast !== undefined && wall < coveredUntil(data.forecast);
  };

  const getRequestWait = (source: SignalSource, now: ClockReading): Duration =>
    nextPoll(source, data ?? emptySignalData(region ?? '', signalType), lastRequests[source], now, phase);

  const schedule = (): void => {
    requestTimer?.();
    if (stopped || region === undefined || isRequesting) return;
    const now = clock.now();
    const wait = Math.min(getRequestWait('live-index', now), getRequestWait('forecast', now)) as Duration;
    requestTimer = clock.wakeAt(addDuration(now.uptime, wait), 'signal', () => void requestDueSources());
  };

  const requestDueSources = async (): Promise<void> => {
    isRequesting = true;
    for (const source of ['live-index', 'forecast'] as const) {
      if (!stopped && region !== undefined && getRequestWait(source, clock.now()) <= 0)
        await requestSource(source, region);
    }
    isRequesting = false;
    if (!hasFinishedFirstRound) {
      hasFinishedFirstRound = true;
      publishView();
    }
    schedule();
  };

  const requestSource = async (source: SignalSource, requestedRegion: string): Promise<void> => {
    const at = clock.now();
    lastRequests[source] = { at };
    const query = { region: requestedRegion, signalType };
    const update =
      source === 'forecast'
        ? applyOutcome(
            await service.forecast({
              ...query,
              horizonHours: HORIZON_HOURS,
              ...(model === undefined ? {} : { model }),
            }),
            (current, answer) => withForecast(current, answer, clock.now()),
          )
        : applyOutcome(await service.signalIndex(query), (mine, answer) => withLiveIndex(mine, answer, clock.now()));
    // An answer that comes after the region has changed is of no use any more.
    if (stopped || requestedRegion !== region) return;
    const { failure, accepted, note } = update;
    data = update.signal;
    failures[source] = failure === undefined ? 0 : failures[source] + 1;
    if (failure !== undefined)
      lastRequests[source] = { at: clock.now(), wait: computeRetryDelay(failure, failures[source], random.fraction()) };
    parts.onAnswer(source, {
      initialData: data,
      ...(failure === undefined ? {} : { failure }),
      ...(note === undefined ? {} : { note }),
    });
    if (accepted) publishView();
  };

  const applyOutcome = <Answer>(
    outcome: Outcome<Answer>,
    applyAnswer: (held: SignalData, answer: Answer) => SignalUpdate,
  ): SignalUpdate & { readonly failure?: Failure } => {
    const current = data ?? emptySignalData(region ?? '', signalType);
    return outcome.ok
      ? applyAnswer(current, outcome.value)
      : { signal: current, accepted: false, failure: outcome.failure };
  };

  return {
    setRegion(newRegion) {
      if (newRegion === region) return NO_WAIT;
      const isFirst = region === undefined;
      region = newRegion;
      data = data === undefined ? emptySignalData(newRegion, signalType) : withRegion(data, newRegion);
      closedSources.clear();
      publishView();
      const wait = isFirst && firstWait !== undefined && hasForecast() ? firstWait : NO_WAIT;
      lastRequests.forecast = { at: clock.now(), wait };
      lastRequests['live-index'] = lastRequests.forecast;
      schedule();
      return wait;
    },
    setGate(source, gate) {
      if ((gate === 'closed') === closedSources.has(source)) return;
      if (gate === 'closed') {
        closedSources.add(source);
        lastRequests[source] = { at: clock.now(), wait: CLOSED_PROBE_INTERVAL };
      } else {
        closedSources.delete(source);
        delete lastRequests[source];
      }
      schedule();
    },
    setModel(newModel) {
      if (newModel === model) return;
      model = newModel;
      if (closedSources.has('forecast')) return;
      delete lastRequests.forecast;
      schedule();
    },
    addHistory(history) {
      if (region === undefined || stopped) return;
      const taken = withHistory(data ?? emptySignalData(region, signalType), history, clock.now());
      if (!taken.accepted) return;
      data = taken.signal;
      publishView();
    },
    publishView,
    publishViewIfDue() {
      if (viewChangesAt !== undefined && clock.now().wall >= viewChangesAt) publishView();
    },
    data: () => data,
    stop() {
      stopped = true;
      requestTimer?.();
      viewTimer?.();
    },
  };
}
