/** The lives of the agent in a simulated house: each with a world of its own, which is revoked when that life ends. */

import { type Agent, createAgent } from '../../src/agent/agent.ts';
import type { Clock, FailsafeLine, Http, HttpRequest, Log, Ports } from '../../src/domain/ports.ts';
import type { Duration, Instant, Uptime } from '../../src/domain/units.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { createSecrets } from '../../src/platform/secret-files.ts';
import { createChance } from './chance.ts';
import { ACCOUNT, CREDENTIALS, type House } from './house.ts';
import { createModelNetwork } from './model-network.ts';
import { mountLife } from './modelled-fs.ts';

const MINUTE = 60_000;
/** A start and an orderly stop end within these. */
const LONGEST_START = MINUTE;
const LONGEST_STOP = 10_000;
/** A life that does too little to burn its fuse ends all the same. */
const LONGEST_FUSE = 20 * MINUTE;

export interface Life {
  readonly number: number;
  readonly agent: Agent;
  /** For the program that sets the lines when this one is gone. */
  failsafeLines: readonly FailsafeLine[];
  isAlive: boolean;
  isStopping: boolean;
  startedAt: number | undefined;
  /** Acts on the world until it is ended, before or after the last of them. */
  fuse: Fuse | undefined;
  /** While it is stopped: what reaches it afterwards. */
  stall: Stall | undefined;
  /** It has been stopped until then. */
  wokenAt: number;
}

/** Timers first, as in Node; then each connection's in its order, and among connections in any. */
interface Stall {
  readonly timers: (() => void)[];
  readonly inputs: { readonly source: object; readonly run: () => void }[];
}

type Stallable = Pick<Life, 'isAlive' | 'stall'>;

/** Something from outside reaches a life: now, or once it goes on. */
function deliver(life: Stallable, run: () => void, source: object | 'timer' = life): void {
  if (!life.isAlive) return;
  if (life.stall === undefined) run();
  else if (source === 'timer') life.stall.timers.push(run);
  else life.stall.inputs.push({ source, run });
}

const goOn = (life: Stallable) => new Promise<void>((resume) => deliver(life, resume));

interface Fuse {
  acts: number;
  readonly side: 'before' | 'after';
  readonly end: () => void;
}

type Act = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

const never = () => new Promise<never>(() => {});

/** The door through which a life acts on its world: closed once the life has ended, which may happen at any act. */
const createAct =
  (life: Pick<Life, 'isAlive' | 'fuse' | 'stall'>): Act =>
  async (work) => {
    if (life.stall !== undefined) await goOn(life);
    if (!life.isAlive) return never();
    const { fuse } = life;
    if (fuse !== undefined && fuse.acts <= 0 && fuse.side === 'before') {
      fuse.end();
      return never();
    }
    const result = await work();
    if (life.stall !== undefined) await goOn(life);
    if (life.isAlive && life.fuse !== undefined) {
      if (life.fuse.acts <= 0) life.fuse.end();
      else life.fuse.acts -= 1;
    }
    return life.isAlive ? result : never();
  };

/** The same through a disk that takes its time. */
function createDiskAct({ scenario, clock }: House, act: Act): Act {
  const { seed, diskMs } = scenario;
  if (diskMs === 0) return act;
  const chance = createChance(seed, 'disk time');
  return async (work) => {
    await clock.wait(chance.within(0, diskMs));
    return act(work);
  };
}

export function startLife(house: House): void {
  if (house.life !== undefined) return;
  const { auditor, history, clock, machine } = house;
  house.lives += 1;
  const life = createLife(house);
  house.life = life;
  history.count('lives');
  history.note(`life ${life.number} begins in boot ${machine.boots}`);
  auditor.lifeBegan(house.scenario.hasBootId);
  clock.runAt(clock.now() + LONGEST_START, () => {
    if (life.isAlive && !life.isStopping && life.startedAt === undefined && life.wokenAt === 0)
      auditor.fail('start', `the agent has not started within ${LONGEST_START / 1_000} s`);
  });
  life.agent.start().then(() => {
    life.startedAt = clock.now();
  }, auditor.crashed);
}

