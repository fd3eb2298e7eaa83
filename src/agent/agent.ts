/** The agent as one object: wires the parts together for one configuration and one world. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control-types.ts';
import type { Ports } from '../domain/ports.ts';
import { formatCount, formatInstant, type Instant } from '../domain/units.ts';
import { getRateUnit } from '../mqtt/payloads.ts';
import type { HomeRegion } from '../region/region-types.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { createAgentClock } from './agent-clock.ts';
import type { AgentContext } from './agent-context.ts';
import { createDocumentStore } from './document-store.ts';
import { formatSignalView } from './health-report.ts';
import { createLedgerWriter } from './ledger-writer.ts';
import { createLifecycle } from './lifecycle.ts';
import { createLoadControl } from './load-control.ts';
import { createMonitorLink } from './monitor-link.ts';
import { createPersistence } from './persistence.ts';
import { createPriceSupply } from './price-supply.ts';
import { createProblems, reportDiskResult } from './problems.ts';
import { createSeriesPublisher } from './series-publisher.ts';
import { createSignalSupply } from './signal-supply.ts';
import { createStatusPublisher, createWatchdog, type StatusPublisher } from './status-publisher.ts';
import { createTotalsPublisher } from './totals-publisher.ts';

export interface AgentOptions {
  readonly config: Config;
  readonly world: Ports;
  readonly version: string;
}

interface Snapshot {
  readonly region: HomeRegion | undefined;
  readonly view: SignalView | undefined;
  readonly decisions: readonly Decision[];
  readonly requests: number;
  readonly logins: number;
}

export interface Agent {
  /** Resolves when every load is under control, or when `stop` came first; service and broker are reached in the background. */
  start(): Promise<void>;
  /** Loads go to their `onStop` level, the ledger is written, the broker link ends. May be called twice. */
  stop(): Promise<void>;
  snapshot(): Snapshot;
}

export function createAgent({ config, world, version }: AgentOptions): Agent {
  const { log, serviceManager } = world;
  const clock = createAgentClock(world.clock);
  const startedAt = clock.now().wall;
  const problems = createProblems(clock, log, () => status.publishHealth());
  const context: AgentContext = { config, world, version, clock, log, problems };
  const { store, scratch, persistence } = createStorage(context);
  const ledger = createLedgerWriter({ loads: config.loads, clock, store, scratch, disk: world.disk });
  const { broker, monitor, start: openLink } = createMonitorLink(context, store);
  const beforeTick = () => supply.signalLoop.publishViewIfDue();
  const loadControl = createLoadControl(context, { broker, monitor, ledger, persistence, beforeTick });
  const tick = () => loadControl.feed({ kind: 'tick' });
  const prices = createPriceSupply(context, { broker, onPrices: () => supply.signalLoop.publishView() });
  const supply = createSignalSupply(context, {
    ...{ store, persistence, ledger, broker, pricesAt: prices?.pricesAt },
    onView(view) {
      ledger.recordView(view, clock.now());
      monitor.publishSignal(view, formatSignalView(view, getRateUnit(config)));
      seriesPublisher.publish(view);
      loadControl.feed({ kind: 'signal', view });
      status.publishHealth();
    },
    onRegion: () => status.publishInfo(),
    onClockChange: tick,
    onHealthChange: () => status.publishHealth(),
  });
  const seriesPublisher = createSeriesPublisher({
    ...{ monitor, clock, timezone: config.place.timezone },
    data: () => supply.signalLoop.data(),
  });
  const totals = createTotalsPublisher(context, { monitor, decisions: loadControl.decisions });
  const isStopping = () => lifecycle.isStopping();
  const status = createStatusPublisher(context, { monitor, supply, startedAt, isStopping });
  const lifecycle = createLifecycle(world.clock, [
    { stop: world.http.close },
    prices ?? {},
    { start: openLink, stop: monitor.stop },
    { start: persistence.load, stop: persistence.close },
    { start: () => ledger.start(persistence.saved().control?.jobs), stop: ledger.stop },
    ...loadControl.parts,
    { start: () => monitor.start(loadControl) },
    ...supply.parts,
    { start: () => announceStart(context, status, startedAt) },
    totals,
    createWatchdog(world, tick),
  ]);

  return {
    start: lifecycle.start,
    stop() {
      if (!lifecycle.isStopping()) serviceManager.notifyStopping();
      return lifecycle.stop();
    },
    snapshot() {
      const { requests, logins } = supply.service.counts();
      const view = supply.signalLoop.view();
      return { region: supply.home(), view, decisions: loadControl.decisions(), requests, logins };
    },
  };
}

function createStorage({ config, world, problems, log }: AgentContext) {
  const store = createDocumentStore(world.disk, (failure) => reportDiskResult(problems, failure));
  const scratch = world.scratch && createDocumentStore(world.scratch, () => {});
  const persistence = createPersistence({
    ...{ store, scratch, signalType: config.service.signalType, boot: world.bootId },
    note: (text) => log('warn', text),
  });
  return { store, scratch, persistence };
}

function announceStart(
  { config, world, version, log }: AgentContext,
  status: StatusPublisher,
  startedAt: Instant,
): void {
  status.publishInfo();
  status.publishHealth();
  world.serviceManager.notifyReady();
  const loads = formatCount(config.loads.length, 'load');
  log('info', `gridtide ${version} runs ${loads} as "${config.device}"`, { at: formatInstant(startedAt) });
}
