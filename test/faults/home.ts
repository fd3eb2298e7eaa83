/** A house in virtual time whose service, clock and network fail on demand; the agent, its requests over HTTP and the service are the real ones. */

import { type Agent, createAgent } from '../../src/agent.ts';
import { readConfig } from '../../src/config/read.ts';
import { createHttp } from '../../src/platform/http.ts';
import { createSeededRandom } from '../../src/platform/random.ts';
import type { FaultRule } from '../../src/reference/fault-rules.ts';
import type { PlanName } from '../../src/reference/plans.ts';
import { createReference, type Reference } from '../../src/reference/reference.ts';
import { createVirtualClock, type VirtualClock } from '../../src/replay/clock.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/replay/disk.ts';
import { heldHttp } from '../../src/replay/held.ts';
import { createDryPins } from '../../src/replay/pins.ts';
import { after, type Duration, type Instant, minutes } from '../../src/units.ts';
import type { Clock, Http, HttpRequest, Log, World } from '../../src/world.ts';

export const START = Date.parse('2026-03-02T20:00:00Z') as Instant;

export interface Edge {
  readonly line: number;
  readonly high: boolean;
  readonly at: Instant;
}

export interface Said {
  readonly at: Instant;
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly at: Instant;
  readonly path: string;
  readonly deadline: Duration;
}

export interface HomeOptions {
  readonly seed: number;
  readonly start?: string;
  readonly loads?: string;
  readonly plan?: PlanName;
  /** Lines added under `service:`. */
  readonly service?: string;
  /** Base address of another service than the reference. */
  readonly url?: string;
  readonly place?: string;
  readonly device?: string;
  readonly ca?: string;
  readonly disk?: MemoryDisk;
  readonly clock?: VirtualClock;
  readonly reference?: Reference;
}

export interface Home {
  readonly clock: VirtualClock;
  readonly reference: Reference;
  readonly edges: readonly Edge[];
  readonly said: readonly Said[];
  readonly asked: readonly Asked[];
  readonly disk: MemoryDisk;
  readonly agent: Agent;
  /** The clock of the device against the true one. */
  readonly device: { ahead: number; trusted: boolean };
  /** Pulls the network plug. */
  readonly network: { isDown: boolean };
  /** Milliseconds an answer may take from now on, where the fault is that it takes too long. */
  readonly patience: { ms: number | undefined };
  readonly credentials: { username: string; password: string };
  start(): Promise<void>;
  /** An orderly end and a new beginning within the same boot, some time later. */
  restart(away?: Duration): Promise<void>;
  pass(length: Duration): Promise<void>;
  fault(...rules: readonly FaultRule[]): void;
  /** Troubles as they were said, of one subject. */
  troubles(subject: string): readonly string[];
  /** Requests of paths that begin so, from `since` on. */
  count(path: string, since?: Instant): number;
  end(): Promise<void>;
}

/** Line 17: a tank that goes by the index alone; line 22: a car with a deadline. */
export const LOADS = `
loads:
  water: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, failSafe: off, boot: off, onStop: hold, output: {kind: relay, pin: 17}}
  car: {type: ev, powerKw: 7.2, failSafe: off, boot: off, onStop: hold, goal: {need: 4h, by: "07:00", from: "18:00"}, output: {kind: relay, pin: 22}}
`;
export const WATER = 17;
export const CAR = 22;

const WORDS = { username: 'owner', password: 'clean-grid-1' };

