/** The project's client and a reference service on one clock that stands until it is moved; they speak over real HTTP on loopback. */

import { createHttp } from '../../src/platform/http.ts';
import type { FaultRule } from '../../src/reference/fault-rules.ts';
import { createReference, type Reference, type ReferenceOptions } from '../../src/reference/reference.ts';
import { createVirtualClock, type VirtualClock } from '../../src/replay/clock.ts';
import type { Failure, Outcome } from '../../src/service/failure.ts';
import { createService, type Service, type ServiceOptions } from '../../src/service/service.ts';
import { after, type Duration, type Instant, type Latitude, type Longitude, type Place } from '../../src/units.ts';

/** A Wednesday outside every preview and overlap of co2_moer. */
export const NOW = Date.parse('2026-06-10T18:02:30Z') as Instant;
export const PASSWORD = 'pass-word1';
export const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
export const CAISO_NORTH = { region: 'CAISO_NORTH', signalType: 'co2_moer' };

export type PlanName = 'free' | 'basic' | 'analyst' | 'pro';

export const place = (latitude: number, longitude: number): Place => ({
  latitude: latitude as Latitude,
  longitude: longitude as Longitude,
});

export const at = (text: string) => Date.parse(text) as Instant;

export interface Pair {
  readonly reference: Reference;
  readonly url: string;
  readonly clock: VirtualClock;
  /** What was logged, warnings and errors. */
  readonly warned: string[];
  /** A client of the account named like its plan. */
  client(plan?: PlanName, options?: Partial<ServiceOptions>): Service;
  faults(...rules: readonly FaultRule[]): void;
  pass(time: Duration): Promise<void>;
  close(): Promise<void>;
}

export async function startPair(options: Partial<ReferenceOptions> = {}, ca?: string): Promise<Pair> {
  const clock = createVirtualClock(NOW);
  const accounts = (['free', 'basic', 'analyst', 'pro'] as const).map((plan) => ({
    username: plan,
    password: PASSWORD,
    plan,
  }));
  const reference = await createReference({ seed: 7, accounts, ...options, clock: () => clock.now().wall });
  const { url } = await reference.listen();
  const http = createHttp(ca === undefined ? {} : { ca });
  const warned: string[] = [];
  const clients: Service[] = [];
  return {
    reference,
    url,
    clock,
    warned,
    client(plan = 'pro', more = {}) {
      const service = createService({
        url,
        http,
        clock,
        random: { fraction: () => 0.5 },
        credentials: async () => ({ username: plan, password: PASSWORD }),
        log: (level, message) => {
          if (level === 'warn' || level === 'error') warned.push(message);
        },
        ...more,
      });
      clients.push(service);
      return service;
    },
    faults: (...rules) => reference.setFaults(rules),
    pass: (time) => clock.runUntil(after(clock.now().wall, time)),
    async close() {
      for (const service of clients) service.stop();
      await http.close();
      await reference.close();
    },
  };
}

/** The answer; fails the test with the failure in full. */
export function answer<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new Error(`expected an answer, received ${JSON.stringify(outcome.failure)}`);
  return outcome.value;
}

export function failure(outcome: Outcome<unknown>): Failure {
  if (outcome.ok) throw new Error('expected a failure, received an answer');
  return outcome.failure;
}
