/** The agent as one object: joins the floors for one configuration and one world; holds wiring and no rules. */

import { brokerAnswers } from './agent/broker-answers.ts';
import { brokerSecrets } from './agent/broker-secrets.ts';
import { createClockWatch } from './agent/clock-watch.ts';
import { type ControlLoop, createControlLoop, type Told } from './agent/control-loop.ts';
import { createLedgerKeeper, type JobsWritten, type LedgerKeeper } from './agent/ledger-keeper.ts';
import { createLoadOutputs, type LoadOutputs } from './agent/load-outputs.ts';
import { createMemory, type Memory } from './agent/memory.ts';
import { createRegionKeeper, type RegionKeeper } from './agent/region-keeper.ts';
import { createSettler, type Settler } from './agent/settler.ts';
import { createSignalLoop, type SignalLoop, type Source } from './agent/signal-loop.ts';
import { createStore } from './agent/store.ts';
import { createTimekeeper } from './agent/time.ts';
import { createTroubles } from './agent/troubles.ts';
import { failureKind, failureWords, healthOf, signalWords } from './agent/words.ts';
import type { Config, Level, LoadConfig } from './config/config.ts';
import type { Decision, Event, Site } from './control/control.ts';
import { explain } from './control/explain.ts';
import { initialState, type State, step } from './control/step.ts';
import type { RemoteCommand } from './monitor/commands-in.ts';
import { brokerTrouble } from './monitor/health.ts';
import { clientIdOf, createMonitor, type Monitor, willOf } from './monitor/monitor.ts';
import { safeLines } from './outputs/safe-lines.ts';
import type { HomeRegion } from './region/map.ts';
import type { Failure } from './service/failure.ts';
import { modelToAsk } from './service/models.ts';
import { type Plan, planWords } from './service/plan.ts';
import { createPlanWatch, type PlanWatch } from './service/plan-watch.ts';
import { createService, type Service } from './service/service.ts';
import type { Note } from './signal/held.ts';
import type { SignalView } from './signal/view.ts';
import { spreadOf } from './spread.ts';
import { after, counted, type Duration, iso, milliseconds, minutes, seconds } from './units.ts';
import type { Broker, Cancel, World } from './world.ts';

