/** Keeps forecast and live index fresh and publishes the resulting signal view. */

import type { Prices } from '../domain/tariff.ts';
import { type Duration, type Instant, milliseconds } from '../domain/units.ts';
import type { History } from '../service/api/response-types.ts';
import type { Failure } from '../service/failure.ts';
import { buildSignalView, computeCoveredUntil } from '../signal/freshness.ts';
import type { TieRule } from '../signal/percentile-index.ts';
import { createSignalData, type SignalData, type SignalNote, withHistory, withRegion } from '../signal/signal-store.ts';
import type { SignalView } from '../signal/signal-view.ts';
import type { SignalSource } from './poll-state.ts';
import { createSignalPoller, type SignalPoller, type SignalPollerParts } from './signal-poller.ts';
import { createViewPublisher } from './view-publisher.ts';

const NO_WAIT = milliseconds(0);

/** What became of one request. */
export interface SignalAnswer {
  readonly failure?: Failure;
  readonly note?: SignalNote;
  readonly data: SignalData;
}

export interface SignalLoopParts extends SignalPollerParts {
  readonly ties: TieRule;
  /** How long a first request waits while saved data still forecast: agents that start together do not ask together. */
  readonly firstWait: Duration;
  /** The prices known at a moment, where a tariff is configured. */
  readonly pricesAt?: ((now: Instant) => Prices | undefined) | undefined;
  readonly onView: (view: SignalView) => void;
  readonly onAnswer: (source: SignalSource, answer: SignalAnswer) => void;
}

export interface SignalLoop extends Pick<SignalPoller, 'setGate' | 'setModel' | 'pollNow' | 'stop'> {
  /** The data saved by the life before; called before the region is set. */
  restore(data: SignalData | undefined): void;
  /** The machine's region, first and when it changes; all data are re-keyed at once. Returns how long the first request waits. */
  setRegion(region: string): Duration;
  /** Measured values; those of another region are left out. */
  addHistory(history: History): void;
  /** Publishes the view anew: the clock has changed. */
  publishView(): void;
  /** Publishes the view when it has become another one. */
  publishViewIfDue(): void;
  /** The view published last. */
  view(): SignalView | undefined;
  data(): SignalData | undefined;
}

export function createSignalLoop(parts: SignalLoopParts): SignalLoop {
  const { clock, signalType, ties, firstWait, onView, onAnswer } = parts;
  let saved: SignalData | undefined;
  let region: string | undefined;
  let isFirstRound = true;

  const getData = () => saved ?? createSignalData(region ?? '', signalType);
  const buildView = (): SignalView | undefined => {
    if (region === undefined) return undefined;
    const view = buildSignalView(getData(), clock.now(), { ties, ownRegion: region });
    // A restart is no lack of signal: no view is published before the first answers have arrived.
    return isFirstRound && view.index === undefined && view.horizon === undefined ? undefined : addPrices(parts, view);
  };
  const publisher = createViewPublisher({ clock, buildView, onView });
  const poller = createSignalPoller(parts, {
    region: () => region,
    data: getData,
    onUpdate(source, { signal, accepted, failure, note }) {
      saved = signal;
      onAnswer(source, { data: signal, ...(failure && { failure }), ...(note && { note }) });
      if (accepted) publisher.publish();
    },
    onRoundEnd() {
      if (!isFirstRound) return;
      isFirstRound = false;
      publisher.publish();
    },
  });

  return {
    ...poller,
    restore(data) {
      saved = data;
    },
    setRegion(next) {
      if (next === region) return NO_WAIT;
      const isFirst = region === undefined;
      region = next;
      saved = withRegion(getData(), next);
      publisher.publish();
      const wait = isFirst && hasValidForecast(saved, clock) ? firstWait : NO_WAIT;
      poller.restart(wait);
      return wait;
    },
    addHistory(history) {
      const update = withHistory(getData(), history, clock.now());
      if (!update.accepted) return;
      saved = update.signal;
      publisher.publish();
    },
    publishView: publisher.publish,
    publishViewIfDue: publisher.publishIfDue,
    view: publisher.view,
    data: () => saved,
    stop() {
      poller.stop();
      publisher.stop();
    },
  };
}

/** The prices of now, on a clock that is trusted. */
function addPrices({ clock, pricesAt }: SignalLoopParts, view: SignalView): SignalView {
  const { wall, trusted } = clock.now();
  const prices = trusted ? pricesAt?.(wall) : undefined;
  return prices === undefined ? view : { ...view, prices };
}

function hasValidForecast({ forecast }: SignalData, clock: SignalLoopParts['clock']): boolean {
  const { wall, trusted } = clock.now();
  return trusted && forecast !== undefined && wall < computeCoveredUntil(forecast);
}
