/** A day of one house with everything embedded: reference service, broker, simulated lines and charger, and the unchanged agent, in virtual time. */

import { createAgent } from '../agent.ts';
import { readConfig } from '../config/read.ts';
import type { Entry } from '../ledger/entries.ts';
import { isLedgerFile, readLines } from '../ledger/lines.ts';
import { type Total, totals } from '../ledger/totals.ts';
import { createReference, type Reference } from '../reference/reference.ts';
import { createService } from '../service/service.ts';
import { after, floorTo, hours, type Instant, iso, minutes } from '../units.ts';
import type { Disk, Log } from '../world.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from './broker.ts';
import { simulateCharger } from './charger.ts';
import { createVirtualClock, type VirtualClock } from './clock.ts';
import type { DemoEvent, DemoResult, LoadResult, StripCell } from './transcript.ts';
import { createReplayWorld } from './world.ts';

export const TIMEZONE = 'America/Los_Angeles';
export const LOADS = ['car', 'heating', 'water'] as const;
/** A Sunday at 12:00 in California, always the same. */
const START = Date.parse('2026-03-01T20:00:00Z') as Instant;
const ACCOUNT = { username: 'demo', password: 'clean-grid-1', email: 'demo@example.invalid' };
const DEVICE = 'demo';
const CELL = minutes(15);

