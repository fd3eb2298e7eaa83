/** A house in virtual time whose agent can be killed and whose power can be cut at any moment; writes down every edge on its lines. */

import { type Agent, createAgent } from '../../src/agent/agent.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { Broker, BrokerMessage, Clock, Disk, GpioLines, Ports, Random } from '../../src/domain/ports.ts';
import { addDuration, type Duration, formatInstant, type Instant, type Uptime } from '../../src/domain/units.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createPausingHttp } from '../../src/simulation/paused-io.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';

const START = Date.parse('2026-03-01T20:00:00Z') as Instant;
const ACCOUNT = { username: 'house', password: 'clean-grid-1', email: 'house@example.invalid' };

export interface LineEdgeOfLife {
  readonly line: number;
  readonly high: boolean;
  readonly at: Instant;
  /** Which life of the agent made it; undefined: the loss of power did. */
  readonly life: number | undefined;
}

export interface CrashableAgent {
  now(): Instant;
  pass(length: Duration): Promise<void>;
  /** A new life of the agent on what the last one left. */
  start(): Promise<void>;
  /** The process is gone between two instructions: lines keep their level. */
  kill(): Promise<void>;
  /** Lines fall to low, the boot ends, and what was not synced may be gone. */
  cutPower(): Promise<void>;
  readonly edges: readonly LineEdgeOfLife[];
  /** When each boot began, the first included. */
  readonly boots: readonly Instant[];
  /** What all lives said, with time and life. */
  readonly journal: readonly string[];
  disk(): Disk;
  /** Of the present life. */
  decisions(): ReturnType<Agent['snapshot']>['decisions'];
  /** Gives the agent a command over its broker; `onAnswer` is called while the answer is being sent. */
  sendCommand(load: string, command: object): void;
  close(): Promise<void>;
}

interface CommandAnswer {
  readonly id: string | null;
  readonly ok: boolean;
}

export interface CrashableAgentOptions {
  readonly random: Random;
  /** The `loads` section of the configuration. */
  readonly loads: string;
  /** The state directory, where it is not to be in memory. */
  readonly disk?: Disk;
  /** With a broker, and a disk whose every write takes a while. */
  readonly onAnswer?: (load: string, answer: CommandAnswer) => void;
}

