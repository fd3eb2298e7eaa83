/** The agent as one object: joins the floors for one configuration and one world; holds wiring and no rules. */

import type { Config } from '../config/config.ts';
import type { ControlEvent, Decision, Site } from '../control/control-types.ts';
import { explainDecision } from '../control/explain.ts';
import { type ControlState, initialState, step } from '../control/step.ts';
import { hashFraction } from '../domain/hash-fraction.ts';
import type { Level, LoadConfig } from '../domain/load-types.ts';
import type { Broker, Cancel, Ports } from '../domain/ports.ts';
import {
  addDuration,
  type Duration,
  formatCount,
  formatInstant,
  milliseconds,
  minutes,
  seconds,
} from '../domain/units.ts';
import { formatBrokerProblem } from '../mqtt/health.ts';
import { createMonitor, type Monitor } from '../mqtt/monitor.ts';
import type { RemoteCommand } from '../mqtt/parse-command.ts';
import { buildClientId, buildWill } from '../mqtt/topics.ts';
import { buildFailsafeLines } from '../outputs/failsafe-lines.ts';
import type { HomeRegion } from '../region/region-types.ts';
import { createServiceClient, type ServiceClient } from '../service/client.ts';
import { createEntitlementPoller, type EntitlementPoller } from '../service/entitlements/entitlement-poller.ts';
import { type Entitlements, formatEntitlements } from '../service/entitlements/entitlements.ts';
import { chooseModel } from '../service/entitlements/pinned-model.ts';
import type { Failure } from '../service/failure.ts';
import type { SignalNote } from '../signal/signal-store.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { createAgentClock } from './agent-clock.ts';
import { awaitBroker } from './await-broker.ts';
import { createBrokerCredentials } from './broker-credentials.ts';
import { createClockMonitor } from './clock-monitor.ts';
import { type ControlLoop, createControlLoop, type StepReport } from './control-loop.ts';
import { createDocumentStore } from './document-store.ts';
import { buildHealth, formatServiceFailure, formatSignalView, getFailureKind } from './health-report.ts';
import { createLedgerWriter, type LedgerWriter, type RecordedJobs } from './ledger-writer.ts';
import { createLoadOutputs, type LoadOutputs } from './load-outputs.ts';
import { createPersistence, type Persistence } from './persistence.ts';
import { createProblems } from './problems.ts';
import { createRegionLoop, type RegionLoop } from './region-loop.ts';
import { createSettlement, type Settlement } from './settlement.ts';
import { createSignalLoop, type SignalLoop, type SignalSource } from './signal-loop.ts';

export interface AgentOptions {
  readonly config: Config;
  readonly world: Ports;
  readonly version: string;
}

export interface Snapshot {
  readonly region: HomeRegion | undefined;
  readonly view: SignalView | undefined;
  readonly decisions: readonly Decision[];
  readonly requests: number;
  readonly logins: number;
}

export interface Agent {
  /** Resolves when every load is under control, or when `stop` came first; service and broker are reached in the background. */
  start(): Promise<void>;
  /** Loads go to their `onStop` level, the ledger is written, the broker told. May be called twice. */
  stop(): Promise<void>;
  snapshot(): Snapshot;
}

/** Progress of running jobs reaches the disk at least this often. */
const PROGRESS_SAVE_INTERVAL = minutes(30);
/** Signal data held, about 40 KiB: often enough to start from, seldom enough for a memory card. */
const SIGNAL_SAVE_INTERVAL = minutes(6 * 60);

/** Devices that boot together ask over this, and over more when more share the account (specification 8). */
const STARTUP_SPREAD = seconds(60);
const STARTUP_SPREAD_PER_DEVICE = seconds(6);

/** Of a stop, in the machine's own time: to end what is under way, and to bring the loads to their levels. */
const SHUTDOWN_STEP_LIMIT = seconds(1);
const STOP_LEVEL_LIMIT = milliseconds(1_500);
/** A device that will not keep its level has been told often enough by its output: the core counts it as given up. */
const GIVEN_UP_DISAGREEMENTS = 3;

