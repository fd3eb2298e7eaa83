/** A service that answers at once and counts, relays that ask it, and a broker that all share; in virtual time. */

import type { KeyObject } from 'node:crypto';
import { addDuration, floorTo, type Instant, minutes, type Percentile } from '../../src/domain/units.ts';
import { createSeededRandom } from '../../src/platform/random.ts';
import type { SignalService } from '../../src/relay/relayed-service.ts';
import { type SignalPublisherParts, startSignalPublisher } from '../../src/relay/signal-publisher.ts';
import { createSigningKey, parseSigningKey } from '../../src/relay/signing-key.ts';
import type { Forecast, LiveIndex } from '../../src/service/api/response-types.ts';
import type { Failure } from '../../src/service/failure.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createSharedBroker } from '../doubles/shared-broker.ts';

export const EVENING = Date.parse('2026-03-02T20:00:00Z') as Instant;
export const QUERY = { region: 'CAISO_NORTH', signalType: 'co2_moer' };

export function readSigningKey(): KeyObject {
  const key = parseSigningKey(createSigningKey());
  if (key === undefined) throw new Error('no key');
  return key;
}

const COMMON = { ...QUERY, period: minutes(5), warnings: [], refusedPoints: 0, model: '2024-01-01' };

export const buildForecastAt = (now: Instant, length = 36): Forecast => ({
  ...COMMON,
  units: 'lbs_co2_per_mwh',
  generatedAt: floorTo(now, minutes(5)),
  generatedPeriod: minutes(5),
  points: Array.from({ length }, (_, i) => {
    const at = addDuration(floorTo(now, minutes(5)), minutes(5 * i));
    return { at, value: 500 + 300 * Math.sin((at / minutes(1440)) * 2 * Math.PI) };
  }),
});

const buildIndexAt = (now: Instant): LiveIndex => ({
  ...COMMON,
  units: 'percentile',
  point: { at: floorTo(now, minutes(5)), value: 42 as Percentile },
});

export function createRelayWorld() {
  const clock = createVirtualClock(EVENING);
  const broker = createSharedBroker();
  const asked: { kind: string; at: Instant }[] = [];
  const logLines: string[] = [];
  const service: { failure: Failure | undefined } = { failure: undefined };
  const answer = async <Value>(kind: string, build: (now: Instant) => Value) => {
    const now = clock.now().wall;
    asked.push({ kind, at: now });
    return service.failure === undefined
      ? ({ ok: true, value: build(now) } as const)
      : ({ ok: false, failure: service.failure } as const);
  };
  const stopped = async () => ({ ok: false, failure: { kind: 'stopped' } }) as const;
  const account: SignalService = {
    forecast: () => answer('forecast', buildForecastAt),
    signalIndex: () => answer('index', buildIndexAt),
    history: () => answer('history', () => ({ ...COMMON, units: 'lbs_co2_per_mwh', points: [] })),
    ...{ myAccess: stopped, map: stopped, regionFromLoc: stopped },
    counts: () => ({ requests: asked.length, logins: 0, bytesIn: 0 }),
    skew: () => undefined,
    stop() {},
  };
  const signingKey = readSigningKey();
  let relays = 0;
  return {
    /** Whoever asks it is counted in `asked`. */
    account,
    clock,
    broker,
    asked,
    logLines,
    service,
    signingKey,
    countAsked: (kind: string) => asked.filter((one) => one.kind === kind).length,
    startRelay(change: Partial<SignalPublisherParts> = {}) {
      relays += 1;
      const link = broker.connect();
      const publisher = startSignalPublisher({
        ...{ broker: link, clock, random: createSeededRandom(relays), signingKey, publicKeys: [signingKey] },
        signals: [QUERY],
        log: (_, message) => logLines.push(message),
        service: account,
        ...change,
      });
      return { link, stop: publisher.stop };
    },
  };
}