const configuration = (service: string, broker: string) => `
device: ${DEVICE}
place: {latitude: 38.5, longitude: -122.0, timezone: ${TIMEZONE}}
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
  readonly tell: (event: DemoEvent) => void;
  readonly log: Log;
  /** Paces the printing: called before each jump of the virtual clock. */
  readonly beforeJump?: (from: Instant, to: Instant) => Promise<void>;
  readonly stop?: AbortSignal;
}

export interface Demo {
  readonly result: DemoResult;
  readonly cells: readonly StripCell[];
  readonly from: Instant;
}

/** Runs the demo to its end, or to `stop`; everything it started is ended. */
export async function runDemo(options: DemoOptions): Promise<Demo> {
  await loadWhatTheAgentLoadsLate();
  const clock = createVirtualClock(START);
  const reference = await createReference({ seed: options.seed, clock: () => clock.now().wall, newPlan: 'analyst' });
  const broker = await startEmbeddedBroker();
  try {
    return await runHouse(options, clock, reference, broker);
  } finally {
    await broker.close();
    await reference.close();
  }
}

/** Time would not stand still while a chunk of the program is read from disk. */
const loadWhatTheAgentLoadsLate = () => import('../region/import.ts');

async function runHouse(
  options: DemoOptions,
  clock: VirtualClock,
  reference: Reference,
  broker: EmbeddedBroker,
): Promise<Demo> {
  const { seed, log, beforeJump, stop } = options;
  const { url } = await reference.listen();
  const read = readConfig(configuration(url, broker.url));
  if (!read.ok) throw new Error(read.mistakes.join('; '));
  const { config } = read;

  const secrets = { read: async (path: string) => ({ username: ACCOUNT.username, password: ACCOUNT.password })[path] };
  const world = createReplayWorld({ clock, seed, secrets, log });
  const { http, random } = world;
  const registered = await createService({ url, http, clock, random, credentials: async () => ACCOUNT, log }).register(
    ACCOUNT,
  );
  if (!registered.ok) throw new Error(`the reference service refused to register: ${registered.failure.kind}`);

  const story = createStory(clock, options.tell);
  broker.onPublish(story.hear);
  simulateCharger(broker, 'openevse');
  const agent = createAgent({ config, world, version: 'demo' });
  await clock.during(agent.start());
  const end = after(START, hours(options.hours));
  await clock.runUntil(end, {
    beforeJump: async (from, to) => {
      story.passed(from, to);
      await beforeJump?.(from, to);
    },
    ...(stop === undefined ? {} : { stop }),
  });
  story.passed(clock.now().wall, clock.now().wall);
  await clock.during(agent.stop());
  const { logins } = reference.counts();
  const result = resultOf({
    ...options,
    entries: await readLedger(world.disk),
    story,
    logins,
    requests: reference.counts().requests,
  });
  options.tell({ result });
  return { result, cells: story.cells(), from: START };
}

async function readLedger(disk: Disk): Promise<readonly Entry[]> {
  const names = (await disk.list()).filter(isLedgerFile).sort();
  const texts = await Promise.all(names.map(async (name) => new TextDecoder().decode(await disk.read(name))));
  return texts.flatMap((text) => readLines(text).entries);
}

interface Story {
  hear(topic: string, payload: string): void;
  /** Nothing changes between the two: fills the strip. */
  passed(from: Instant, to: Instant): void;
  cells(): readonly StripCell[];
  switches(load: string): number;
  deadlines(): { readonly met: number; readonly missed: number };
}

interface LoadMessage {
  readonly level: string;
  readonly why: string;
  readonly words: string;
  readonly job: { readonly by: string; readonly needMinutes: number; readonly doneMinutes: number } | null;
}

/** Listens to what the agent tells the broker, as any household would, and makes the transcript of it. */
function createStory(clock: VirtualClock, tell: (event: DemoEvent) => void): Story {
  const levels = new Map<string, string>();
  const switches = new Map<string, number>();
  const jobs = new Map<string, { done: number; need: number }>();
  const cells = new Map<number, StripCell>();
  let region: string | undefined;
  let trouble = '';
  let index: number | undefined;
  let toldHour = -1;
  const now = () => iso(clock.now().wall);

  const signal = (message: { index: number | null; rate: number | null; basis: string }) => {
    index = message.index ?? undefined;
    const hour = Math.floor(clock.now().wall / 3_600_000);
    // The index comes a moment before the first forecast, and with it the rate.
    if (index === undefined || message.rate === null || hour === toldHour) return;
    toldHour = hour;
    tell({ event: 'signal', at: now(), index, rate: message.rate, basis: message.basis });
  };

  const load = (name: string, { level, why, words, job }: LoadMessage) => {
    const before = levels.get(name);
    const switched = before !== undefined && before !== level;
    levels.set(name, level);
    if (switched) switches.set(name, (switches.get(name) ?? 0) + 1);
    if (job !== null) jobs.set(`${name} ${job.by}`, { done: job.doneMinutes, need: job.needMinutes });
    tell({ event: 'decision', at: now(), load: name, level, switched, why, words });
  };

  return {
    hear(topic, payload) {
      const [base, device, part, name] = topic.split('/');
      if (base !== 'gridtide' || device !== DEVICE || payload === '') return;
      if (part === 'signal') signal(JSON.parse(payload));
      if (part === 'loads' && name !== undefined && topic.split('/').length === 4) load(name, JSON.parse(payload));
      if (part === 'info') {
        const info: { region?: string | null; regionFullName?: string | null; mapLastUpdated?: string | null } =
          JSON.parse(payload);
        if (typeof info.region !== 'string' || info.region === region) return;
        region = info.region;
        tell({
          event: 'region',
          at: now(),
          region,
          regionFullName: info.regionFullName ?? '',
          map: info.mapLastUpdated ?? null,
        });
      }
      if (part === 'health') {
        const health: { trouble: string } = JSON.parse(payload);
        if (health.trouble !== trouble && health.trouble !== '')
          tell({ event: 'trouble', at: now(), trouble: health.trouble });
        trouble = health.trouble;
      }
    },
    passed(from, to) {
      const running = new Set(
        [...levels].filter(([, level]) => ['on', 'recommend', 'force'].includes(level)).map(([name]) => name),
      );
      for (let at = floorTo(from, CELL); at < to; at = after(at, CELL))
        if (at >= START) cells.set(at, { index, running });
    },
    cells: () => [...cells.entries()].sort(([a], [b]) => a - b).map(([, cell]) => cell),
    switches: (name) => switches.get(name) ?? 0,
    deadlines() {
      const passedBy = [...jobs].filter(([key]) => Date.parse(key.slice(key.indexOf(' ') + 1)) <= clock.now().wall);
      const met = passedBy.filter(([, { done, need }]) => done >= need - 0.01).length;
      return { met, missed: passedBy.length - met };
    },
  };
}

interface Outcome extends DemoOptions {
  readonly entries: readonly Entry[];
  readonly story: Story;
  readonly requests: number;
  readonly logins: number;
}

const round = (value: number) => Math.round(value * 1_000) / 1_000;

function loadResult(load: string, total: Total | undefined, switches: number): LoadResult {
  return {
    load,
    energyKwh: round(total?.energy ?? 0),
    kg: round(total?.emitted ?? 0),
    insteadKg: round(total?.instead ?? 0),
    savedKg: round(total?.saved ?? 0),
    comparedWith: total?.baselines[0] ?? null,
    switches,
  };
}

function resultOf({ seed, hours: length, entries, story, requests, logins }: Outcome): DemoResult {
  const all = totals(entries, { timezone: TIMEZONE, by: 'all', now: after(START, hours(length)) });
  const loads = LOADS.map((load) =>
    loadResult(
      load,
      all.find((total) => total.load === load),
      story.switches(load),
    ),
  );
  const sum = (of: (load: LoadResult) => number) => round(loads.reduce((total, load) => total + of(load), 0));
  return {
    hours: length,
    seed,
    loads,
    kg: sum(({ kg }) => kg),
    savedKg: sum(({ savedKg }) => savedKg),
    switches: sum(({ switches }) => switches),
    requests,
    logins,
    deadlines: story.deadlines(),
  };
}
