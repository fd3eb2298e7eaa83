/** Asks a device for its state once a minute, and whenever its output wants to know; one question at a time. */

import { createPoller } from '../domain/poller.ts';
import type { Clock } from '../domain/ports.ts';
import { minutes, seconds } from '../domain/units.ts';
import type { PolledDevice, PolledState } from './devices/polled-device.ts';
import { isOutputFailure, type OutputFailure } from './output.ts';

/** What a person or the device itself changes is seen within this, for one small request. */
const POLL_INTERVAL = minutes(1);
/** One lost answer is no news: the second is. */
const SECOND_LOOK = seconds(10);

export interface StatePollerParts {
  readonly load: string;
  readonly device: PolledDevice;
  readonly clock: Clock;
  /** Called with each answer and the one before, which is undefined after a failure. */
  readonly onState: (state: PolledState, before: PolledState | undefined) => void;
  /** The device cannot be asked: at the second failure in a row, or at once when time alone does not help. */
  readonly onFailure: (failure: OutputFailure) => void;
}

export interface StatePoller {
  /** Begins to ask; may be called again. */
  start(): void;
  /** Asks now; undefined of a device without a state, and after `stop`. */
  read(): Promise<PolledState | OutputFailure | undefined>;
  /** The last answer; after a failure it is not known. */
  state(): PolledState | undefined;
  /** Aborted by `stop`. */
  readonly signal: AbortSignal;
  stop(): void;
}

export function createStatePoller({ load, device, clock, onState, onFailure }: StatePollerParts): StatePoller {
  let state: PolledState | undefined;
  let failures = 0;
  let isStarted = false;
  let underWay: Promise<PolledState | OutputFailure | undefined> | undefined;

  const ask = async (): Promise<PolledState | OutputFailure | undefined> => {
    const found = await device.read?.(poller.signal);
    underWay = undefined;
    if (found === undefined || poller.signal.aborted) return undefined;
    const before = state;
    if (!isOutputFailure(found)) {
      failures = 0;
      state = found;
      onState(found, before);
      return found;
    }
    failures += 1;
    const isNews = failures > 1 || found.kind !== 'offline';
    state = isNews ? { available: false } : undefined;
    if (isNews) onFailure(found);
    return found;
  };
  const read: StatePoller['read'] = () => {
    underWay ??= ask();
    return underWay;
  };
  const poller = createPoller({
    clock,
    name: `state of ${load}`,
    async poll() {
      await read();
      return failures === 1 ? SECOND_LOOK : POLL_INTERVAL;
    },
  });

  return {
    start() {
      if (isStarted || device.read === undefined) return;
      isStarted = true;
      poller.pollAfter(POLL_INTERVAL);
    },
    read,
    state: () => state,
    signal: poller.signal,
    stop: poller.stop,
  };
}
