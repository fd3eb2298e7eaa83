/** A house in virtual time whose service, clock and network fail on demand; the agent, its requests over HTTP and the service are the real ones. */

import { type Agent, createAgent } from '../../src/agent/agent.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { Broker, Clock, Http, HttpRequest, Log, Ports } from '../../src/domain/ports.ts';
import { addDuration, type Duration, type Instant, minutes } from '../../src/domain/units.ts';
import type { buildHealthPayload } from '../../src/mqtt/health.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createSeededRandom } from '../../src/platform/random.ts';
import type { PlanName } from '../../src/reference/accounts/plans.ts';
import type { FaultRule } from '../../src/reference/faults/fault-rules.ts';
import type { ProfileName } from '../../src/reference/http/profile.ts';
import { createReferenceService, type ReferenceService } from '../../src/reference/reference-service.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createPausingHttp } from '../../src/simulation/paused-io.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import type { SharedBroker } from '../doubles/shared-broker.ts';

export const START = Date.parse('2026-03-02T20:00:00Z') as Instant;

export interface LineEdge {
  readonly line: number;
  readonly high: boolean;
  readonly at: Instant;
}

interface LogEntry {
  readonly at: Instant;
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface SentRequest {
  readonly at: Instant;
  readonly path: string;
  readonly deadline: Duration;
}

export interface VirtualAgentOptions {
  readonly seed: number;
  readonly start?: string;
  readonly loads?: string;
  readonly plan?: PlanName;
  readonly profile?: ProfileName;
  /** Lines added under `service:`. */
  readonly service?: string;
  /** The whole of `service:`, for an agent behind a relay. */
  readonly relay?: string;
  /** The broker, where it is shared with others. */
  readonly bus?: SharedBroker;
  /** Base address of another service than the reference. */
  readonly url?: string;
  readonly place?: string;
  readonly device?: string;
  readonly ca?: string;
  readonly disk?: MemoryDisk;
  readonly clock?: VirtualClock;
  readonly reference?: ReferenceService;
}

export interface VirtualAgent {
  readonly clock: VirtualClock;
  readonly reference: ReferenceService;
  readonly edges: readonly LineEdge[];
  readonly logEntries: readonly LogEntry[];
  readonly requests: readonly SentRequest[];
  readonly disk: MemoryDisk;
  readonly agent: Agent;
  /** What stands retained at the broker, by topic. */
  readonly retained: ReadonlyMap<string, string>;
  /** The health document as it stands retained at the broker. */
  readonly health: () => ReturnType<typeof buildHealthPayload>;
  /** The clock of the device against the true one. */
  readonly device: { ahead: number; trusted: boolean };
  /** Pulls the network plug. */
  readonly network: { isDown: boolean };
  /** Milliseconds an answer may take from now on, of one path or of any, where the fault is that it takes too long. */
  readonly deadlineOverride: { ms: number | undefined; path?: string };
  readonly credentials: { username: string; password: string };
  start(): Promise<void>;
  /** An orderly end and a new beginning within the same boot, some time later. */
  restart(away?: Duration): Promise<void>;
  pass(length: Duration): Promise<void>;
  setFaults(...rules: readonly FaultRule[]): void;
  /** Troubles as they were said, of one subject. */
  warningsAbout(subject: string): readonly string[];
  /** Requests of paths that begin so, from `since` on. */
  countRequests(path: string, since?: Instant): number;
  close(): Promise<void>;
}

/** Line 17: a tank that goes by the index alone; line 22: a car with a deadline. */
const LOADS = `
loads:
  water: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
  car: {type: ev, powerKw: 7.2, failSafe: off, initialLevel: off, onStop: hold, goal: {need: 4h, by: "07:00", from: "18:00"}, output: {kind: relay, pin: 22}}
`;
export const WATER_LINE = 17;
export const CAR_LINE = 22;

/** The link of a shared broker, with what the agent publishes on it; without one a broker of its own. */
function recordRetained(link: Broker | undefined, retained: Map<string, string>): Broker {
  const own = createRetainingBroker(retained);
  if (link === undefined) return own;
  const publish: Broker['publish'] = async (...message) => (await own.publish(...message)) && link.publish(...message);
  return Object.create(link, { publish: { value: publish } }) as Broker;
}

/** A link that is always online and keeps what is published to be retained. */
function createRetainingBroker(retained: Map<string, string>): Broker {
  const state = { kind: 'online', version: 5, denied: [] } as const;
  return {
    state,
    start() {},
    watchState(report) {
      report(state);
      return () => {};
    },
    async publish(topic, payload, { retain }) {
      if (retain) retained.set(topic, String(payload));
      return true;
    },
    subscribe: async () => true,
    ping: async () => true,
    async stop() {},
  };
}

const OWNER_LOGIN = { username: 'owner', password: 'clean-grid-1' };

export async function createVirtualAgent(options: VirtualAgentOptions): Promise<VirtualAgent> {
  // A chunk read late would not hold the clock.
  await Promise.all([import('../../src/region/import-map.ts'), import('../../src/relay/map-reader.ts')]);
  const { seed, start, loads = LOADS, plan = 'basic' } = options;
  const from = (start === undefined ? START : Date.parse(start)) as Instant;
  const clock = options.clock ?? createVirtualClock(from);
  const reference =
    options.reference ??
    (await createReferenceService({
      seed,
      clock: () => clock.now().wall,
      accounts: [{ ...OWNER_LOGIN, plan }],
      ...(options.profile && { profile: options.profile }),
    }));
  const url = options.url ?? (await reference.listen()).url;
  const account = `url: "${url}", usernameFile: username, passwordFile: password${options.service ?? ''}`;
  const read = parseConfig(`
device: ${options.device ?? 'home'}
place: ${options.place ?? '{latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}'}
service: {${options.relay ?? account}}
mqtt: {url: "mqtt://127.0.0.1", commands: "off"}
${loads}`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const { config } = read;

  const device = { ahead: 0, trusted: true };
  const network = { isDown: false };
  const deadlineOverride: VirtualAgent['deadlineOverride'] = { ms: undefined };
  const credentials = { ...OWNER_LOGIN };
  const levels = new Map<number, boolean>();
  const edges: LineEdge[] = [];
  const logEntries: LogEntry[] = [];
  const requests: SentRequest[] = [];
  const disk = options.disk ?? createMemoryDisk();
  const retained = new Map<string, string>();
  const random = createSeededRandom(seed);
  const log: Log = (level, message, fields = {}) => logEntries.push({ at: clock.now().wall, level, message, fields });

  const own: Clock = {
    now: () => {
      const { wall, uptime } = clock.now();
      return { wall: addDuration(wall, device.ahead as Duration), uptime, trusted: device.trusted };
    },
    wakeAt: clock.wakeAt,
  };

  function createLifeWorld(): Ports {
    const wire = createPausingHttp(createHttp(options.ca === undefined ? {} : { ca: options.ca }), clock);
    const before = (request: HttpRequest): HttpRequest => {
      const path = new URL(request.url).pathname;
      requests.push({ at: clock.now().wall, path, deadline: request.deadline });
      const { ms, path: slowPath = path } = deadlineOverride;
      return ms === undefined || slowPath !== path ? request : { ...request, deadline: ms as Duration };
    };
    const networkDown = { kind: 'unreachable', cause: 'the network is down (ENETUNREACH)' } as const;
    const http: Http = {
      request: async (request, signal) => {
        const ready = before(request);
        return network.isDown ? networkDown : wire.request(ready, signal);
      },
      stream: async (request, signal) => {
        const ready = before(request);
        return network.isDown ? networkDown : wire.stream(ready, signal);
      },
      close: () => wire.close(),
    };
    return {
      clock: own,
      random,
      disk,
      http,
      broker: () => recordRetained(options.bus?.connect(), retained),
      pins: createSimulatedLines((line, high) => {
        levels.set(line, high);
        edges.push({ line, high, at: clock.now().wall });
      }, new Map(levels)),
      serviceManager: { notifyReady() {}, setStatus() {}, notifyAlive() {}, notifyStopping() {} },
      log,
      secrets: { read: async (path) => (path === 'username' ? credentials.username : credentials.password) },
      bootId: 'boot 1',
    };
  }

  let agent = createAgent({ config, world: createLifeWorld(), version: 'test' });
  return {
    clock,
    reference,
    edges,
    logEntries,
    requests,
    disk,
    device,
    network,
    deadlineOverride,
    credentials,
    retained,
    health: () => JSON.parse(retained.get(`gridtide/${config.device}/health`) ?? '{}'),
    get agent() {
      return agent;
    },
    async start() {
      await clock.runUntilDone(agent.start());
      await clock.waitUntilIdle();
    },
    async restart(away = minutes(0)) {
      await clock.runUntilDone(agent.stop());
      await clock.runUntil(addDuration(clock.now().wall, away));
      agent = createAgent({ config, world: createLifeWorld(), version: 'test' });
      await clock.runUntilDone(agent.start());
      await clock.waitUntilIdle();
    },
    pass: (length) => clock.runUntil(addDuration(clock.now().wall, length)),
    setFaults: (...rules) => reference.setFaults(rules),
    warningsAbout: (subject) =>
      logEntries
        .filter(({ level, fields }) => level === 'warn' && fields.subject === subject)
        .map(({ message }) => message),
    countRequests: (path, since = 0 as Instant) =>
      requests.filter((one) => one.path.startsWith(path) && one.at >= since).length,
    async close() {
      await clock.runUntilDone(agent.stop());
      if (options.reference === undefined) await reference.close();
    },
  };
}

/** Switches that came sooner after the one before than these allow; the first level of a line is none. */
export function findShortCycles(
  edges: readonly LineEdge[],
  line: number,
  least: { on: Duration; off: Duration },
): string[] {
  const own = edges.filter((edge) => edge.line === line);
  return own.slice(2).flatMap(({ high, at }, i) => {
    const duration = at - (own[i + 1]?.at ?? 0);
    return duration < (high ? least.off : least.on)
      ? [`line ${line} went ${high ? 'on' : 'off'} after ${duration / minutes(1)} min`]
      : [];
  });
}

/** How long a line was high between two instants. */
export function sumTimeOn(edges: readonly LineEdge[], line: number, from: number, to: number): number {
  const own = edges.filter((edge) => edge.line === line);
  return own.reduce((sum, { high, at }, i) => {
    const until = Math.min(to, own[i + 1]?.at ?? to);
    return high ? sum + Math.max(0, until - Math.max(from, at)) : sum;
  }, 0);
}
