/** The project's client and a reference service on one clock that stands until it is moved; they speak over real HTTP on loopback. */

import {
  addDuration,
  type Duration,
  type Instant,
  type Latitude,
  type Longitude,
  type Place,
} from '../../src/domain/units.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import type { FaultRule } from '../../src/reference/faults/fault-rules.ts';
import {
  createReferenceService,
  type ReferenceOptions,
  type ReferenceService,
} from '../../src/reference/reference-service.ts';
import type { MapStream, UnchangedMap } from '../../src/service/api/response-types.ts';
import { createServiceClient, type ServiceClient, type ServiceClientOptions } from '../../src/service/client.ts';
import type { Failure, Outcome } from '../../src/service/failure.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { PROFILE } from './profile-under-test.ts';

/** A Wednesday outside every preview and overlap of co2_moer. */
export const NOW = Date.parse('2026-06-10T18:02:30Z') as Instant;
export const PASSWORD = 'pass-word1';
export const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
export const CAISO_NORTH = { region: 'CAISO_NORTH', signalType: 'co2_moer' };

type PlanName = 'free' | 'basic' | 'analyst' | 'pro';

export const buildPlace = (latitude: number, longitude: number): Place => ({
  latitude: latitude as Latitude,
  longitude: longitude as Longitude,
});

export const instantAt = (text: string) => Date.parse(text) as Instant;

export interface ClientAndReference {
  readonly reference: ReferenceService;
  readonly url: string;
  readonly clock: VirtualClock;
  /** What was logged, warnings and errors. */
  readonly warnings: string[];
  /** A client of the account named like its plan. */
  client(plan?: PlanName, options?: Partial<ServiceClientOptions>): ServiceClient;
  setFaults(...rules: readonly FaultRule[]): void;
  pass(time: Duration): Promise<void>;
  close(): Promise<void>;
}

export async function startClientAndReference(
  options: Partial<ReferenceOptions> = {},
  ca?: string,
): Promise<ClientAndReference> {
  const clock = createVirtualClock(NOW);
  const accounts = (['free', 'basic', 'analyst', 'pro'] as const).map((plan) => ({
    username: plan,
    password: PASSWORD,
    plan,
  }));
  const reference = await createReferenceService({
    seed: 7,
    accounts,
    profile: PROFILE,
    ...options,
    clock: () => clock.now().wall,
  });
  const { url } = await reference.listen();
  const http = createHttp(ca === undefined ? {} : { ca });
  const warnings: string[] = [];
  const clients: ServiceClient[] = [];
  return {
    reference,
    url,
    clock,
    warnings,
    client(plan = 'pro', more = {}) {
      const service = createServiceClient({
        url,
        http,
        clock,
        random: { fraction: () => 0.5 },
        credentials: async () => ({ username: plan, password: PASSWORD }),
        log: (level, message) => {
          if (level === 'warn' || level === 'error') warnings.push(message);
        },
        ...more,
      });
      clients.push(service);
      return service;
    },
    setFaults: (...rules) => reference.setFaults(rules),
    pass: (time) => clock.runUntil(addDuration(clock.now().wall, time)),
    async close() {
      for (const service of clients) service.stop();
      await http.close();
      await reference.close();
    },
  };
}

/** The answer; fails the test with the failure in full. */
export function expectAnswer<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new Error(`expected an answer, received ${JSON.stringify(outcome.failure)}`);
  return outcome.value;
}

/** A map on its way; fails the test when there is none. */
export function expectMap(outcome: Outcome<MapStream | UnchangedMap>): MapStream {
  const map = expectAnswer(outcome);
  if ('unchanged' in map) throw new Error('expected a map, received "unchanged"');
  return map;
}

export function expectFailure(outcome: Outcome<unknown>): Failure {
  if (outcome.ok) throw new Error('expected a failure, received an answer');
  return outcome.failure;
}
