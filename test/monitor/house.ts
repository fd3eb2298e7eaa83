/** A house to be monitored: its configuration, what the agent would tell of it, and a monitor on a real link. */

import type { Config } from '../../src/config/config.ts';
import type { Decision } from '../../src/control/control.ts';
import type { RemoteCommand } from '../../src/monitor/commands-in.ts';
import type { Health } from '../../src/monitor/health.ts';
import { clientIdOf, createMonitor, type Monitor, willOf } from '../../src/monitor/monitor.ts';
import { createBrokers } from '../../src/platform/broker.ts';
import { createSystemClock } from '../../src/platform/clock.ts';
import type { SignalView } from '../../src/signal/view.ts';
import {
  type Instant,
  type Latitude,
  type LbsPerMwh,
  type Longitude,
  minutes,
  type Percentile,
} from '../../src/units.ts';
import type { Broker, BrokerOptions, BrokerState, Clock } from '../../src/world.ts';
import { load } from '../outputs/cellar.ts';

export const houseConfig = (url: string, more: Partial<Config> = {}): Config => ({
  device: 'cellar',
  logLevel: 'info',
  place: { latitude: 38.5 as Latitude, longitude: -122 as Longitude, timezone: 'America/Los_Angeles' },
  service: {
    url: 'https://signal.example',
    usernameFile: '/none',
    passwordFile: '/none',
    signalType: 'co2_moer',
    fleet: 1,
  },
  mqtt: { url, commands: 'auto', discovery: 'homeassistant' },
  ties: 'mid',
  loads: [
    load({ kind: 'dry-run', as: 'relay' }, { name: 'car' }),
    load({ kind: 'dry-run', as: 'sg-ready' }, { name: 'heating', type: 'heat-pump' }),
  ],
  ...more,
});

export const decision = (more: Partial<Decision> = {}): Decision => ({
  load: 'car',
  at: Date.now() as Instant,
  level: 'on',
  wanted: 'on',
  why: 'clean',
  priority: 8,
  basis: 'live-index',
  index: { value: 21 as Percentile, age: minutes(1) },
  ...more,
});

export const view = (more: Partial<SignalView> = {}): SignalView => {
  const now = Date.now() as Instant;
  return {
    region: 'CAISO_NORTH',
    index: {
      value: 21 as Percentile,
      basis: 'live-index',
      at: now,
      startsUntil: (now + minutes(5)) as Instant,
      validUntil: (now + minutes(10)) as Instant,
      flat: false,
      quality: 'full',
    },
    rate: { value: 583.4 as LbsPerMwh, at: now, until: (now + minutes(5)) as Instant },
    changesAt: (now + minutes(5)) as Instant,
    ...more,
  };
};

export const health = (more: Partial<Health> = {}): Health => ({
  parts: {
    service: { ok: true },
    broker: { ok: true },
    map: { ok: true },
    clock: { ok: true },
    storage: { ok: true },
    outputs: { ok: true },
  },
  basis: 'live-index',
  requests: 12,
  logins: 1,
  ...more,
});

export interface House {
  readonly config: Config;
  readonly broker: Broker;
  readonly monitor: Monitor;
  readonly commands: (RemoteCommand & { readonly load: string })[];
  readonly said: string[];
  state(wanted: (state: BrokerState) => boolean): Promise<BrokerState>;
  stop(): Promise<void>;
}

export interface HouseOptions {
  readonly config?: Partial<Config>;
  readonly link?: Partial<BrokerOptions>;
  readonly clock?: Clock;
}

/** Everything told once, then started, as the agent does. */
export function startHouse(
  url: string,
  { config: more = {}, link = {}, clock = createSystemClock() }: HouseOptions = {},
): House {
  const config = houseConfig(url, more);
  const random = { fraction: () => 0 };
  const broker = createBrokers({ clock: createSystemClock(), random })({
    url,
    clientId: clientIdOf(config),
    will: willOf(config),
    ...link,
  });
  const said: string[] = [];
  const commands: (RemoteCommand & { readonly load: string })[] = [];
  const monitor = createMonitor({
    config,
    broker,
    clock,
    random,
    log: (level, message) => void said.push(`${level}: ${message}`),
    version: '0.0.1',
  });
  broker.start();
  monitor.info({ startedAt: Date.UTC(2026, 2, 1) as Instant, region: 'CAISO_NORTH' });
  monitor.signal(view(), 'index 21, 583 lb/MWh (live index)');
  monitor.decision(decision(), 'index 21: clean enough to run');
  monitor.decision(decision({ load: 'heating', level: 'recommend', wanted: 'recommend' }), 'index 21: runs');
  monitor.health(health());
  monitor.start({
    command(name, command) {
      commands.push({ load: name, ...command });
      return { accepted: true, words: `${name} does as told` };
    },
  });
  return {
    config,
    broker,
    monitor,
    commands,
    said,
    state: (wanted) =>
      new Promise((resolve) => {
        if (wanted(broker.state)) return resolve(broker.state);
        const cancel = broker.watch((state) => {
          if (!wanted(state)) return;
          cancel();
          resolve(state);
        });
      }),
    stop: () => monitor.stop(),
  };
}
