/** A day of one house with everything embedded: reference service, broker, simulated lines and charger, and the unchanged agent, in virtual time. */

import { createAgent } from '../agent/agent.ts';
import { parseConfig } from '../config/parse-config.ts';
import type { Disk, Log } from '../domain/ports.ts';
import { addDuration, floorTo, formatInstant, hours, type Instant, minutes } from '../domain/units.ts';
import type { Entry } from '../ledger/entries.ts';
import { isLedgerFile, parseLedger } from '../ledger/ledger-lines.ts';
import { computeTotals, type Total } from '../ledger/totals.ts';
import { createReferenceService, type ReferenceService } from '../reference/reference-service.ts';
import { createServiceClient } from '../service/client.ts';
import { createDemoWorld } from './demo-world.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from './embedded-broker.ts';
import { simulateCharger } from './simulated-charger.ts';
import type { DemoEvent, DemoLoadResult, DemoResult, StripCell } from './transcript.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const DEMO_TIMEZONE = 'America/Los_Angeles';
export const DEMO_LOADS = ['car', 'heating', 'water'] as const;
/** A Sunday at 12:00 in California, always the same. */
const START = Date.parse('2026-03-01T20:00:00Z') as Instant;
const ACCOUNT = { username: 'demo', password: 'clean-grid-1', email: 'demo@example.invalid' };
const DEVICE = 'demo';
const STRIP_CELL = minutes(15);

const formatConfiguration = (service: string, broker: string) => `
device: ${DEVICE}
place: {latitude: 38.5, longitude: -122.0, timezone: ${DEMO_TIMEZONE}}
service: {url: "${service}", usernameFile: username, passwordFile: password}
mqtt: {url: "${broker}"}
loads:
  car:
    type: ev
    output: {kind: mqtt, preset: openevse, topic: openevse}
    powerKw: 7.2
    goal: {need: 4h, by: "07:00", from: "18:00"}
  heating:
    type: heat-pump
    output: {kind: sg-ready, pins: [17, 27], activeLow: true}
    powerKw: 2
  water:
    type: tank
    output: {kind: relay, pin: 22}
    powerKw: 3
`;

export interface DemoOptions {
  readonly seed: number;
  readonly hours: number;
  readonly onEvent: (event: DemoEvent) => void;
  readonly log: Log;
  /** Paces the printing: called before each jump of the virtual clock. */
  readonly beforeJump?: (from: Instant, to: Instant) => Promise<void>;
  readonly stop?: AbortSignal;
}

export interface DemoRun {
  readonly result: DemoResult;
  readonly cells: readonly StripCell[];
  readonly from: Instant;
}

/** Runs the demo to its end, or to `stop`; everything it started is ended. */
export async function runDemo(options: DemoOptions): Promise<DemoRun> {
  await preloadLazyModules();
  const clock = createVirtualClock(START);
  const reference = await createReferenceService({
    seed: options.seed,
    clock: () => clock.now().wall,
    newPlan: 'analyst',
  });
  const broker = await startEmbeddedBroker();
  try {
    return await runAgent(options, clock, reference, broker);
  } finally {
    await broker.close();
    await reference.close();
  }
}

/** Time would not stand still while a chunk of the program is read from disk. */
const preloadLazyModules = () => import('../region/import-map.ts');

async function runAgent(
  options: DemoOptions,
  clock: VirtualClock,
  reference: ReferenceService,
  broker: EmbeddedBroker,
): Promise<DemoRun> {
  const { seed, log, beforeJump, stop } = options;
  const { url } = await reference.listen();
  const parsed = parseConfig(formatConfiguration(url, broker.url));
  if (!parsed.ok) throw new Error(parsed.mistakes.join('; '));
  const { config } = parsed;

  const secrets = { read: async (path: string) => ({ username: ACCOUNT.username, password: ACCOUNT.password })[path] };
  const world = createDemoWorld({ clock, seed, secrets, log });
  const { http, random } = world;
  const registered = await createServiceClient({
    url,
    http,
    clock,
    random,
    credentials: async () => ACCOUNT,
    log,
  }).register(ACCOUNT);
  if (!registered.ok) throw new Error(`the reference service refused to register: ${registered.failure.kind}`);

  const recorder = createDemoRecorder(clock, options.onEvent);
  broker.onPublish(recorder.onMessage);
  simulateCharger(broker, 'openevse');
  const agent = createAgent({ config, world, version: 'demo' });
  await clock.runUntilDone(agent.start());
  const end = addDuration(START, hours(options.hours));
  await clock.runUntil(end, {
    beforeJump: async (from, to) => {
      recorder.recordCells(from, to);
      await beforeJump?.(from, to);
    },
    ...(stop === undefined ? {} : { stop }),
  });
  recorder.recordCells(clock.now().wall, clock.now().wall);
  await clock.runUntilDone(agent.stop());
  const { logins } = reference.counts();
  const result = buildDemoResult({
    ...options,
    entries: await readLedgerEntries(world.disk),
    recorder,
    logins,
    requests: reference.counts().requests,
  });
  options.onEvent({ result });
  return { result, cells: recorder.cells(), from: START };
}

async function readLedgerEntries(disk: Disk): Promise<readonly Entry[]> {
  const names = (await disk.list()).filter(isLedgerFile).sort();
  const texts = await Promise.all(names.map(async (name) => new TextDecoder().decode(await disk.read(name))));
  return texts.flatMap((text) => parseLedger(text).entries);
}

