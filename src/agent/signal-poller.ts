/** Polls the signal sources when they are due, one after the other, the live index first. */

import type { SignalType } from '../domain/load-types.ts';
import { createPoller } from '../domain/poller.ts';
import type { Clock, Random } from '../domain/ports.ts';
import type { Duration } from '../domain/units.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import { type SignalData, type SignalUpdate, withForecast, withLiveIndex } from '../signal/signal-store.ts';
import { createPollState, SIGNAL_SOURCES, type SignalSource } from './poll-state.ts';

/** Two days of autonomy from one answer, and a day more. */
const HORIZON_HOURS = 72;

export interface SignalPollerParts {
  readonly service: Pick<ServiceClient, 'forecast' | 'signalIndex'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signalType: SignalType;
  /** This agent's own moment within a period, in [0, 1). */
  readonly phase: number;
  /** The data model of the forecast; the service's default when absent. */
  readonly model: string | undefined;
}

type RequestedUpdate = SignalUpdate & { readonly failure?: Failure };

export interface SignalPollerHandlers {
  /** Undefined while no region is known. */
  readonly region: () => string | undefined;
  readonly data: () => SignalData;
  readonly onUpdate: (source: SignalSource, update: RequestedUpdate) => void;
  /** Every source that was due has been polled. */
  readonly onRoundEnd: () => void;
}

export interface SignalPoller {
  /** For another region: polls both sources after `wait`, also closed ones. */
  restart(wait: Duration): void;
  /** By the account's entitlements: a closed source is polled once a day, an opened one at once. */
  setGate(source: SignalSource, gate: 'open' | 'closed'): void;
  /** Requests the forecast of this model from now on, at once when it is another one. */
  setModel(model: string | undefined): void;
  /** A source has news: polls it at once, unless it is closed. */
  pollNow(source: SignalSource): void;
  stop(): void;
}

export function createSignalPoller(parts: SignalPollerParts, handlers: SignalPollerHandlers): SignalPoller {
  const { clock } = parts;
  const { region, data, onUpdate, onRoundEnd } = handlers;
  const pollState = createPollState(parts.random, parts.phase);
  let model = parts.model;
  let order: readonly SignalSource[] = SIGNAL_SOURCES;

  const getWait = (source: SignalSource) => pollState.getWait(source, data(), clock.now());
  const getShortestWait = () => Math.min(...SIGNAL_SOURCES.map(getWait)) as Duration;
  const reschedule = () => region() !== undefined && poller.pollAfter(getShortestWait());

  /** Returns how many requests failed. */
  const askSource = async (source: SignalSource, requestedRegion: string): Promise<0 | 1> => {
    pollState.recordRequest(source, clock.now());
    const update = await requestUpdate(parts, { source, region: requestedRegion, model, data });
    // An answer that comes after the region has changed is of no use any more.
    if (poller.signal.aborted || requestedRegion !== region()) return 0;
    pollState.recordAnswer(source, update.failure, clock.now());
    onUpdate(source, update);
    return update.failure === undefined ? 0 : 1;
  };

  const poller = createPoller({
    clock,
    name: 'signal',
    async poll() {
      let failures = 0;
      for (const source of order) {
        const current = region();
        if (!poller.signal.aborted && current !== undefined && getWait(source) <= 0)
          failures += await askSource(source, current);
      }
      // A source that answers 429 uses up the rate limit of both: the other one is first the next time.
      if (failures > 1) order = [...order].reverse();
      onRoundEnd();
      return getShortestWait();
    },
  });

  const pollNow = (source: SignalSource): void => {
    pollState.pollNow(source);
    reschedule();
  };

  return {
    pollNow,
    restart(wait) {
      pollState.restart(wait, clock.now());
      reschedule();
    },
    setGate(source, gate) {
      if (pollState.setGate(source, gate, clock.now())) reschedule();
    },
    setModel(next) {
      if (next !== model) pollNow('forecast');
      model = next;
    },
    stop: poller.stop,
  };
}

interface UpdateRequest extends Pick<SignalPollerHandlers, 'data'> {
  readonly source: SignalSource;
  readonly region: string;
  readonly model: string | undefined;
}

async function requestUpdate(
  { service, clock, signalType }: SignalPollerParts,
  { source, region, model, data }: UpdateRequest,
): Promise<RequestedUpdate> {
  // The data may have changed by the time the answer is in.
  const apply = <Answer>(
    outcome: Outcome<Answer>,
    addAnswer: (data: SignalData, answer: Answer) => SignalUpdate,
  ): RequestedUpdate =>
    outcome.ok ? addAnswer(data(), outcome.value) : { signal: data(), accepted: false, failure: outcome.failure };
  const query = { region, signalType };
  if (source === 'live-index')
    return apply(await service.signalIndex(query), (before, answer) => withLiveIndex(before, answer, clock.now()));
  const forecastQuery = { ...query, horizonHours: HORIZON_HOURS, ...(model === undefined ? {} : { model }) };
  return apply(await service.forecast(forecastQuery), (before, answer) => withForecast(before, answer, clock.now()));
}