/** What the index says of a load that stays as it is. */
const isIndexReason = (why: Decision['why']) => why === 'clean' || why === 'between' || why === 'dirty';

export function createAgent({ config, world, version }: AgentOptions): Agent {
  const { disk, random, log, serviceManager: host } = world;
  const clock = createAgentClock(world.clock);
  const site: Site = {
    device: config.device,
    timezone: config.place.timezone,
    loads: config.loads,
    ...(config.budgetKw === undefined ? {} : { budget: config.budgetKw }),
  };

  let view: SignalView | undefined;
  let monitor: Monitor | undefined;
  let broker: Broker | undefined;
  let regionLoop: RegionLoop | undefined;
  let signalLoop: SignalLoop | undefined;
  let entitlementPoller: EntitlementPoller | undefined;
  let settlement: Settlement | undefined;
  let controlLoop: ControlLoop | undefined;
  let ledgerWriter: LedgerWriter | undefined;
  let persistence: Persistence | undefined;
  let watchdog: Cancel | undefined;
  let starting: Promise<void> = Promise.resolve();
  let stopping: Promise<void> | undefined;
  const shutdown = new AbortController();
  let outputs: LoadOutputs | undefined;
  const decisions = new Map<string, Decision>();

  const problems = createProblems(clock, log, () => publishHealth());
  const store = createDocumentStore(disk, (failure) => {
    if (failure === undefined) problems.resolve('storage');
    else
      problems.raise(
        'storage',
        `${failure.message}; the loads go on from memory, and it is tried again at the next change`,
        failure.failure.kind,
      );
  });
  const service: ServiceClient = createServiceClient({
    url: config.service.url,
    http: world.http,
    // The machine's own clock: what the service says of the time is measured against it.
    clock: world.clock,
    random,
    credentials,
    fleet: config.service.fleet,
    log,
  });

  async function credentials() {
    const [username, password] = await Promise.all([
      world.secrets.read(config.service.usernameFile),
      world.secrets.read(config.service.passwordFile),
    ]);
    return username === undefined || password === undefined ? undefined : { username, password };
  }

  function publishHealth(): void {
    if (stopping !== undefined) return;
    const { requests, logins } = service.counts();
    const health = buildHealth({
      troubles: problems.list(),
      view,
      signalData: signalLoop?.data(),
      requests,
      logins,
      region: regionLoop?.home()?.region,
      plan: formatOwnEntitlements(),
    });
    monitor?.publishHealth(health);
    host.setStatus(problems.list()[0]?.sentence ?? formatSignalView(view));
  }

  const formatOwnEntitlements = () => {
    const plan = entitlementPoller?.entitlements();
    return plan === undefined ? undefined : formatEntitlements(plan);
  };

  const clockMonitor = createClockMonitor({
    clock,
    service,
    problems,
    log,
    onChange: () => {
      signalLoop?.publishView();
      controlLoop?.feed({ kind: 'tick' });
    },
  });

  function startEntitlementPoller(): void {
    let previous: Entitlements | undefined;
    entitlementPoller = createEntitlementPoller({
      service,
      clock,
      random,
      onEntitlements: (plan, changes) => {
        for (const change of changes) log('info', change);
        signalLoop?.setGate('forecast', plan.forecast === 'closed' ? 'closed' : 'open');
        signalLoop?.setGate('live-index', plan.index === 'closed' ? 'closed' : 'open');
        applyPinnedModel(plan);
        // One that was never listed is not missed: a free account may list nothing of it.
        if (!plan.isListed && previous?.region === plan.region && previous.isListed)
          regionLoop?.requestEarlyRefresh('region-not-in-access');
        previous = plan;
        publishHealth();
      },
      onFailure: (failure) => log('debug', `the account's plan was not read: ${formatServiceFailure(failure, true)}`),
    });
  }

  /** A pinned model that makes no new data, or that nobody knows, is said and not asked for (specification 3, 9). */
  function applyPinnedModel({ models }: Entitlements): void {
    const { model, note } = chooseModel(config.service.model, models, clock.now().wall);
    if (note === undefined) problems.resolve('service:model');
    else problems.raise('service:model', `service.model: ${note}`);
    signalLoop?.setModel(model);
  }

  function startSignalLoop(): void {
    signalLoop = createSignalLoop({
      service,
      clock: clockMonitor.signalClock,
      random,
      signalType: config.service.signalType,
      firstWait: milliseconds(
        Math.floor(
          hashFraction(`${config.device} first`) *
            Math.max(STARTUP_SPREAD, STARTUP_SPREAD_PER_DEVICE * (config.service.fleet ?? 1)),
        ),
      ),
      ties: config.ties,
      phase: hashFraction(config.device),
      ...(persistence?.signalData === undefined ? {} : { initialData: persistence.signalData }),
      onView: (newView) => {
        view = newView;
        ledgerWriter?.recordView(newView, clock.now());
        monitor?.publishSignal(newView, formatSignalView(newView));
        controlLoop?.feed({ kind: 'signal', view: newView });
      },
      onAnswer: (source, { failure, note, initialData: held }) => {
        clockMonitor.checkSkew();
        if (failure?.kind === 'stopped') return;
        if (failure === undefined) persistence?.saveSignal(held, clock.now(), SIGNAL_SAVE_INTERVAL);
        if (failure?.kind === 'rejected' && isEntitledTo(source) && mayConcernRegion(source))
          regionLoop?.requestEarlyRefresh('region-refused');
        if (source === 'forecast' && failure?.kind === 'not-entitled')
          entitlementPoller?.observeGate('forecast', 'closed');
        if (source === 'forecast' && failure === undefined) entitlementPoller?.observeGate('forecast', 'open');
        reportAnswer(source, failure, note);
        publishHealth();
      },
    });
    signalLoop.setModel(config.service.model);
  }

  const isEntitledTo = (source: SignalSource) =>
    entitlementPoller?.entitlements()?.[source === 'forecast' ? 'forecast' : 'index'] !== 'closed';

  /** A pinned model that no description has listed yet may be what is refused. */
  const mayConcernRegion = (source: SignalSource) =>
    source === 'live-index' ||
    config.service.model === undefined ||
    (entitlementPoller?.entitlements()?.models.length ?? 0) > 0;

  function reportAnswer(source: SignalSource, failure: Failure | undefined, note: SignalNote | undefined): void {
    const subject = `service:${source}`;
    const lacking = `no ${source === 'forecast' ? 'forecast' : 'live index'}`;
    // What the plan does not have is told with the plan, not as a trouble.
    if (failure !== undefined && isEntitledTo(source)) {
      problems.raise(
        subject,
        `${lacking}: ${formatServiceFailure(failure, clock.now().trusted)}`,
        getFailureKind(failure),
      );
    } else if (note !== undefined && note.kind !== 'older' && note.kind !== 'model-seam') {
      problems.raise(subject, `${lacking}: ${note.message}`, note.kind);
    } else {
      problems.resolve(subject);
      if (note?.kind === 'model-seam') log('warn', note.message, { note: note.kind });
    }
  }

  function startSettlement(): void {
    settlement = createSettlement({
      service,
      clock: clockMonitor.signalClock,
      random,
      disk,
      signalType: config.service.signalType,
      phase: hashFraction(`${config.device} settle`),
      onSettled: async (entry) => ledgerWriter?.recordSettled(entry),
      onHistory: (history) => signalLoop?.addHistory(history),
      onFailure: (failure) =>
        log('debug', `what ran stays an estimate: ${formatServiceFailure(failure, clock.now().trusted)}`),
    });
  }

  function startRegionLoop(): Promise<void> {
    regionLoop = createRegionLoop({
      service,
      disk,
      store,
      clock,
      random,
      log,
      problems,
      signalType: config.service.signalType,
      device: config.device,
      place: config.place,
      onRegion: (home) => {
        const wait = signalLoop?.setRegion(home.region);
        entitlementPoller?.pollFor({ region: home.region, signalType: config.service.signalType }, wait);
        settlement?.setRegion(home.region);
        publishInfo();
      },
    });
    return regionLoop.start();
  }

  function publishInfo(): void {
    const home = regionLoop?.home();
    monitor?.publishInfo({
      startedAt,
      ...(home === undefined ? {} : { region: home.region, regionFullName: home.regionFullName }),
      ...(home?.mapLastUpdated === undefined ? {} : { mapLastUpdated: home.mapLastUpdated }),
    });
  }
  const startedAt = clock.now().wall;

  function startBroker(): void {
    const { mqtt } = config;
    if (mqtt === undefined) return;
    broker = world.broker({
      url: mqtt.url,
      clientId: buildClientId(config),
      will: buildWill(config),
      ...createBrokerCredentials(config, world.secrets),
    });
    broker.watchState((state) => {
      const trouble = formatBrokerProblem(state);
      if (trouble !== undefined) problems.raise('broker', trouble);
      else if (state.kind === 'online') problems.resolve('broker');
    });
    monitor = createMonitor({ config, broker, clock, random, log, version });
  }

  function createOutputs(): LoadOutputs {
    return createLoadOutputs({
      config,
      clock,
      log,
      problems,
      pins: world.pins,
      broker,
      onReport: (load, level) => {
        if (level === undefined) controlLoop?.feed({ kind: 'failed', load, disagreements: GIVEN_UP_DISAGREEMENTS });
        else controlLoop?.feed({ kind: 'confirmed', load, level });
      },
    });
  }

  const recordConfirmed = (load: string, level: Level) => ledgerWriter?.recordLevel(load, level, clock.now());

  function onStep({
    state,
    event,
    decisions: newDecisions,
    hasCommands: switched,
    now,
  }: StepReport<ControlState>): void {
    for (const decision of newDecisions) {
      const { load, level, why, priority } = decision;
      const before = decisions.get(load);
      decisions.set(load, decision);
      ledgerWriter?.recordDecision(decision, now);
      const words = explainDecision(decision, site.timezone);
      // A plan that moves its next start, or an index that hovers, is news for whoever watches, not for the log on a memory card.
      const isNoteworthy =
        before?.level !== level || (before.why !== why && !(isIndexReason(before.why) && isIndexReason(why)));
      log(isNoteworthy ? 'info' : 'debug', `${load} ${level}: ${words}`, { load, why, priority });
      monitor?.publishDecision(decision, words);
    }
    if (event.kind === 'confirmed') recordConfirmed(event.load, event.level);
    const isSavedAtOnce =
      switched ||
      event.kind === 'confirmed' ||
      event.kind === 'override' ||
      event.kind === 'arm' ||
      event.kind === 'clear';
    persistence?.saveControl(state, {
      now,
      jobs: ledgerWriter?.recordedJobs() ?? {},
      atMost: isSavedAtOnce ? (0 as Duration) : PROGRESS_SAVE_INTERVAL,
    });
  }

  function startControlLoop({ byLoad, reportFault }: LoadOutputs, levels: Record<string, Level>): void {
    const saved = persistence?.control;
    controlLoop = createControlLoop<ControlState>({
      site,
      step,
      state: initialState(
        site,
        saved?.state,
        saved !== undefined && world.bootId !== undefined && saved.boot === world.bootId,
      ),
      clock,
      outputs: byLoad,
      beforeTick: () => signalLoop?.publishViewIfDue(),
      onStep,
      onOutputFault: reportFault,
    });
    for (const [load, level] of Object.entries(levels)) recordConfirmed(load, level);
    controlLoop.start(levels);
  }

  function onCommand(load: string, remoteCommand: RemoteCommand): { accepted: boolean; text: string } {
    const name = { load };
    const event: ControlEvent =
      remoteCommand.kind === 'override'
        ? { ...remoteCommand, ...name, source: 'remote' }
        : remoteCommand.kind === 'arm'
          ? { ...remoteCommand, ...name }
          : { kind: 'clear', ...name };
    controlLoop?.feed(event);
    const decision = decisions.get(load);
    return {
      accepted: controlLoop !== undefined,
      text: decision === undefined ? '' : explainDecision(decision, site.timezone),
    };
  }

  function feedWatchdog(): void {
    const { watchdogInterval: every } = host;
    if (every === undefined) return;
    controlLoop?.feed({ kind: 'tick' });
    host.notifyAlive();
    watchdog = world.clock.wakeAt(addDuration(world.clock.now().uptime, every), 'watchdog', feedWatchdog);
  }

  async function stop(): Promise<void> {
    host.notifyStopping();
    shutdown.abort();
    // A start that is under way ends at its next step: what it has not opened is not left behind.
    await withTimeout(SHUTDOWN_STEP_LIMIT, Promise.allSettled([starting]));
    watchdog?.();
    clockMonitor.stop();
    entitlementPoller?.stop();
    settlement?.stop();
    regionLoop?.stop();
    signalLoop?.stop();
    service.stop();
    // A device that does not answer holds up neither the others nor the end.
    if (controlLoop !== undefined) await withTimeout(SHUTDOWN_STEP_LIMIT, controlLoop.stop());
    const stopLevelsReached = await withTimeout(STOP_LEVEL_LIMIT, Promise.all(config.loads.map(applyStopLevel)));
    // Where a load could not be told, the program that comes after this one tries once more.
    if (stopLevelsReached?.every((isReached) => isReached)) await world.failsafe?.clear();
    await ledgerWriter?.stop(clock.now());
    await persistence?.close();
    await monitor?.stop();
    await outputs?.close();
    await world.http.close();
  }

  /** Undefined when `work` has not ended in time. */
  function withTimeout<Value>(length: Duration, work: Promise<Value>): Promise<Value | undefined> {
    const { uptime } = world.clock.now();
    const scaledLimit = (length * (world.clock.speed ?? 1)) as Duration;
    return new Promise((resolve, reject) => {
      const cancelTimeout = world.clock.wakeAt(addDuration(uptime, scaledLimit), 'stop', () => resolve(undefined));
      work.then(resolve, reject).finally(cancelTimeout);
    });
  }

  /** True unless the load should have been told and was not. */
  async function applyStopLevel(load: LoadConfig): Promise<boolean> {
    const left = await outputs?.applyStopLevel(load);
    if (left !== undefined && left !== 'held') controlLoop?.recordFinalLevel(load.name, left);
    return left !== undefined;
  }

  async function start(): Promise<void> {
    persistence = await createPersistence(store, {
      ...(world.scratch === undefined ? {} : { scratch: createDocumentStore(world.scratch, () => {}) }),
      signalType: config.service.signalType,
      boot: world.bootId,
      note: (text) => log('warn', text),
    });
    if (shutdown.signal.aborted) return;
    ledgerWriter = createLedgerWriter(config.loads, store, persistence.control?.jobs ?? ({} as RecordedJobs));
    startBroker();
    broker?.start();
    await world.failsafe?.save(buildFailsafeLines(config.loads));
    await awaitBroker(broker, world.clock, shutdown.signal);
    if (shutdown.signal.aborted) return;
    outputs = createOutputs();
    const levels = await outputs.open();
    if (shutdown.signal.aborted) return;
    startControlLoop(outputs, levels);
    monitor?.start({ onCommand });
    startSignalLoop();
    startEntitlementPoller();
    startSettlement();
    clockMonitor.start();
    await startRegionLoop();
    if (shutdown.signal.aborted) return;
    publishInfo();
    publishHealth();
    host.notifyReady();
    feedWatchdog();
    log('info', `gridtide ${version} runs ${formatCount(config.loads.length, 'load')} as "${config.device}"`, {
      at: formatInstant(startedAt),
    });
  }

  return {
    start() {
      starting = start();
      return starting;
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
    snapshot: () => {
      const { requests, logins } = service.counts();
      return { region: regionLoop?.home(), view, decisions: [...decisions.values()], requests, logins };
    },
  };
}
