/** A day of one house with everything embedded: reference service, broker, simulated lines and charger, and the unchanged agent, in virtual time. */

import { createAgent } from '../agent/agent.ts';
import type { Config } from '../config/config.ts';
import { parseConfig } from '../config/parse-config.ts';
import type { Disk, Log, Ports } from '../domain/ports.ts';
import { addDuration, hours, type Instant } from '../domain/units.ts';
import type { Entry } from '../ledger/entries.ts';
import { listLedgerFiles, readLedgerMonths } from '../ledger/ledger-files.ts';
import { computeTotals, type Total } from '../ledger/load-totals.ts';
import { createReferenceService, type ReferenceService } from '../reference/reference-service.ts';
import { createServiceClient } from '../service/client.ts';
import { createDemoRecorder, type DemoRecorder } from './demo-recorder.ts';
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

const formatConfiguration = (service: string, broker: string) => `
device: ${DEVICE}
place: {latitude: 38.5, longitude: -122.0, timezone: ${DEMO_TIMEZONE}}
service: {url: "${service}", usernameFile: username, passwordFile: password}
mqtt: {url: "${broker}"}
tariff: {currency: USD, rates: [{price: 0.31, hours: "00:00-15:00"}, {price: 0.62, hours: "16:00-21:00"}], otherwise: 0.51}
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
  /** Called before the agent starts; whoever watches the house lives until the end of `beforeEnd`. */
  readonly onHouse?: (house: DemoHouse) => Promise<void>;
  /** Called when the day is over, before the agent stops. */
  readonly beforeEnd?: () => Promise<void>;
}

export interface DemoHouse {
  readonly config: Config;
  readonly disk: Disk;
  readonly now: () => Instant;
}

export interface DemoRun {
  readonly result: DemoResult;
  readonly cells: readonly StripCell[];
  readonly from: Instant;
  /** By the agent; the bytes are those of topics and payloads. */
  readonly published: { readonly messages: number; readonly bytes: number };
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
const preloadLazyModules = () => Promise.all([import('../region/import-map.ts'), import('../region/lookup.ts')]);

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
  const secrets = { read: async (path: string) => ({ username: ACCOUNT.username, password: ACCOUNT.password })[path] };
  const world = createDemoWorld({ clock, seed, secrets, log });
  await registerAccount(url, world);

  const recorder = createDemoRecorder(DEVICE, clock, options.onEvent);
  broker.onPublish(recorder.onMessage);
  simulateCharger(broker, 'openevse');
  const agent = createAgent({ config: parsed.config, world, version: 'demo' });
  await options.onHouse?.({ config: parsed.config, disk: world.disk, now: () => clock.now().wall });
  await clock.runUntilDone(agent.start());
  await clock.runUntil(addDuration(START, hours(options.hours)), {
    beforeJump: async (from, to) => {
      recorder.recordCells(from, to);
      await beforeJump?.(from, to);
    },
    ...(stop === undefined ? {} : { stop }),
  });
  recorder.recordCells(clock.now().wall, clock.now().wall);
  await options.beforeEnd?.();
  await clock.runUntilDone(agent.stop());
  recorder.endMoment();
  const result = buildDemoResult(options, await readLedgerEntries(world.disk), recorder, reference.counts());
  options.onEvent({ result });
  return { result, cells: recorder.listCells(), from: START, published: recorder.countMessages() };
}

async function registerAccount(url: string, { http, clock, random, log }: Ports): Promise<void> {
  const client = createServiceClient({ url, http, clock, random, credentials: async () => ACCOUNT, log });
  const registered = await client.register(ACCOUNT);
  if (!registered.ok) throw new Error(`the reference service refused to register: ${registered.failure.kind}`);
}

async function readLedgerEntries(disk: Disk): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const month of readLedgerMonths(disk, listLedgerFiles(await disk.list()))) entries.push(...month.entries);
  return entries;
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
    ...(total?.bill === undefined ? {} : { bill: buildDemoBill(total.bill) }),
    switches,
  };
}

const roundToCents = (value: number) => Math.round(value * 100) / 100;
const buildDemoBill = ({
  paid,
  instead,
  currency,
}: NonNullable<Total['bill']>): NonNullable<DemoLoadResult['bill']> => ({
  paid: roundToCents(paid),
  instead: roundToCents(instead),
  currency,
});

function buildDemoResult(
  { seed, hours: length }: DemoOptions,
  entries: readonly Entry[],
  recorder: DemoRecorder,
  { requests, logins }: { readonly requests: number; readonly logins: number },
): DemoResult {
  const now = addDuration(START, hours(length));
  const totals = computeTotals(entries, { timezone: DEMO_TIMEZONE, by: 'all', now });
  const loads = DEMO_LOADS.map((load) => {
    const total = totals.find((one) => one.load === load);
    return buildLoadResult(load, total, recorder.countSwitches(load));
  });
  const sumLoads = (field: 'kg' | 'savedKg' | 'switches') =>
    roundToThousandth(loads.reduce((sum, load) => sum + load[field], 0));
  return {
    hours: length,
    seed,
    loads,
    kg: sumLoads('kg'),
    savedKg: sumLoads('savedKg'),
    switches: sumLoads('switches'),
    requests,
    logins,
    deadlines: recorder.countDeadlines(),
  };
}