export function startLifeAfter(house: House, away: number): void {
  house.clock.runAt(house.clock.now() + away, () => startLife(house));
}

/** Since when nothing that the agent does can be saved. */
function findUnsavedSince({ files: { trouble }, scenario }: House): number | undefined {
  const isRefused = trouble?.below === undefined || (trouble.below === '/state' && !scenario.hasScratch);
  return isRefused ? trouble?.since : undefined;
}

export function endLife(house: House, kind: 'kill' | 'power-cut' | 'stop'): void {
  const { life, history, broker, files, auditor } = house;
  if (life === undefined) return;
  history.note(`life ${life.number} ends by ${kind}`);
  history.count(`ended by ${kind}`);
  life.isAlive = false;
  house.life = undefined;
  house.endedLife = life;
  broker.abandonDead();
  files.orphanUnfinished(process.pid);
  auditor.lifeEnded(kind, findUnsavedSince(house));
}

/** Stops the process of the present life for a while; the broker gives up a link of which it has heard nothing for long enough. */
export function stallLife({ life, clock, broker }: House, length: number): void {
  if (life === undefined || life.stall !== undefined) return;
  const stall: Stall = { timers: [], inputs: [] };
  const chance = createChance(clock.now(), 'stall');
  Object.assign(life, { stall, wokenAt: clock.now() + length });
  broker.abandonStalled();
  clock.runAt(clock.now() + length, () => {
    if (!life.isAlive) return;
    life.stall = undefined;
    const { timers, inputs } = stall;
    const order = new Map(inputs.map(({ source }) => [source, chance.fraction()]));
    inputs.sort((a, b) => (order.get(a.source) ?? 0) - (order.get(b.source) ?? 0));
    for (const run of [...timers, ...inputs.map((input) => input.run)]) if (life.isAlive) run();
  });
}

/** Ends a life in order, and then does `then`. */
export function stopLife(house: House, then: () => void): void {
  const { life, clock, auditor, history } = house;
  if (life === undefined || life.isStopping) return;
  life.isStopping = true;
  history.note(`life ${life.number} is stopped`);
  clock.runAt(clock.now() + LONGEST_STOP, () => {
    if (house.life === life && life.wokenAt === 0)
      auditor.fail('stop', `the agent has not stopped within ${LONGEST_STOP / 1_000} s`);
  });
  life.agent.stop().then(() => {
    if (house.life !== life) return;
    endLife(house, 'stop');
    then();
  }, auditor.crashed);
}

/** Calls `end` at the so-many-th act of the present life from now on, or a while later where it does nothing. */
export function lightFuse(
  { life, clock }: House,
  { acts, side }: { readonly acts: number; readonly side: 'before' | 'after' },
  end: () => void,
): void {
  if (life === undefined || acts === 0) {
    end();
    return;
  }
  const endOnce = () => {
    if (life.fuse?.end !== endOnce) return;
    life.fuse = undefined;
    if (life.isAlive) end();
  };
  life.fuse = { acts, side, end: endOnce };
  clock.runAt(clock.now() + LONGEST_FUSE, endOnce);
}

function createLife(house: House): Life {
  const number = house.lives;
  const life: { -readonly [Key in keyof Life]: Key extends 'agent' ? Agent | undefined : Life[Key] } = {
    number,
    agent: undefined,
    failsafeLines: [],
    isAlive: true,
    isStopping: false,
    startedAt: undefined,
    fuse: undefined,
    stall: undefined,
    wokenAt: 0,
  };
  const world = createLifeWorld(house, life);
  return Object.assign(life, { agent: createAgent({ config: house.config, world, version: 'simulated' }) });
}

