/** The ports of the demo: real HTTP and a real MQTT link on loopback, everything else virtual. */

import type { Log, Ports, Secrets } from '../domain/ports.ts';
import { createHttp } from '../platform/http-client.ts';
import { createBrokerFactory } from '../platform/mqtt-broker.ts';
import { createSeededRandom } from '../platform/random.ts';
import { createSystemClock } from '../platform/system-clock.ts';
import { createMemoryDisk } from './memory-disk.ts';
import { createPausingBroker, createPausingHttp } from './paused-io.ts';
import { createSimulatedLines } from './simulated-lines.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface DemoWorldOptions {
  readonly clock: VirtualClock;
  readonly seed: number;
  readonly secrets: Secrets;
  readonly log: Log;
}

const SILENT_SERVICE_MANAGER = { notifyReady() {}, setStatus() {}, notifyAlive() {}, notifyStopping() {} };

export function createDemoWorld({ clock, seed, secrets, log }: DemoWorldOptions): Ports {
  const random = createSeededRandom(seed);
  const brokers = createBrokerFactory({ clock: createSystemClock(), random });
  return {
    clock,
    random,
    disk: createMemoryDisk(),
    http: createPausingHttp(createHttp(), clock),
    broker: createPausingBroker(brokers, clock),
    pins: createSimulatedLines(),
    serviceManager: SILENT_SERVICE_MANAGER,
    log,
    secrets,
    bootId: 'virtual',
  };
}
