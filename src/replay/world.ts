/** The world of the demo: real HTTP and a real MQTT link on loopback, everything else virtual. Ends nothing it did not start. */

import { createBrokers } from '../platform/broker.ts';
import { createSystemClock } from '../platform/clock.ts';
import { createHttp } from '../platform/http.ts';
import { createSeededRandom } from '../platform/random.ts';
import type { Log, Secrets, World } from '../world.ts';
import type { VirtualClock } from './clock.ts';
import { createMemoryDisk } from './disk.ts';
import { heldBroker, heldHttp } from './held.ts';
import { createDryPins } from './pins.ts';

export interface ReplayWorldOptions {
  readonly clock: VirtualClock;
  readonly seed: number;
  readonly secrets: Secrets;
  readonly log: Log;
}

const SILENT_HOST = { ready() {}, status() {}, alive() {}, stopping() {} };

export function createReplayWorld({ clock, seed, secrets, log }: ReplayWorldOptions): World {
  const random = createSeededRandom(seed);
  const brokers = createBrokers({ clock: createSystemClock(), random });
  return {
    clock,
    random,
    disk: createMemoryDisk(),
    http: heldHttp(createHttp(), clock),
    broker: heldBroker(brokers, clock),
    pins: createDryPins(),
    host: SILENT_HOST,
    log,
    secrets,
    boot: 'virtual',
  };
}
