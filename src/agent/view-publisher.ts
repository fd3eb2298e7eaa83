/** Publishes the signal view whenever it changes. */

import type { Cancel, Clock } from '../domain/ports.ts';
import { addDuration, durationBetween, milliseconds } from '../domain/units.ts';
import type { SignalView } from '../signal/signal-view.ts';

export interface ViewPublisherParts {
  readonly clock: Clock;
  /** Undefined while there is no view yet. */
  readonly buildView: () => SignalView | undefined;
  readonly onView: (view: SignalView) => void;
}

export interface ViewPublisher {
  publish(): void;
  /** Publishes when the view has become another one: the timer for that may run a moment later. */
  publishIfDue(): void;
  /** The view published last. */
  view(): SignalView | undefined;
  stop(): void;
}

/** A timer by the wall clock is never set closer than this, so that a clock stepping back cannot spin. */
const MIN_TIMER_WAIT = milliseconds(1);

export function createViewPublisher({ clock, buildView, onView }: ViewPublisherParts): ViewPublisher {
  let timer: Cancel | undefined;
  let published: SignalView | undefined;
  let isStopped = false;

  const publish = (): void => {
    const view = isStopped ? undefined : buildView();
    if (view === undefined) return;
    published = view;
    timer?.();
    const { wall, uptime } = clock.now();
    const wait = milliseconds(Math.max(MIN_TIMER_WAIT, durationBetween(wall, view.changesAt)));
    timer = clock.wakeAt(addDuration(uptime, wait), 'view', publish);
    onView(view);
  };

  return {
    publish,
    publishIfDue() {
      if (published !== undefined && clock.now().wall >= published.changesAt) publish();
    },
    view: () => published,
    stop() {
      isStopped = true;
      timer?.();
    },
  };
}
