/** A simulated house: what is in it, and who changes what at its wires. */

import { createHash } from 'node:crypto';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { listOutputLines } from '../../src/domain/levels.ts';
import { CONTACTS } from '../../src/outputs/sg-ready-output.ts';
import { createReferenceService, type ReferenceService } from '../../src/reference/reference-service.ts';
import { type Auditor, type ChangeCause, createAuditor } from './auditor.ts';
import { type Chance, createChance } from './chance.ts';
import { formatElapsed } from './incidents.ts';
import type { Life } from './lives.ts';
import { createModelBroker, type ModelBroker } from './model-broker.ts';
import { createModelDevice, type ModelDevice } from './model-device.ts';
import { createModelFiles, type ModelFiles } from './model-files.ts';
import { createModelLines, type ModelLines } from './model-lines.ts';
import type { NetworkState } from './model-network.ts';
import { formatConfiguration, type Scenario } from './scenario.ts';
import { createSimClock, type SimClock } from './sim-clock.ts';

export const DEVICE = 'house';
export const ACCOUNT = { username: 'owner-of-the-house', password: 'clean-grid-1-of-the-service' };
export const OTHER_PASSWORD = 'another-password-of-the-service-9';
const BROKER_LOGIN = { username: 'user-of-the-broker', password: 'secret-of-the-broker-7' };
export const CREDENTIALS = '/creds';

export interface House {
  readonly scenario: Scenario;
  readonly clock: SimClock;
  readonly networkChance: Chance;
  readonly history: History;
  readonly auditor: Auditor;
  readonly reference: ReferenceService;
  readonly network: NetworkState;
  readonly files: ModelFiles;
  readonly lines: ModelLines;
  readonly broker: ModelBroker;
  readonly devices: ReadonlyMap<string, ModelDevice>;
  config: Config;
  /** Who moves a line that the agent does not move. */
  lineCause: ChangeCause;
  life: Life | undefined;
  /** The life that ended last: what it sent on its way is still its own. */
  endedLife: Life | undefined;
  lives: number;
  /** What happens once the next answer to a command has reached the broker. */
  onAnswer: (() => void) | undefined;
  commands: number;
  /** The clock of the machine against the true one, and its boots. */
  readonly machine: { ahead: number; trusted: boolean; bootedAt: number; boots: number };
  readonly service: { ahead: number };
  /** What lasts, by what it is about, and when something was wrong last. */
  readonly troubles: {
    readonly lasting: Map<string, LastingTrouble>;
    anyAt: number;
    brokerAt: number;
  };
  serviceTime(): number;
}

interface LastingTrouble {
  /** Only the path of the map is in trouble. */
  readonly isMapAlone: boolean;
}

export function readConfiguration(scenario: Scenario, variant: number): Config {
  const parsed = parseConfig(formatConfiguration(scenario, variant));
  if (!parsed.ok) throw new Error(`seed ${scenario.seed}: ${parsed.mistakes.join('; ')}`);
  return parsed.config;
}

/** The credentials as the service manager hands over the directory of the settings. */
export function placeCredentials(files: ModelFiles, password: string): void {
  files.place(`${CREDENTIALS}/etc_username`, `${ACCOUNT.username}\n`);
  files.place(`${CREDENTIALS}/etc_password`, `${password}\n`);
  files.place(`${CREDENTIALS}/etc_mqtt_username`, `${BROKER_LOGIN.username}\n`);
  files.place(`${CREDENTIALS}/etc_mqtt_password`, `${BROKER_LOGIN.password}\n`);
}

export async function createHouse(scenario: Scenario, onLine: ((line: string) => void) | undefined): Promise<House> {
  const { seed } = scenario;
  const clock = createSimClock(createChance(seed, 'order'));
  const config = readConfiguration(scenario, 0);
  const history = createHistory(clock.now, onLine);
  const { budgetKw } = scenario;
  const auditor = createAuditor({ now: clock.now, device: DEVICE, loads: config.loads, budgetKw });
  for (const secret of [ACCOUNT.password, OTHER_PASSWORD, BROKER_LOGIN.password]) auditor.addSecret(secret);
  const service = { ahead: 0 };
  const serviceTime = () => scenario.start + Math.floor(clock.now()) + service.ahead;
  const reference = await createReferenceService({
    seed,
    clock: serviceTime,
    profile: scenario.profile,
    mapDetail: 1,
    accounts: [{ ...ACCOUNT, plan: scenario.plan }],
  });
  const files = createModelFiles(['/state', '/run', CREDENTIALS]);
  placeCredentials(files, ACCOUNT.password);

  const findCause = (): ChangeCause => ((house.life ?? house.endedLife)?.isStopping === true ? 'stop' : 'agent');
  const changeLoad = (load: string, running: boolean, cause: ChangeCause) => {
    history.note(`${load} ${running ? 'runs' : 'rests'}, by ${cause}`);
    history.count('switches');
    auditor.loadChanged(load, running, cause);
  };
  const broker = createHouseBroker(clock, scenario, { auditor, history }, () => {
    const { onAnswer } = house;
    house.onAnswer = undefined;
    if (onAnswer !== undefined) clock.runAt(clock.now(), onAnswer);
  });
  const lines = createHouseLines(
    () => house.config,
    (load, running, isByAgent) => changeLoad(load, running, isByAgent ? findCause() : house.lineCause),
  );
  const house: House = {
    scenario,
    clock,
    networkChance: createChance(seed, 'network'),
    history,
    auditor,
    reference,
    network: { trouble: undefined },
    files,
    lines,
    broker,
    devices: createDevices(config, { broker, clock, seed }, (load, running, cause) =>
      changeLoad(load, running, cause === 'agent' ? findCause() : cause),
    ),
    config,
    lineCause: 'power',
    life: undefined,
    endedLife: undefined,
    lives: 0,
    onAnswer: undefined,
    commands: 0,
    machine: { ahead: 0, trusted: true, bootedAt: -60_000, boots: 1 },
    service,
    troubles: { lasting: new Map(), anyAt: Number.NEGATIVE_INFINITY, brokerAt: Number.NEGATIVE_INFINITY },
    serviceTime,
  };
  return house;
}