interface DemoRecorder {
  onMessage(topic: string, payload: string): void;
  /** Nothing changes between the two: fills the strip. */
  recordCells(from: Instant, to: Instant): void;
  cells(): readonly StripCell[];
  countSwitches(load: string): number;
  countDeadlines(): { readonly met: number; readonly missed: number };
}

interface LoadPayload {
  readonly level: string;
  readonly why: string;
  readonly text: string;
  readonly job: { readonly by: string; readonly needMinutes: number; readonly doneMinutes: number } | null;
}

/** Listens to what the agent tells the broker, as any household would, and makes the transcript of it. */
function createDemoRecorder(clock: VirtualClock, onEvent: (event: DemoEvent) => void): DemoRecorder {
  const levels = new Map<string, string>();
  const switches = new Map<string, number>();
  const jobs = new Map<string, { done: number; need: number }>();
  const cells = new Map<number, StripCell>();
  let region: string | undefined;
  let problem = '';
  let index: number | undefined;
  let lastSignalHour = -1;
  const now = () => formatInstant(clock.now().wall);

  const recordSignal = (message: { index: number | null; rate: number | null; basis: string }) => {
    index = message.index ?? undefined;
    const hour = Math.floor(clock.now().wall / 3_600_000);
    // The index comes a moment before the first forecast, and with it the rate.
    if (index === undefined || message.rate === null || hour === lastSignalHour) return;
    lastSignalHour = hour;
    onEvent({ event: 'signal', at: now(), index, rate: message.rate, basis: message.basis });
  };

  const recordDecision = (name: string, { level, why, text, job }: LoadPayload) => {
    const previousLevel = levels.get(name);
    const switched = previousLevel !== undefined && previousLevel !== level;
    levels.set(name, level);
    if (switched) switches.set(name, (switches.get(name) ?? 0) + 1);
    if (job !== null) jobs.set(`${name} ${job.by}`, { done: job.doneMinutes, need: job.needMinutes });
    onEvent({ event: 'decision', at: now(), load: name, level, switched, why, text });
  };

  return {
    onMessage(topic, payload) {
      const [topicRoot, device, part, name] = topic.split('/');
      if (topicRoot !== 'gridtide' || device !== DEVICE || payload === '') return;
      if (part === 'signal') recordSignal(JSON.parse(payload));
      if (part === 'loads' && name !== undefined && topic.split('/').length === 4)
        recordDecision(name, JSON.parse(payload));
      if (part === 'info') {
        const info: { region?: string | null; regionFullName?: string | null; mapLastUpdated?: string | null } =
          JSON.parse(payload);
        if (typeof info.region !== 'string' || info.region === region) return;
        region = info.region;
        onEvent({
          event: 'region',
          at: now(),
          region,
          regionFullName: info.regionFullName ?? '',
          map: info.mapLastUpdated ?? null,
        });
      }
      if (part === 'health') {
        const health: { problem: string } = JSON.parse(payload);
        if (health.problem !== problem && health.problem !== '')
          onEvent({ event: 'problem', at: now(), problem: health.problem });
        problem = health.problem;
      }
    },
    recordCells(from, to) {
      const running = new Set(
        [...levels].filter(([, level]) => ['on', 'recommend', 'force'].includes(level)).map(([name]) => name),
      );
      for (let at = floorTo(from, STRIP_CELL); at < to; at = addDuration(at, STRIP_CELL))
        if (at >= START) cells.set(at, { index, running });
    },
    cells: () => [...cells.entries()].sort(([a], [b]) => a - b).map(([, cell]) => cell),
    countSwitches: (name) => switches.get(name) ?? 0,
    countDeadlines() {
      const pastJobs = [...jobs].filter(([key]) => Date.parse(key.slice(key.indexOf(' ') + 1)) <= clock.now().wall);
      const met = pastJobs.filter(([, { done, need }]) => done >= need - 0.01).length;
      return { met, missed: pastJobs.length - met };
    },
  };
}

interface DemoOutcome extends DemoOptions {
  readonly entries: readonly Entry[];
  readonly recorder: DemoRecorder;
  readonly requests: number;
  readonly logins: number;
}

const roundToThousandth = (value: number) => Math.round(value * 1_000) / 1_000;

function buildLoadResult(load: string, total: Total | undefined, switches: number): DemoLoadResult {
  return {
    load,
    energyKwh: roundToThousandth(total?.energy ?? 0),
    kg: roundToThousandth(total?.emitted ?? 0),
    insteadKg: roundToThousandth(total?.instead ?? 0),
    savedKg: roundToThousandth(total?.saved ?? 0),
    comparedWith: total?.baselines[0] ?? null,
    switches,
  };
}

function buildDemoResult({ seed, hours: length, entries, recorder, requests, logins }: DemoOutcome): DemoResult {
  const loadTotals = computeTotals(entries, {
    timezone: DEMO_TIMEZONE,
    by: 'all',
    now: addDuration(START, hours(length)),
  });
  const loads = DEMO_LOADS.map((load) =>
    buildLoadResult(
      load,
      loadTotals.find((total) => total.load === load),
      recorder.countSwitches(load),
    ),
  );
  const sumLoads = (field: (load: DemoLoadResult) => number) =>
    roundToThousandth(loads.reduce((total, load) => total + field(load), 0));
  return {
    hours: length,
    seed,
    loads,
    kg: sumLoads(({ kg }) => kg),
    savedKg: sumLoads(({ savedKg }) => savedKg),
    switches: sumLoads(({ switches }) => switches),
    requests,
    logins,
    deadlines: recorder.countDeadlines(),
  };
}
