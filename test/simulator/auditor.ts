/** The invariants of a simulated house, checked while it runs. */

import type { Decision } from '../../src/control/control-types.ts';
import { isRunning, isSgReady } from '../../src/domain/levels.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import { buildTopics } from '../../src/mqtt/topics.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** How long a press counts, and a little. */
const PRESS_COUNTS = 4 * HOUR + MINUTE;
const DAY = 24 * HOUR;

/** Who changed what a load does: the agent, its orderly stop, the fail-safe program, the loss of power, the device, a person. */
export type ChangeCause = 'agent' | 'stop' | 'failsafe' | 'power' | 'device' | 'person';

export interface Violation {
  readonly invariant: string;
  readonly at: number;
  readonly text: string;
}

/** The running time of a load between two changes, and whether the agent lived meanwhile. */
export interface RunPiece {
  readonly load: string;
  readonly from: number;
  readonly to: number;
  readonly hasAgent: boolean;
}

interface LoadWatch {
  readonly config: LoadConfig;
  isRunning: boolean;
  changedAt: number;
  changedBy: ChangeCause;
  /** By the agent. */
  starts: number[];
  /** Its running time is in pieces up to here. */
  countedUntil: number;
  /** A line or device did not obey since the last change. */
  isDisturbed: boolean;
  disturbedAt: number;
  /** By a person, at the device. */
  pressedAt: number;
  /** Of the last command to the device. */
  command: string | undefined;
  /** That would command what a person pressed last. */
  pressedAs: string | undefined;
  isRepeated: boolean;
  level: string | undefined;
  levelAt: number;
}

interface Promised {
  readonly load: string;
  readonly until: number;
  readonly id: string;
}

export interface AuditorParts {
  readonly now: () => number;
  readonly device: string;
  readonly loads: readonly LoadConfig[];
  readonly budgetKw: number | undefined;
}

/** What the house knows of itself at the moment of a check. */
interface HouseStatus {
  /** True time, milliseconds since 1970. */
  readonly wall: number;
  readonly decisions: readonly Decision[];
  /** Since when this life of the agent runs; undefined while none does, or while it stops. */
  readonly aliveSince: number | undefined;
  readonly isClockTrusted: boolean;
  /** When anything but the path of the map alone was in trouble last. */
  readonly troubledAt: number;
  /** When the link to the broker was in trouble last. */
  readonly brokerTroubledAt: number;
}

export interface Auditor {
  readonly violations: readonly Violation[];
  readonly pieces: readonly RunPiece[];
  readonly switches: number;
  readonly messages: number;
  readonly bases: ReadonlySet<string>;
  fail(invariant: string, text: string): void;
  /** The agent threw what nothing in it expects. */
  crashed(error: unknown): void;
  loadChanged(load: string, running: boolean, cause: ChangeCause): void;
  disturbLoad(load: string): void;
  /** `hasBootId`: whether it can tell a restart within the boot. */
  lifeBegan(hasBootId: boolean): void;
  /** `unsavedSince`: nothing of what it has done since then could be saved. */
  lifeEnded(kind: 'kill' | 'power-cut' | 'stop', unsavedSince?: number): void;
  clockDisturbed(): void;
  commandSent(load: string): void;
  pressed(load: string): void;
  /** `isWill`: the broker publishes it for an agent that is gone. */
  message(topic: string, payload: string, isWill: boolean): void;
  request(path: string): void;
  addSecret(secret: string): void;
  /** Any text that leaves the agent. */
  output(where: string, text: string): void;
  check(status: HouseStatus): void;
  finish(): void;
}

/** On the topic of commands some devices are asked for their state, or released. */
const isLevel = ({ output }: LoadConfig, payload: string) =>
  output.kind === 'mqtt' && (payload === output.onPayload || payload === output.offPayload);

const leastOn = (load: LoadConfig) => (isSgReady(load) ? Math.max(load.minOn, load.minStateTime) : load.minOn);
const leastOff = (load: LoadConfig) => (isSgReady(load) ? Math.max(load.minOff, load.minStateTime) : load.minOff);