export interface AgentOptions {
  readonly config: Config;
  readonly world: World;
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
const SAVE_PROGRESS = minutes(30);
/** Signal data held, about 40 KiB: often enough to start from, seldom enough for a memory card. */
const SAVE_SIGNAL = minutes(6 * 60);

/** Devices that boot together ask over this, and over more when more share the account (specification 8). */
const FIRST_SPREAD = seconds(60);
const FIRST_SPREAD_EACH = seconds(6);

/** Of a stop, in the machine's own time: to end what is under way, and to bring the loads to their levels. */
const ENDING = seconds(1);
const LEAVING = milliseconds(1_500);
/** A device that will not keep its level has been told often enough by its output: the core counts it as given up. */
const GIVEN_UP = 3;

/** What the index says of a load that stays as it is. */
const isOfIndex = (why: Decision['why']) => why === 'clean' || why === 'between' || why === 'dirty';

export function createAgent({ config, world, version }: AgentOptions): Agent {
  const { disk, random, log, host } = world;
  const clock = createTimekeeper(world.clock);
  const site: Site = {
    device: config.device,
    timezone: config.place.timezone,
    loads: config.loads,
    ...(config.budget === undefined ? {} : { budget: config.budget }),
  };

  let view: SignalView | undefined;
  let monitor: Monitor | undefined;
  let broker: Broker | undefined;
  let regions: RegionKeeper | undefined;
  let signals: SignalLoop | undefined;
  let plans: PlanWatch | undefined;
  let settler: Settler | undefined;
  let control: ControlLoop | undefined;
  let ledger: LedgerKeeper | undefined;
  let memory: Memory | undefined;
  let watchdog: Cancel | undefined;
  let starting: Promise<void> = Promise.resolve();
  let stopping: Promise<void> | undefined;
  const ending = new AbortController();
  let outputs: LoadOutputs | undefined;
  const decisions = new Map<string, Decision>();

  const troubles = createTroubles(clock, log, () => tellHealth());
  const store = createStore(disk, (failure) => {
    if (failure === undefined) troubles.clear('storage');
    else
      troubles.raise(
        'storage',
        `${failure.message}; the loads go on from memory, and it is tried again at the next change`,
        failure.failure.kind,
      );
  });
  const service: Service = createService({
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

  function tellHealth(): void {
    if (stopping !== undefined) return;
    const { requests, logins } = service.counts();
    const health = healthOf({
      troubles: troubles.list(),
      view,
      held: signals?.held(),
      requests,
      logins,
      region: regions?.home()?.region,
      plan: planSaid(),
    });
    monitor?.health(health);
    host.status(troubles.list()[0]?.sentence ?? signalWords(view));
  }

  const planSaid = () => {
    const plan = plans?.plan();
    return plan === undefined ? undefined : planWords(plan);
  };

  const clocks = createClockWatch({
    clock,
    service,
    troubles,
    log,
    changed: () => {
      signals?.look();
      control?.feed({ kind: 'tick' });
    },
  });

  function startPlans(): void {
    let last: Plan | undefined;
    plans = createPlanWatch({
      service,
      clock,
      random,
      told: (plan, changes) => {
        for (const change of changes) log('info', change);
        signals?.setGate('forecast', plan.forecast === 'closed' ? 'closed' : 'open');
        signals?.setGate('live-index', plan.index === 'closed' ? 'closed' : 'open');
        goByModel(plan);
        // One that was never listed is not missed: a free account may list nothing of it.
        if (!plan.isListed && last?.region === plan.region && last.isListed && last.history !== 'unknown')
          regions?.lookEarly('region-not-in-access');
        last = plan;
        tellHealth();
      },
      failed: (failure) => log('debug', `the account's plan was not read: ${failureWords(failure, true)}`),
    });
  }

  /** A pinned model that makes no new data, or that nobody knows, is said and not asked for (specification 3, 9). */
  function goByModel({ models }: Plan): void {
    const { model, note } = modelToAsk(config.service.model, models, clock.now().wall);
    if (note === undefined) troubles.clear('service:model');
    else troubles.raise('service:model', `service.model: ${note}`);
    signals?.setModel(model);
  }

  function startSignals(): void {
    signals = createSignalLoop({
      service,
      clock: clocks.signalClock,
      random,
      signalType: config.service.signalType,
      firstWait: milliseconds(
        Math.floor(
          spreadOf(`${config.device} first`) * Math.max(FIRST_SPREAD, FIRST_SPREAD_EACH * (config.service.fleet ?? 1)),
        ),
      ),
      ties: config.ties,
      phase: spreadOf(config.device),
      ...(memory?.held === undefined ? {} : { held: memory.held }),
      view: (news) => {
        view = news;
        ledger?.view(news, clock.now());
        monitor?.signal(news, signalWords(news));
        control?.feed({ kind: 'signal', view: news });
      },
      heard: (source, { failure, note, held }) => {
        clocks.heard();
        if (failure?.kind === 'stopped') return;
        if (failure === undefined) memory?.keepSignal(held, clock.now(), SAVE_SIGNAL);
        if (failure?.kind === 'refused' && isInPlan(source) && isAboutRegion(source))
          regions?.lookEarly('region-refused');
        if (source === 'forecast' && failure?.kind === 'gated') plans?.met('forecast', 'closed');
        if (source === 'forecast' && failure === undefined) plans?.met('forecast', 'open');
        tellAnswer(source, failure, note);
        tellHealth();
      },
    });
    signals.setModel(config.service.model);
  }

  const isInPlan = (source: Source) => plans?.plan()?.[source === 'forecast' ? 'forecast' : 'index'] !== 'closed';

  /** A pinned model that no description has listed yet may be what is refused. */
  const isAboutRegion = (source: Source) =>
    source === 'live-index' || config.service.model === undefined || (plans?.plan()?.models.length ?? 0) > 0;

  function tellAnswer(source: Source, failure: Failure | undefined, note: Note | undefined): void {
    const subject = `service:${source}`;
    const lacking = `no ${source === 'forecast' ? 'forecast' : 'live index'}`;
    // What the plan does not have is told with the plan, not as a trouble.
    if (failure !== undefined && isInPlan(source)) {
      troubles.raise(subject, `${lacking}: ${failureWords(failure, clock.now().trusted)}`, failureKind(failure));
    } else if (note !== undefined && note.kind !== 'older' && note.kind !== 'model-seam') {
      troubles.raise(subject, `${lacking}: ${note.message}`, note.kind);
    } else {
      troubles.clear(subject);
      if (note?.kind === 'model-seam') log('warn', note.message, { note: note.kind });
    }
  }

  function startSettling(): void {
    settler = createSettler({
      service,
      clock: clocks.signalClock,
      random,
      disk,
      signalType: config.service.signalType,
      phase: spreadOf(`${config.device} settle`),
      settled: async (entry) => ledger?.settled(entry),
      answered: (history) => signals?.measured(history),
      failed: (failure) => log('debug', `what ran stays an estimate: ${failureWords(failure, clock.now().trusted)}`),
    });
  }

  function startRegions(): Promise<void> {
    regions = createRegionKeeper({
      service,
      disk,
      store,
      clock,
      random,
      log,
      troubles,
      signalType: config.service.signalType,
      device: config.device,
      place: config.place,
      found: (home) => {
        const wait = signals?.setRegion(home.region);
        plans?.watch({ region: home.region, signalType: config.service.signalType }, wait);
        settler?.setRegion(home.region);
        tellInfo();
      },
    });
    return regions.start();
  }

  function tellInfo(): void {
    const home = regions?.home();
    monitor?.info({
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
      clientId: clientIdOf(config),
      will: willOf(config),
      ...brokerSecrets(config, world.secrets),
    });
    broker.watch((state) => {
      const trouble = brokerTrouble(state);
      if (trouble !== undefined) troubles.raise('broker', trouble);
      else if (state.kind === 'online') troubles.clear('broker');
    });
    monitor = createMonitor({ config, broker, clock, random, log, version });
  }

  function createOutputs(): LoadOutputs {
    return createLoadOutputs({
      config,
      clock,
      log,
      troubles,
      pins: world.pins,
      broker,
      reported: (load, level) => {
        if (level === undefined) control?.feed({ kind: 'failed', load, disagreements: GIVEN_UP });
        else control?.feed({ kind: 'confirmed', load, level });
      },
    });
  }

  const confirmed = (load: string, level: Level) => ledger?.confirmed(load, level, clock.now());

  function told({ state, event, decisions: news, switched, now }: Told<State>): void {
    for (const decision of news) {
      const { load, level, why, priority } = decision;
      const before = decisions.get(load);
      decisions.set(load, decision);
      ledger?.decision(decision, now);
      const words = explain(decision, site.timezone);
      // A plan that moves its next start, or an index that hovers, is news for whoever watches, not for the log on a memory card.
      const isNews = before?.level !== level || (before.why !== why && !(isOfIndex(before.why) && isOfIndex(why)));
      log(isNews ? 'info' : 'debug', `${load} ${level}: ${words}`, { load, why, priority });
      monitor?.decision(decision, words);
    }
    if (event.kind === 'confirmed') confirmed(event.load, event.level);
    const matters =
      switched ||
      event.kind === 'confirmed' ||
      event.kind === 'override' ||
      event.kind === 'arm' ||
      event.kind === 'clear';
    memory?.keepControl(state, { now, jobs: ledger?.jobs() ?? {}, atMost: matters ? (0 as Duration) : SAVE_PROGRESS });
  }

  function startControl({ byLoad, fault }: LoadOutputs, levels: Record<string, Level>): void {
    const saved = memory?.control;
    control = createControlLoop<State>({
      site,
      step,
      state: initialState(
        site,
        saved?.state,
        saved !== undefined && world.boot !== undefined && saved.boot === world.boot,
      ),
      clock,
      outputs: byLoad,
      beforeTick: () => signals?.lookIfDue(),
      told,
      fault,
    });
    for (const [load, level] of Object.entries(levels)) confirmed(load, level);
    control.begin(levels);
  }

  function command(load: string, wish: RemoteCommand): { accepted: boolean; words: string } {
    const name = { load };
    const event: Event =
      wish.kind === 'override'
        ? { ...wish, ...name, source: 'remote' }
        : wish.kind === 'arm'
          ? { ...wish, ...name }
          : { kind: 'clear', ...name };
    control?.feed(event);
    const decision = decisions.get(load);
    return { accepted: control !== undefined, words: decision === undefined ? '' : explain(decision, site.timezone) };
  }

  function feedWatchdog(): void {
    const { watchdog: every } = host;
    if (every === undefined) return;
    control?.feed({ kind: 'tick' });
    host.alive();
    watchdog = world.clock.wakeAt(after(world.clock.now().uptime, every), 'watchdog', feedWatchdog);
  }

  async function stop(): Promise<void> {
    host.stopping();
    ending.abort();
    // A start that is under way ends at its next step: what it has not opened is not left behind.
    await atMost(ENDING, Promise.allSettled([starting]));
    watchdog?.();
    clocks.stop();
    plans?.stop();
    settler?.stop();
    regions?.stop();
    signals?.stop();
    service.stop();
    // A device that does not answer holds up neither the others nor the end.
    if (control !== undefined) await atMost(ENDING, control.stop());
    const left = await atMost(LEAVING, Promise.all(config.loads.map(leave)));
    // Where a load could not be told, the program that comes after this one tries once more.
    if (left?.every((isLeft) => isLeft)) await world.failsafe?.clear();
    await ledger?.stop(clock.now());
    await memory?.close();
    await monitor?.stop();
    await outputs?.close();
    await world.http.close();
  }

  /** Undefined when `work` has not ended in time. */
  function atMost<Value>(length: Duration, work: Promise<Value>): Promise<Value | undefined> {
    const { uptime } = world.clock.now();
    const own = (length * (world.clock.speed ?? 1)) as Duration;
    return new Promise((resolve, reject) => {
      const late = world.clock.wakeAt(after(uptime, own), 'stop', () => resolve(undefined));
      work.then(resolve, reject).finally(late);
    });
  }

  /** True unless the load should have been told and was not. */
  async function leave(load: LoadConfig): Promise<boolean> {
    const left = await outputs?.leave(load);
    if (left !== undefined && left !== 'held') control?.left(load.name, left);
    return left !== undefined;
  }

  async function start(): Promise<void> {
    memory = await createMemory(store, {
      ...(world.scratch === undefined ? {} : { scratch: createStore(world.scratch, () => {}) }),
      signalType: config.service.signalType,
      boot: world.boot,
      note: (text) => log('warn', text),
    });
    if (ending.signal.aborted) return;
    ledger = createLedgerKeeper(config.loads, store, memory.control?.jobs ?? ({} as JobsWritten));
    startBroker();
    broker?.start();
    await world.failsafe?.leave(safeLines(config.loads));
    await brokerAnswers(broker, world.clock, ending.signal);
    if (ending.signal.aborted) return;
    outputs = createOutputs();
    const levels = await outputs.open();
    if (ending.signal.aborted) return;
    startControl(outputs, levels);
    monitor?.start({ command });
    startSignals();
    startPlans();
    startSettling();
    clocks.start();
    await startRegions();
    if (ending.signal.aborted) return;
    tellInfo();
    tellHealth();
    host.ready();
    feedWatchdog();
    log('info', `gridtide ${version} runs ${counted(config.loads.length, 'load')} as "${config.device}"`, {
      at: iso(startedAt),
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
      return { region: regions?.home(), view, decisions: [...decisions.values()], requests, logins };
    },
  };
}