export async function createCrashableAgent({
  random,
  loads,
  disk: given,
  onAnswer,
}: CrashableAgentOptions): Promise<CrashableAgent> {
  await import('../../src/region/import-map.ts'); // a chunk read late would not hold the clock
  const clock = createVirtualClock(START);
  const seed = Math.floor(random.fraction() * 1e6);
  const reference = await createReferenceService({ seed, clock: () => clock.now().wall, newPlan: 'analyst' });
  const { url } = await reference.listen();
  const read = parseConfig(`
device: house
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${url}", usernameFile: username, passwordFile: password}
${onAnswer === undefined ? '' : 'mqtt: {url: "mqtt://127.0.0.1"}'}
${loads}`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const { config } = read;

  let memory = createMemoryDisk();
  let scratch = createMemoryDisk();
  let bootAt = clock.now().uptime;
  let life = 0;
  let endLife: () => Promise<void> = async () => {};
  let agent: Agent | undefined;
  let receiveCommand: (message: BrokerMessage) => void = () => {};
  const levels = new Map<number, boolean>();
  const edges: LineEdgeOfLife[] = [];
  const boots: Instant[] = [START];
  const journal: string[] = [];

  /** The world of one life; once it has ended nothing gets through any more. */
  function createLifeWorld() {
    let isAlive = true;
    life += 1;
    const ownLife = life;
    const ifAlive = <Result>(work: () => Promise<Result>): Promise<Result> =>
      isAlive ? work() : new Promise(() => {});
    const http = createPausingHttp(createHttp(), clock);
    const slowDown = (disk: Disk) => (onAnswer === undefined ? disk : delayWrites(disk, clock, ifAlive));
    const origin = bootAt;
    const own: Clock = {
      now: () => ({ ...clock.now(), uptime: (clock.now().uptime - origin) as Uptime }),
      wakeAt: (at, name, run) => clock.wakeAt((at + origin) as Uptime, name, () => isAlive && run()),
    };
    const lines = createSimulatedLines((line, high) => {
      levels.set(line, high);
      edges.push({ line, high, at: clock.now().wall, life: ownLife });
    }, levels);
    const world: Ports = {
      clock: own,
      random,
      disk: guardDisk(given === undefined ? slowDown(memory) : freezeClockDuring(given, clock), ifAlive),
      scratch: guardDisk(slowDown(scratch), ifAlive),
      http,
      broker: () =>
        createCommandBroker(ifAlive, {
          onCommands: (receive) => {
            receiveCommand = receive;
          },
          onAnswer: (load, answer) => onAnswer?.(load, answer),
        }),
      pins: guardPins(lines, ifAlive),
      serviceManager: { notifyReady() {}, setStatus() {}, notifyAlive() {}, notifyStopping() {} },
      log: (level, message) => {
        if (isAlive) journal.push(`${formatInstant(clock.now().wall)} ${ownLife} ${level} ${message}`);
      },
      secrets: { read: async (path) => ({ username: ACCOUNT.username, password: ACCOUNT.password })[path] },
      bootId: `boot ${boots.length}`,
    };
    const end = async () => {
      isAlive = false;
      await http.close();
    };
    return { world, end };
  }

  const first = createLifeWorld();
  const registered = await createServiceClient({
    url,
    http: first.world.http,
    clock: first.world.clock,
    random,
    credentials: async () => ACCOUNT,
    log: first.world.log,
  }).register(ACCOUNT);
  if (!registered.ok) throw new Error(`the reference service refused to register: ${registered.failure.kind}`);
  await first.end();

  return {
    now: () => clock.now().wall,
    pass: (length) => clock.runUntil(addDuration(clock.now().wall, length)),
    async start() {
      const { world, end } = createLifeWorld();
      agent = createAgent({ config, world, version: 'test' });
      endLife = end;
      await clock.runUntilDone(agent.start());
      await clock.waitUntilIdle();
    },
    kill: () => endLife(),
    async cutPower() {
      await endLife();
      memory = memory.afterPowerCut(random.fraction());
      scratch = createMemoryDisk();
      for (const [line, high] of levels)
        if (high) edges.push({ line, high: false, at: clock.now().wall, life: undefined });
      levels.clear();
      bootAt = clock.now().uptime;
      boots.push(clock.now().wall);
    },
    edges,
    boots,
    journal,
    disk: () => given ?? memory,
    decisions: () => agent?.snapshot().decisions ?? [],
    sendCommand(load, command) {
      const payload = new TextEncoder().encode(JSON.stringify(command));
      receiveCommand({ topic: `gridtide/house/loads/${load}/set`, payload, retained: false, duplicate: false });
    },
    async close() {
      await endLife();
      await reference.close();
    },
  };
}

type LifeGuard = <Result>(work: () => Promise<Result>) => Promise<Result>;

const guardDisk = (disk: Disk, ifAlive: LifeGuard): Disk => ({
  read: (name) => ifAlive(() => disk.read(name)),
  replace: (name, bytes) => ifAlive(() => disk.replace(name, bytes)),
  overwrite: (name, bytes) => ifAlive(() => disk.overwrite(name, bytes)),
  append: (name, bytes, options) => ifAlive(() => disk.append(name, bytes, options)),
  open: (name) => ifAlive(() => disk.open(name)),
  create: (name) => ifAlive(() => disk.create(name)),
  remove: (name) => ifAlive(() => disk.remove(name)),
  list: () => ifAlive(() => disk.list()),
});

interface CommandBrokerHooks {
  readonly onCommands: (receive: (message: BrokerMessage) => void) => void;
  readonly onAnswer: (load: string, answer: CommandAnswer) => void;
}

/** A link that is always online; it hears commands of any load and tells the answers while they are published. */
function createCommandBroker(ifAlive: LifeGuard, { onCommands, onAnswer }: CommandBrokerHooks): Broker {
  const state = { kind: 'online', version: 5, denied: [] } as const;
  const receivers = new Map<string, (message: BrokerMessage) => void>();
  const matches = (filter: string, topic: string) =>
    filter.split('/').every((level, i) => level === '+' || level === topic.split('/')[i]);
  onCommands((message) => {
    for (const [filter, receive] of receivers) if (matches(filter, message.topic)) receive(message);
  });
  return {
    state,
    start() {},
    watchState(report) {
      report(state);
      return () => {};
    },
    publish: (topic, payload) =>
      ifAlive(async () => {
        const load = /\/loads\/([^/]+)\/result$/.exec(topic)?.[1];
        if (load !== undefined) onAnswer(load, JSON.parse(String(payload)));
        return true;
      }),
    subscribe: (filter, receive) =>
      ifAlive(async () => {
        receivers.set(filter, receive);
        return true;
      }),
    ping: () => ifAlive(async () => true),
    async stop() {},
  };
}

/** Nothing is on the disk before its write has taken a while, and nothing at all when the life ends within it. */
function delayWrites(disk: Disk, clock: VirtualClock, ifAlive: LifeGuard): Disk {
  const later = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const release = clock.pause();
    try {
      await new Promise((resume) => setImmediate(resume));
    } finally {
      release();
    }
    return ifAlive(work);
  };
  return {
    ...disk,
    replace: (name, bytes) => later(() => disk.replace(name, bytes)),
    overwrite: (name, bytes) => later(() => disk.overwrite(name, bytes)),
    append: (name, bytes, options) => later(() => disk.append(name, bytes, options)),
  };
}

/** Virtual time stands still while a real device works. */
const freezeClockDuring = (disk: Disk, clock: VirtualClock): Disk =>
  guardDisk(disk, async (work) => {
    const release = clock.pause();
    try {
      return await work();
    } finally {
      release();
    }
  });

const guardPins = (pins: GpioLines, ifAlive: LifeGuard): GpioLines => ({
  watch: (line, options) => ifAlive(() => pins.watch(line, options)),
  open: (line, options) =>
    ifAlive(async () => {
      const pin = await pins.open(line, options);
      if ('kind' in pin) return pin;
      return {
        write: (high) => ifAlive(() => pin.write(high)),
        read: () => ifAlive(() => pin.read()),
        close: () => ifAlive(() => pin.close()),
      };
    }),
});