/** Requests of any hour and logins of any day, beside those of each start. */
const MAX_REQUESTS_PER_HOUR = 240;
const MAX_LOGINS_PER_DAY = 120;
const MAX_MESSAGES_PER_HOUR = 3_000;
const PER_START = { requests: 30, logins: 4, messages: 120 };

export function createAuditor({ now, device, loads, budgetKw }: AuditorParts): Auditor {
  const topics = buildTopics({ device });
  const violations: Violation[] = [];
  const pieces: RunPiece[] = [];
  const secrets = createSecretSearch();
  const bases = new Set<string>();
  const counters = createCounters(now);
  const watches = new Map<string, LoadWatch>(
    loads.map((config) => [
      config.name,
      {
        config,
        isRunning: false,
        changedAt: Number.NEGATIVE_INFINITY,
        changedBy: 'power',
        starts: [],
        countedUntil: 0,
        isDisturbed: false,
        disturbedAt: Number.NEGATIVE_INFINITY,
        pressedAt: Number.NEGATIVE_INFINITY,
        command: undefined,
        pressedAs: undefined,
        isRepeated: false,
        level: undefined,
        levelAt: 0,
      },
    ]),
  );
  const byTopic = new Map(
    loads.flatMap(({ name, output }) => (output.kind === 'mqtt' ? [[output.commandTopic, name] as const] : [])),
  );
  let powerCuts: number[] = [];
  let bootedAt = 0;
  let isAlive = false;
  /** Since when nothing could be saved of what the life that ended last did, and of what the fail-safe program did after it. */
  let unsavedSince = Number.POSITIVE_INFINITY;
  const isUnsaved = () => !isAlive && now() >= unsavedSince;
  let promises: Promised[] = [];
  let switches = 0;
  let messages = 0;
  let health: { readonly ok: boolean; readonly basis: string } | undefined;
  let forecastAt: number | undefined;
  const plannedAt = new Map<string, number>();
  const oldPlanSince = new Map<string, number>();
  let failSafeSince: number | undefined;
  let blindSince: number | undefined;

  const fail = (invariant: string, text: string): void => {
    if (violations.length < 5) violations.push({ invariant, at: now(), text });
  };

  /** Running time is counted anew where a life begins or ends. */
  const splitPieces = (): void => {
    for (const watch of watches.values()) {
      const from = Math.max(watch.countedUntil, watch.changedAt);
      if (watch.isRunning && now() > from) pieces.push({ load: watch.config.name, from, to: now(), hasAgent: isAlive });
      watch.countedUntil = now();
    }
  };

  const checkMinimumTimes = (watch: LoadWatch, running: boolean): void => {
    const { config, changedAt, changedBy, isDisturbed } = watch;
    const isDevice = config.output.kind === 'mqtt';
    if (isDisturbed || (isDevice && (watch.isRepeated || changedBy !== 'agent'))) return;
    const since = running && !isDevice ? Math.max(changedAt, bootedAt) : changedAt;
    const least = running ? leastOff(config) : leastOn(config);
    const length = now() - since;
    if (length < least - 1_000)
      fail(
        'minimum times',
        `${config.name} was switched ${running ? 'on' : 'off'} ${Math.round(length / 1_000)} s after ${changedBy} changed it; its minimum is ${least / 1_000} s`,
      );
  };

  const checkStarts = (watch: LoadWatch): void => {
    const { config } = watch;
    watch.starts = [...watch.starts.filter((at) => at > now() - DAY + 1_000), now()];
    // A power cut may come before the start that it follows is on the disk.
    const lostSince = (length: number) => powerCuts.filter((at) => at > now() - length).length;
    const hourly = watch.starts.filter((at) => at > now() - HOUR + 1_000).length;
    if (hourly > config.maxStartsPerHour + lostSince(HOUR))
      fail('start limits', `${config.name} started ${hourly} times in an hour; at most ${config.maxStartsPerHour}`);
    if (watch.starts.length > config.maxStartsPerDay + lostSince(DAY))
      fail(
        'start limits',
        `${config.name} started ${watch.starts.length} times in a day; at most ${config.maxStartsPerDay}`,
      );
  };

  const checkBudget = (): void => {
    if (budgetKw === undefined) return;
    const running = [...watches.values()].filter((watch) => watch.isRunning);
    if (running.some((watch) => watch.changedBy !== 'agent' || watch.isDisturbed)) return;
    const power = running.reduce((sum, { config }) => sum + config.powerKw, 0);
    if (power > budgetKw + 1e-6) fail('power budget', `${power} kW run; the budget is ${budgetKw} kW`);
  };

  function message(topic: string, payload: string, isWill: boolean): void {
    messages += 1;
    counters.count('messages');
    const load = byTopic.get(topic);
    const watch = load === undefined ? undefined : watches.get(load);
    if (watch !== undefined && !isWill && isLevel(watch.config, payload)) {
      watch.isRepeated = payload === watch.command || payload === watch.pressedAs;
      if (payload !== watch.pressedAs) watch.pressedAs = undefined;
      watch.command = payload;
    }
    if (!topic.startsWith(`gridtide/${device}/`)) return;
    output(topic, payload);
    if (topic === topics.health && payload !== '') {
      health = JSON.parse(payload) as typeof health;
      bases.add(health?.basis ?? '');
      if (health?.ok === true && health.basis === 'fail-safe') fail('health', 'health says ok on the basis fail-safe');
    }
    if (topic.endsWith('/result')) keepPromise(topic, payload);
    // Read without its thousand values.
    if (topic === topics.forecast && payload !== '')
      forecastAt = Date.parse(/"generatedAt":"([^"]+)"/.exec(payload)?.[1] ?? '');
    const planned = loads.find(({ name }) => topic === topics.plan(name));
    if (planned !== undefined && payload !== '')
      plannedAt.set(planned.name, Date.parse(JSON.parse(payload).madeAt ?? ''));
  }

  function keepPromise(topic: string, payload: string): void {
    const { ok, id, command, minutes, duplicate, message: text } = JSON.parse(payload) as Record<string, unknown>;
    if (ok !== true || command !== 'override' || duplicate === true || String(text).includes('restart forgets')) return;
    const load = topic.split('/').at(-2) ?? '';
    promises = promises.filter((one) => one.load !== load);
    promises.push({ load, id: String(id), until: now() + Number(minutes) * MINUTE });
  }

  function output(where: string, text: string): void {
    if (secrets.isShownIn(text)) fail('secrets', `${where} shows a secret: ${text.slice(0, 200)}`);
  }

  const checkPromises = (decisions: readonly Decision[]): void => {
    promises = promises.filter(({ until }) => until > now() + MINUTE);
    for (const { load, id } of promises) {
      const decision = decisions.find((one) => one.load === load);
      const reasons = [decision?.why, decision?.wantedWhy];
      if (!reasons.some((why) => why === 'remote-override' || why === 'override' || why === 'safety'))
        fail('acknowledged is kept', `override ${id} of ${load} was acknowledged and is gone: ${reasons.join(', ')}`);
    }
  };

  /** The owner's own switch is one that somebody pressed, or one that a device in trouble seemed to report. */
  const checkPresses = (decisions: readonly Decision[]): void => {
    for (const { load, why, wantedWhy = why } of decisions) {
      const { pressedAt = 0, disturbedAt = 0 } = watches.get(load) ?? {};
      if (wantedWhy === 'override' && now() - Math.max(pressedAt, disturbedAt) > PRESS_COUNTS)
        fail('presses', `${load} goes by a press, and nobody pressed it`);
    }
  };

  /** What was decided more than a while ago is what the load does. */
  const checkObedience = (decisions: readonly Decision[], brokerTroubledAt: number): void => {
    for (const { load, level } of decisions) {
      const watch = watches.get(load);
      if (watch === undefined || watch.config.observeOnly) continue;
      if (watch.level !== level) [watch.level, watch.levelAt] = [level, now()];
      const isDevice = watch.config.output.kind === 'mqtt';
      // An output that does not confirm is tried again each five minutes at most.
      const patience = isDevice ? 15 * MINUTE : MINUTE;
      const lineTroubledAt = isDevice ? 0 : watch.disturbedAt + 5 * MINUTE;
      // The agent may have decided otherwise between two checks: a load without a minimum time runs for seconds.
      const switchedAt = watch.changedBy === 'agent' ? watch.changedAt : 0;
      const quietSince = Math.max(
        watch.levelAt,
        switchedAt,
        watch.disturbedAt,
        isDevice ? brokerTroubledAt : lineTroubledAt,
      );
      if (now() - quietSince < patience || isRunning(level) === watch.isRunning) continue;
      fail('obedience', `${load} is decided ${level} and ${watch.isRunning ? 'runs' : 'does not run'}`);
    }
  };

  /** A load that goes by its plan has one of the forecast that was published last, or of one not much older. */
  const checkPlans = ({ decisions, wall }: HouseStatus, troubledAt: number): void => {
    if (now() - troubledAt < HOUR) return;
    for (const { load, why } of decisions) {
      const age = (forecastAt ?? 0) - (plannedAt.get(load) ?? Number.NaN);
      const isByPlan = why === 'planned' || why === 'plan-waits';
      // A service whose clock was ahead has left a forecast of the future.
      const isOld = isByPlan && age > HOUR && (forecastAt ?? 0) <= wall;
      if (!isOld) oldPlanSince.delete(load);
      else if (!oldPlanSince.has(load)) oldPlanSince.set(load, now());
      if (isOld && now() - (oldPlanSince.get(load) ?? now()) > 5 * MINUTE)
        fail('plans', `the plan of ${load} is ${Math.round(age / MINUTE)} min older than the forecast`);
    }
  };

  const checkHealth = (decisions: readonly Decision[], brokerTroubledAt: number): void => {
    const isBlind =
      decisions.length > 0 && decisions.every(({ basis, why }) => basis === 'fail-safe' && why === 'no-data');
    failSafeSince = isBlind ? (failSafeSince ?? now()) : undefined;
    if (failSafeSince === undefined || now() - Math.max(failSafeSince, brokerTroubledAt) < 3 * MINUTE) return;
    if (health?.ok === true) fail('health', 'health says ok while all loads are without data');
  };

  /** Where everything but the map answers, the agent sees. */
  const checkSight = ({ decisions, aliveSince = now(), troubledAt }: HouseStatus): void => {
    const isBlind = decisions.some(
      // A silent output is no matter of sight, also while an interlock delays what it asks for.
      ({ basis, why, wantedWhy = why }) =>
        wantedWhy !== 'output-fault' && (basis === 'fail-safe' || basis === 'default-window'),
    );
    blindSince = isBlind ? (blindSince ?? now()) : undefined;
    if (blindSince === undefined) return;
    const patience = troubledAt === Number.NEGATIVE_INFINITY ? 10 * MINUTE : 150 * MINUTE;
    if (now() - Math.max(aliveSince, troubledAt) > patience && now() - blindSince > 5 * MINUTE)
      fail(
        'sight',
        `the service answers, and loads are without data for ${Math.round((now() - blindSince) / MINUTE)} min`,
      );
  };

  return {
    violations,
    pieces,
    bases,
    get switches() {
      return switches;
    },
    get messages() {
      return messages;
    },
    fail,
    crashed: (error) => fail('crash', error instanceof Error ? (error.stack ?? error.message) : String(error)),
    loadChanged(load, running, cause) {
      const watch = watches.get(load);
      if (watch === undefined || watch.isRunning === running) return;
      splitPieces();
      switches += 1;
      if (cause === 'agent') {
        checkMinimumTimes(watch, running);
        if (running && !(watch.isRepeated && watch.config.output.kind === 'mqtt')) checkStarts(watch);
      }
      // An orderly stop may start a load whatever its limits are; the next life counts that start.
      if (cause === 'stop' && running && watch.config.output.kind !== 'mqtt') watch.starts.push(now());
      // A command repeated undoes what device or broker did between, which the agent may never have been told.
      const isUndone = cause === 'agent' && watch.isRepeated && watch.config.output.kind === 'mqtt';
      const changedBy = isUndone ? 'device' : cause;
      // The agent repeats what a person pressed.
      if (cause === 'person' && watch.config.output.kind === 'mqtt')
        watch.pressedAs = running ? watch.config.output.onPayload : watch.config.output.offPayload;
      Object.assign(watch, { isRunning: running, changedAt: now(), changedBy, isDisturbed: isUnsaved() });
      if (running && cause === 'agent') checkBudget();
    },
    disturbLoad(load) {
      const watch = watches.get(load);
      if (watch !== undefined) Object.assign(watch, { isDisturbed: true, disturbedAt: now() });
    },
    lifeBegan(hasBootId) {
      splitPieces();
      // Without it the agent takes a device that does not report for one that was just powered.
      if (!hasBootId)
        for (const watch of watches.values()) if (watch.config.output.kind === 'mqtt') watch.changedBy = 'power';
      isAlive = true;
      counters.start();
    },
    lifeEnded(kind, notSavedSince = Number.POSITIVE_INFINITY) {
      splitPieces();
      unsavedSince = notSavedSince;
      // No later life can know of these.
      for (const watch of watches.values()) {
        watch.starts = watch.starts.filter((at) => at < unsavedSince);
        if (watch.changedAt >= unsavedSince) watch.isDisturbed = true;
      }
      isAlive = false;
      health = undefined;
      if (kind !== 'power-cut') return;
      powerCuts = [...powerCuts.filter((at) => at > now() - DAY), now()];
      bootedAt = now();
    },
    clockDisturbed() {
      promises = [];
    },
    commandSent(load) {
      promises = promises.filter((one) => one.load !== load);
    },
    pressed(load) {
      const watch = watches.get(load);
      if (watch !== undefined) watch.pressedAt = now();
    },
    message,
    request(path) {
      counters.count('requests');
      if (path === '/login') counters.count('logins');
    },
    addSecret: secrets.add,
    output,
    check(status) {
      for (const excess of counters.findExcess()) fail('bounds', excess);
      const { aliveSince, decisions, brokerTroubledAt } = status;
      if (aliveSince === undefined || now() - aliveSince < MINUTE) {
        for (const watch of watches.values()) watch.level = undefined;
        failSafeSince = undefined;
        blindSince = undefined;
        return;
      }
      checkPromises(decisions);
      checkPresses(decisions);
      checkObedience(decisions, brokerTroubledAt);
      checkHealth(decisions, brokerTroubledAt);
      if (!status.isClockTrusted) return;
      checkSight(status);
      checkPlans(status, Math.max(brokerTroubledAt, aliveSince, status.troubledAt));
    },
    finish: splitPieces,
  };
}