export async function openHome(options: HomeOptions): Promise<Home> {
  // A chunk read late would not hold the clock.
  await import('../../src/region/import.ts');
  const { seed, start, loads = LOADS, plan = 'basic' } = options;
  const from = (start === undefined ? START : Date.parse(start)) as Instant;
  const clock = options.clock ?? createVirtualClock(from);
  const reference =
    options.reference ??
    (await createReference({ seed, clock: () => clock.now().wall, accounts: [{ ...WORDS, plan }] }));
  const url = options.url ?? (await reference.listen()).url;
  const read = readConfig(`
device: ${options.device ?? 'home'}
place: ${options.place ?? '{latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}'}
service: {url: "${url}", usernameFile: username, passwordFile: password${options.service ?? ''}}
${loads}`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const { config } = read;

  const device = { ahead: 0, trusted: true };
  const network = { isDown: false };
  const patience: Home['patience'] = { ms: undefined };
  const credentials = { ...WORDS };
  const levels = new Map<number, boolean>();
  const edges: Edge[] = [];
  const said: Said[] = [];
  const asked: Asked[] = [];
  const disk = options.disk ?? createMemoryDisk();
  const random = createSeededRandom(seed);
  const log: Log = (level, message, fields = {}) => said.push({ at: clock.now().wall, level, message, fields });

  const own: Clock = {
    now: () => {
      const { wall, uptime } = clock.now();
      return { wall: after(wall, device.ahead as Duration), uptime, trusted: device.trusted };
    },
    wakeAt: clock.wakeAt,
  };

  function worldOfOneLife(): World {
    const wire = heldHttp(createHttp(options.ca === undefined ? {} : { ca: options.ca }), clock);
    const before = (request: HttpRequest): HttpRequest => {
      asked.push({ at: clock.now().wall, path: new URL(request.url).pathname, deadline: request.deadline });
      return patience.ms === undefined ? request : { ...request, deadline: patience.ms as Duration };
    };
    const away = { kind: 'unreachable', cause: 'the network is down (ENETUNREACH)' } as const;
    const http: Http = {
      request: async (request, signal) => {
        const ready = before(request);
        return network.isDown ? away : wire.request(ready, signal);
      },
      stream: async (request, signal) => {
        const ready = before(request);
        return network.isDown ? away : wire.stream(ready, signal);
      },
      close: () => wire.close(),
    };
    return {
      clock: own,
      random,
      disk,
      http,
      broker: () => {
        throw new Error('this home has no broker');
      },
      pins: createDryPins((line, high) => {
        levels.set(line, high);
        edges.push({ line, high, at: clock.now().wall });
      }, new Map(levels)),
      host: { ready() {}, status() {}, alive() {}, stopping() {} },
      log,
      secrets: { read: async (path) => (path === 'username' ? credentials.username : credentials.password) },
      boot: 'boot 1',
    };
  }

  let agent = createAgent({ config, world: worldOfOneLife(), version: 'test' });
  return {
    clock,
    reference,
    edges,
    said,
    asked,
    disk,
    device,
    network,
    patience,
    credentials,
    get agent() {
      return agent;
    },
    async start() {
      await clock.during(agent.start());
      await clock.settled();
    },
    async restart(away = minutes(0)) {
      await clock.during(agent.stop());
      await clock.runUntil(after(clock.now().wall, away));
      agent = createAgent({ config, world: worldOfOneLife(), version: 'test' });
      await clock.during(agent.start());
      await clock.settled();
    },
    pass: (length) => clock.runUntil(after(clock.now().wall, length)),
    fault: (...rules) => reference.setFaults(rules),
    troubles: (subject) =>
      said.filter(({ level, fields }) => level === 'warn' && fields.subject === subject).map(({ message }) => message),
    count: (path, since = 0 as Instant) => asked.filter((one) => one.path.startsWith(path) && one.at >= since).length,
    async end() {
      await clock.during(agent.stop());
      if (options.reference === undefined) await reference.close();
    },
  };
}

/** Switches that came sooner after the one before than these allow; the first level of a line is none. */
export function tooSoon(edges: readonly Edge[], line: number, least: { on: Duration; off: Duration }): string[] {
  const own = edges.filter((edge) => edge.line === line);
  return own.slice(2).flatMap(({ high, at }, i) => {
    const held = at - (own[i + 1]?.at ?? 0);
    return held < (high ? least.off : least.on)
      ? [`line ${line} went ${high ? 'on' : 'off'} after ${held / minutes(1)} min`]
      : [];
  });
}

/** How long a line was high between two instants. */
export function timeOn(edges: readonly Edge[], line: number, from: number, to: number): number {
  const own = edges.filter((edge) => edge.line === line);
  return own.reduce((sum, { high, at }, i) => {
    const until = Math.min(to, own[i + 1]?.at ?? to);
    return high ? sum + Math.max(0, until - Math.max(from, at)) : sum;
  }, 0);
}