function createHouseBroker(
  clock: SimClock,
  { seed, brokerVersion }: Scenario,
  { auditor, history }: Pick<House, 'auditor' | 'history'>,
  onAnswer: () => void,
): ModelBroker {
  const broker = createModelBroker({
    clock,
    version: brokerVersion,
    latency: Math.round(createChance(seed, 'broker latency').spread(1, 40)),
    chance: createChance(seed, 'stalls'),
    onCredentials(credentials) {
      const isRight = credentials?.username === BROKER_LOGIN.username && credentials.password === BROKER_LOGIN.password;
      if (!isRight && credentials !== undefined)
        auditor.fail('secrets', `the broker was shown the login of ${credentials.username}`);
    },
  });
  broker.onMessage((topic, payload, isWill) => {
    history.count('messages');
    auditor.message(topic, payload, isWill);
    if (!topic.endsWith('/result')) return;
    history.note(`answer ${topic} ${payload}`);
    onAnswer();
  });
  return broker;
}

/** `onChange` is called when a load begins or ends to run by its lines. */
function createHouseLines(
  readConfig: () => Config,
  onChange: (load: string, running: boolean, isByAgent: boolean) => void,
): ModelLines {
  const wasRunning = new Map<string, boolean>();
  const isClosed = (line: number, activeLow: boolean): boolean => {
    const high = lines.level(line);
    return high !== undefined && high !== activeLow;
  };
  const isRunning = (output: Config['loads'][number]['output']): boolean => {
    if (output.kind === 'relay') return isClosed(output.pin, output.activeLow);
    if (output.kind !== 'sg-ready' || 'switches' in output) return false;
    const [a, b] = output.pins.map((pin) => isClosed(pin, output.activeLow));
    const state = Object.entries(CONTACTS).find(([, [inA, inB]]) => a === inA && b === inB)?.[0];
    return state === 'recommend' || state === 'force';
  };
  const lines = createModelLines((line, isByAgent) => {
    for (const { name, output } of readConfig().loads) {
      const isOwn = listOutputLines(output).includes(line);
      if (!isOwn || isRunning(output) === (wasRunning.get(name) ?? false)) continue;
      wasRunning.set(name, isRunning(output));
      onChange(name, isRunning(output), isByAgent);
    }
  });
  return lines;
}

function createDevices(
  { loads }: Config,
  { seed, ...parts }: { readonly broker: ModelBroker; readonly clock: SimClock; readonly seed: number },
  onChange: (load: string, running: boolean, cause: 'agent' | 'device' | 'person') => void,
): ReadonlyMap<string, ModelDevice> {
  const devices = new Map<string, ModelDevice>();
  for (const { name, output } of loads) {
    if (output.kind !== 'mqtt') continue;
    const runsByItself = createChance(seed, name).hits(0.5);
    const device = createModelDevice({
      ...parts,
      config: output,
      runsByItself,
      onChange: (running, cause) => onChange(name, running, cause),
    });
    devices.set(name, device);
  }
  return devices;
}

type History = ReturnType<typeof createHistory>;

/** What happened, line by line, as a digest, with its last lines and its counts. */
function createHistory(now: () => number, onLine: ((line: string) => void) | undefined) {
  const hash = createHash('sha256');
  const counts: Record<string, number> = {};
  const tail: string[] = [];
  const add = (name: string, n: number): void => {
    counts[name] = (counts[name] ?? 0) + n;
  };
  return {
    counts: counts as Readonly<Record<string, number>>,
    tail: tail as readonly string[],
    add,
    count: (name: string) => add(name, 1),
    note(what: string): void {
      const line = `${formatElapsed(now())} ${what}`;
      hash.update(`${line}\n`);
      tail.push(line);
      if (tail.length > 40) tail.shift();
      onLine?.(line);
    },
    digest: () => hash.digest('hex').slice(0, 16),
  };
}
