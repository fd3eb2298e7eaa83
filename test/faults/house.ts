/** A house in virtual time whose agent can be killed and whose power can be cut at any moment; writes down every edge on its lines. */

import { createAgent } from '../../src/agent.ts';
import { readConfig } from '../../src/config/read.ts';
import { createHttp } from '../../src/platform/http.ts';
import { createReference } from '../../src/reference/reference.ts';
import { createVirtualClock, type VirtualClock } from '../../src/replay/clock.ts';
import { createMemoryDisk } from '../../src/replay/disk.ts';
import { heldHttp } from '../../src/replay/held.ts';
import { createDryPins } from '../../src/replay/pins.ts';
import { createService } from '../../src/service/service.ts';
import { after, type Duration, type Instant, iso, type Uptime } from '../../src/units.ts';
import type { Clock, Disk, Pins, Random, World } from '../../src/world.ts';

const START = Date.parse('2026-03-01T20:00:00Z') as Instant;
const ACCOUNT = { username: 'house', password: 'clean-grid-1', email: 'house@example.invalid' };

export interface Edge {
  readonly line: number;
  readonly high: boolean;
  readonly at: Instant;
  /** Which life of the agent made it; undefined: the loss of power did. */
  readonly life: number | undefined;
}

export interface House {
  now(): Instant;
  pass(length: Duration): Promise<void>;
  /** A new life of the agent on what the last one left. */
  start(): Promise<void>;
  /** The process is gone between two instructions: lines keep their level. */
  kill(): Promise<void>;
  /** Lines fall to low, the boot ends, and what was not synced may be gone. */
  cutPower(): Promise<void>;
  readonly edges: readonly Edge[];
  /** When each boot began, the first included. */
  readonly boots: readonly Instant[];
  /** What all lives said, with time and life. */
  readonly journal: readonly string[];
  disk(): Disk;
  end(): Promise<void>;
}

export interface HouseOptions {
  readonly random: Random;
  /** The `loads` section of the configuration. */
  readonly loads: string;
  /** The state directory, where it is not to be in memory. */
  readonly disk?: Disk;
}

export async function openHouse({ random, loads, disk: given }: HouseOptions): Promise<House> {
  await import('../../src/region/import.ts'); // a chunk read late would not hold the clock
  const clock = createVirtualClock(START);
  const seed = Math.floor(random.fraction() * 1e6);
  const reference = await createReference({ seed, clock: () => clock.now().wall, newPlan: 'analyst' });
  const { url } = await reference.listen();
  const read = readConfig(`
device: house
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${url}", usernameFile: username, passwordFile: password}
${loads}`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const { config } = read;

  let memory = createMemoryDisk();
  let scratch = createMemoryDisk();
  let bootAt = clock.now().uptime;
  let life = 0;
  let die: () => Promise<void> = async () => {};
  const levels = new Map<number, boolean>();
  const edges: Edge[] = [];
  const boots: Instant[] = [START];
  const journal: string[] = [];

  /** The world of one life; once it has ended nothing gets through any more. */
  function worldOfOneLife() {
    let isAlive = true;
    life += 1;
    const mine = life;
    const ifAlive = <Result>(work: () => Promise<Result>): Promise<Result> =>
      isAlive ? work() : new Promise(() => {});
    const http = heldHttp(createHttp(), clock);
    const origin = bootAt;
    const own: Clock = {
      now: () => ({ ...clock.now(), uptime: (clock.now().uptime - origin) as Uptime }),
      wakeAt: (at, name, run) => clock.wakeAt((at + origin) as Uptime, name, () => isAlive && run()),
    };
    const lines = createDryPins((line, high) => {
      levels.set(line, high);
      edges.push({ line, high, at: clock.now().wall, life: mine });
    }, levels);
    const world: World = {
      clock: own,
      random,
      disk: onlyWhile(given === undefined ? memory : timeless(given, clock), ifAlive),
      scratch: onlyWhile(scratch, ifAlive),
      http,
      broker: () => {
        throw new Error('this house has no broker');
      },
      pins: pinsOnlyWhile(lines, ifAlive),
      host: { ready() {}, status() {}, alive() {}, stopping() {} },
      log: (level, message) => {
        if (isAlive) journal.push(`${iso(clock.now().wall)} ${mine} ${level} ${message}`);
      },
      secrets: { read: async (path) => ({ username: ACCOUNT.username, password: ACCOUNT.password })[path] },
      boot: `boot ${boots.length}`,
    };
    const end = async () => {
      isAlive = false;
      await http.close();
    };
    return { world, end };
  }

  const first = worldOfOneLife();
  const registered = await createService({
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
    pass: (length) => clock.runUntil(after(clock.now().wall, length)),
    async start() {
      const { world, end } = worldOfOneLife();
      const agent = createAgent({ config, world, version: 'test' });
      die = end;
      await clock.during(agent.start());
      await clock.settled();
    },
    kill: () => die(),
    async cutPower() {
      await die();
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
    async end() {
      await die();
      await reference.close();
    },
  };
}

type Guard = <Result>(work: () => Promise<Result>) => Promise<Result>;

const onlyWhile = (disk: Disk, ifAlive: Guard): Disk => ({
  read: (name) => ifAlive(() => disk.read(name)),
  replace: (name, bytes) => ifAlive(() => disk.replace(name, bytes)),
  append: (name, bytes, options) => ifAlive(() => disk.append(name, bytes, options)),
  open: (name) => ifAlive(() => disk.open(name)),
  create: (name) => ifAlive(() => disk.create(name)),
  remove: (name) => ifAlive(() => disk.remove(name)),
  list: () => ifAlive(() => disk.list()),
});

/** Virtual time stands still while a real device works. */
const timeless = (disk: Disk, clock: VirtualClock): Disk =>
  onlyWhile(disk, async (work) => {
    const release = clock.hold();
    try {
      return await work();
    } finally {
      release();
    }
  });

const pinsOnlyWhile = (pins: Pins, ifAlive: Guard): Pins => ({
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