/** Tokens pile up by the hundred and few texts hold a word as long as one: only those are searched for them. */
function createSecretSearch() {
  const longWord = /[\w-]{32}/;
  const [tokens, others] = [new Set<string>(), new Set<string>()];
  const isAnyIn = (secrets: ReadonlySet<string>, text: string): boolean => {
    for (const secret of secrets) if (text.includes(secret)) return true;
    return false;
  };
  return {
    add: (secret: string) => void (longWord.test(secret) ? tokens : others).add(secret),
    isShownIn: (text: string) => isAnyIn(others, text) || (longWord.test(text) && isAnyIn(tokens, text)),
  };
}

type Counted = 'requests' | 'logins' | 'messages';

/** Counts by the hour, logins by the day; each start of the agent may do some of each. */
function createCounters(now: () => number) {
  const spans: Readonly<Record<Counted, readonly [length: number, limit: number]>> = {
    requests: [HOUR, MAX_REQUESTS_PER_HOUR],
    logins: [DAY, MAX_LOGINS_PER_DAY],
    messages: [HOUR, MAX_MESSAGES_PER_HOUR],
  };
  const counts = { requests: 0, logins: 0, messages: 0 };
  const starts = { requests: 0, logins: 0, messages: 0 };
  const begun = { requests: 0, logins: 0, messages: 0 };
  const names = Object.keys(spans) as readonly Counted[];
  return {
    count(name: Counted) {
      counts[name] += 1;
    },
    start() {
      for (const name of names) starts[name] += 1;
    },
    findExcess: () =>
      names.flatMap((name) => {
        const [length, limit] = spans[name];
        const allowed = limit + PER_START[name] * (1 + starts[name]);
        const count = counts[name];
        if (now() - begun[name] >= length) [counts[name], starts[name], begun[name]] = [0, 0, now()];
        return count > allowed ? [`${count} ${name} in ${length / HOUR} h; at most ${allowed}`] : [];
      }),
  };
}
