/** A house to be monitored: its configuration, what the agent would tell of it, and a monitor on a real link. */

import type { Config } from '../../src/config/config.ts';
import type { Decision } from '../../src/control/control-types.ts';
import type { Broker, BrokerOptions, BrokerState, Clock } from '../../src/domain/ports.ts';
import {
  type Instant,
  type Latitude,
  type LbsPerMwh,
  type Longitude,
  minutes,
  type Percentile,
} from '../../src/domain/units.ts';
import type { Health } from '../../src/mqtt/health.ts';
import { createMonitor, type Monitor } from '../../src/mqtt/monitor.ts';
import type { RemoteCommand } from '../../src/mqtt/parse-command.ts';
import { buildClientId, buildWill } from '../../src/mqtt/topics.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import type { SignalView } from '../../src/signal/signal-view.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

export const buildMonitorConfig = (url: string, more: Partial<Config> = {}): Config => ({
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
  gpio: 'auto',
  ties: 'mid',
  objective: 'carbon',
  maxDearer: 0.02,
  loads: [
    buildLoad({ kind: 'dry-run', as: 'relay' }, { name: 'car' }),
    buildLoad({ kind: 'dry-run', as: 'sg-ready' }, { name: 'heating', type: 'heat-pump' }),
  ],
  ...more,
});

export const sampleDecision = (more: Partial<Decision> = {}): Decision => ({
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

const sampleView = (more: Partial<SignalView> = {}): SignalView => {
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

export const sampleHealth = (more: Partial<Health> = {}): Health => ({
  parts: {
    service: { ok: true },
    broker: { ok: true },
    map: { ok: true },
    clock: { ok: true },
    storage: { ok: true },
    outputs: { ok: true },
    tariff: { ok: true },
  },
  basis: 'live-index',
  ...more,
});

export interface MonitorFixture {
  readonly config: Config;
  readonly broker: Broker;
  readonly monitor: Monitor;
  readonly commands: (RemoteCommand & { readonly load: string })[];
  readonly logLines: string[];
  waitForState(wanted: (state: BrokerState) => boolean): Promise<BrokerState>;
  stop(): Promise<void>;
}

export interface MonitorFixtureOptions {
  readonly config?: Partial<Config>;
  readonly link?: Partial<BrokerOptions>;
  readonly clock?: Clock;
}

/** Everything told once, then started, as the agent does. */
export function startMonitorFixture(
  url: string,
  { config: more = {}, link = {}, clock = createSystemClock() }: MonitorFixtureOptions = {},
): MonitorFixture {
  const config = buildMonitorConfig(url, more);
  const random = { fraction: () => 0 };
  const broker = createBrokerFactory({ clock: createSystemClock(), random })({
    url,
    clientId: buildClientId(config),
    will: buildWill(config),
    ...link,
  });
  const logLines: string[] = [];
  const commands: (RemoteCommand & { readonly load: string })[] = [];
  const monitor = createMonitor({
    config,
    broker,
    clock,
    random,
    log: (level, message) => void logLines.push(`${level}: ${message}`),
    version: '0.0.1',
  });
  broker.start();
  monitor.publishInfo({ startedAt: Date.UTC(2026, 2, 1) as Instant, region: 'CAISO_NORTH' });
  monitor.publishSignal(sampleView(), 'index 21, 583 lb/MWh (live index)');
  monitor.publishDecision(sampleDecision(), 'index 21: clean enough to run');
  monitor.publishDecision(
    sampleDecision({ load: 'heating', level: 'recommend', wanted: 'recommend' }),
    'index 21: runs',
  );
  monitor.publishHealth(sampleHealth());
  monitor.start({
    async onCommand(name, command) {
      commands.push({ load: name, ...command });
      return { accepted: true, text: `${name} does as told` };
    },
  });
  return {
    config,
    broker,
    monitor,
    commands,
    logLines,
    waitForState: (wanted) =>
      new Promise((resolve) => {
        if (wanted(broker.state)) return resolve(broker.state);
        const cancel = broker.watchState((state) => {
          if (!wanted(state)) return;
          cancel();
          resolve(state);
        });
      }),
    stop: () => monitor.stop(),
  };
}