function createLifeWorld(house: House, life: Omit<Life, 'agent'>): Ports {
  const { scenario, machine, lines, broker, auditor } = house;
  const act = createAct(life);
  const home = `life-${life.number}`;
  mountLife(home, { files: house.files, act: createDiskAct(house, act) });
  const { watchdogSeconds } = scenario;
  return {
    clock: createLifeClock(house, life),
    random: createChance(scenario.seed, home),
    disk: createFileDisk(`/${home}/state`),
    ...(scenario.hasScratch ? { scratch: createFileDisk(`/${home}/run`) } : {}),
    http: guardHttp(createHouseNetwork(house), act),
    broker: (options) =>
      broker.connect(options, {
        act,
        isAlive: () => life.isAlive,
        isStalled: () => life.stall !== undefined,
        deliver: (run, link) => deliver(life, run, link),
      }),
    pins: lines.openFor(act),
    failsafe: {
      save: (saved) =>
        act(() => {
          life.failsafeLines = saved;
          return true;
        }),
      clear: () =>
        act(() => {
          life.failsafeLines = [];
        }),
    },
    serviceManager: {
      notifyReady() {},
      setStatus: (text) => auditor.output('the status', text),
      notifyAlive() {},
      notifyStopping() {},
      ...(watchdogSeconds === undefined ? {} : { watchdogInterval: (watchdogSeconds * 1_000) as Duration }),
    },
    log: createLifeLog(house, life),
    secrets: createSecrets({ credentials: `/${home}${CREDENTIALS}` }),
    bootId: scenario.hasBootId ? `boot-${machine.boots}` : undefined,
  };
}

function createLifeClock({ scenario, clock, machine }: House, life: Stallable): Clock {
  const origin = machine.bootedAt;
  return {
    now: () => ({
      wall: Math.floor(scenario.start + clock.now() + machine.ahead) as Instant,
      uptime: Math.floor(clock.now() - origin) as Uptime,
      trusted: machine.trusted,
    }),
    // Not before a reading of the clock, which is in whole milliseconds, says so.
    wakeAt: (at, _name, run) => {
      let isCancelled = false;
      const cancel = clock.runAt(Math.max(clock.now(), origin + Math.ceil(at)), () =>
        deliver(life, () => isCancelled || run(), 'timer'),
      );
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}

const createLifeLog =
  ({ auditor, history }: House, life: Pick<Life, 'isAlive'>): Log =>
  (level, message, fields = {}) => {
    if (!life.isAlive) return;
    auditor.output('the log', message);
    auditor.output('the log', JSON.stringify(fields));
    if (typeof fields.why === 'string') history.count(`why ${fields.why}`);
    if (typeof fields.priority === 'number') history.count(`priority ${fields.priority}`);
    if (level !== 'debug') history.note(`${level}: ${message}`);
  };

function createHouseNetwork(house: House): Http {
  const { clock, networkChance: chance, reference, serviceTime, network: state, auditor, history } = house;
  const checkLogin = ({ headers }: HttpRequest): void => {
    const authorization = headers.authorization ?? headers.Authorization ?? '';
    if (!authorization.startsWith('Basic ')) return;
    const [username] = Buffer.from(authorization.slice(6), 'base64').toString().split(':');
    if (username !== ACCOUNT.username) auditor.fail('secrets', `the service was shown the login of ${username}`);
  };
  return createModelNetwork({
    ...{ clock, chance, reference, serviceTime, state },
    origin: 'https://service.invalid',
    onRequest(request) {
      history.count('requests');
      auditor.request(new URL(request.url).pathname);
      checkLogin(request);
    },
    onAnswer(path, status, body) {
      if (path !== '/login' || status !== 200) return;
      history.count('logins');
      const token = /"token":"([^"]{12,})"/.exec(new TextDecoder().decode(body))?.[1];
      if (token !== undefined) auditor.addSecret(token);
    },
  });
}

const guardHttp = (http: Http, act: Act): Http => ({
  request: (request, signal) => act(() => http.request(request, signal)),
  stream: (request, signal) => act(() => http.stream(request, signal)),
  close: () => act(() => http.close()),
});
