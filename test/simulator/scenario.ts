/** What a seed makes of a house: its loads, its account, its machine, and what will happen to it. */

import { type Chance, createChance } from './chance.ts';
import { drawIncidents, type Incident } from './incidents.ts';

export interface Scenario {
  readonly seed: number;
  readonly hours: number;
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly profile: 'specification' | 'published';
  readonly plan: 'free' | 'basic' | 'analyst' | 'pro';
  readonly budgetKw: number | undefined;
  readonly hasBootId: boolean;
  readonly hasScratch: boolean;
  readonly watchdogSeconds: number | undefined;
  readonly brokerVersion: 4 | 5;
  /** Longest time of one act on the disk; 0: none. */
  readonly diskMs: number;
  /** Of the `loads` section, one a load. */
  readonly loads: readonly LoadDraft[];
  readonly incidents: readonly Incident[];
}

export interface LoadDraft {
  readonly name: string;
  readonly yaml: string;
  /** Of thresholds, which a change of the configuration moves. */
  readonly onBelow: number;
}

const RELAY_PINS = [22, 24, 5, 6];
const DEVICES: readonly (readonly [preset: string, topic: string])[] = [
  ['openevse', 'openevse-1a2b'],
  ['openevse-claim', 'openevse-1a2b'],
  ['go-e', 'go-eCharger/123456'],
  ['tasmota', 'heater'],
  ['shelly-gen1', 'shellies/shelly1-98F4'],
  ['shelly-gen2', 'shellyplus1-a8032a'],
  ['zigbee2mqtt', 'zigbee2mqtt/heater'],
  ['esphome', 'heater-node/switch/relay'],
  ['evcc', 'evcc/loadpoints/1'],
  ['warp', 'warp/Abc'],
];

const pad = (n: number) => String(n).padStart(2, '0');

function drawGoal(chance: Chance): string {
  const by = chance.whole(5, 22);
  const from = (by + 24 - chance.whole(8, 14)) % 24;
  const need = chance.pick(['2h', '3h', '4h']);
  if (chance.hits(0.25)) return `goal: {need: ${need}, armedBy: command}`;
  return `goal: {need: ${need}, by: "${pad(by)}:00"${chance.hits(0.6) ? `, from: "${pad(from)}:00"` : ''}}`;
}

function drawLimits(chance: Chance): string {
  const failSafe = chance.pick(['on', 'off', 'off']);
  const minOn = chance.pick([0, 5, 15, 30]);
  return [
    `minOn: ${minOn}m`,
    `minOff: ${chance.pick([0, 5, 15, 30])}m`,
    `maxStartsPerHour: ${chance.whole(1, 6)}`,
    `maxStartsPerDay: ${chance.pick([3, 6, 12, 24])}`,
    `failSafe: ${failSafe}`,
    'initialLevel: off',
    `onStop: ${chance.pick(['failsafe', 'hold'])}`,
    ...(chance.hits(0.3) ? ['window: "01:00-05:00"'] : []),
    ...(minOn > 0 && chance.hits(0.2) ? ['maxOff: 20h'] : []),
  ].join(', ');
}

function drawLoad(chance: Chance, n: number): LoadDraft {
  const onBelow = chance.whole(20, 60);
  const name = `load${n}`;
  const power = `powerKw: ${chance.pick([1, 2, 3, 7.2])}`;
  if (n === 0 && chance.hits(0.4)) {
    const extras = chance.hits(0.5) ? ', blockAbove: 85, forceBelow: 8' : '';
    const goal = chance.hits(0.3) ? `, ${drawGoal(chance)}` : '';
    const output = `output: {kind: sg-ready, pins: [17, 27], activeLow: ${chance.hits(0.5)}}`;
    return { name, onBelow, yaml: `type: heat-pump, ${power}${extras}${goal}, ${output}` };
  }
  const goal = chance.hits(0.5) ? `, ${drawGoal(chance)}` : '';
  const type = chance.pick(['ev', 'tank', 'generic']);
  const isDevice = chance.hits(0.45);
  const [preset, topic] = chance.pick(DEVICES);
  const output = isDevice
    ? `output: {kind: mqtt, preset: ${preset}, topic: ${topic.replace(/(\/|$)/, `${n}$1`)}}`
    : `output: {kind: relay, pin: ${RELAY_PINS[n % RELAY_PINS.length]}, activeLow: ${chance.hits(0.5)}}`;
  return { name, onBelow, yaml: `type: ${type}, ${power}, ${drawLimits(chance)}${goal}, ${output}` };
}

/** The scenario of a seed over so many hours. */
export function drawScenario(seed: number, hours: number): Scenario {
  const chance = createChance(seed, 'house');
  const loads = Array.from({ length: chance.whole(1, 4) }, (_, n) => drawLoad(chance, n));
  return {
    seed,
    hours,
    start: Date.parse('2026-01-01T00:00:00Z') + chance.whole(0, 365 * 24 * 60) * 60_000,
    profile: chance.pick(['specification', 'published']),
    plan: chance.pick(['free', 'basic', 'analyst', 'pro']),
    budgetKw: chance.hits(0.4) ? chance.pick([7.2, 8, 10.2]) : undefined,
    hasBootId: chance.hits(0.8),
    hasScratch: chance.hits(0.8),
    watchdogSeconds: chance.hits(0.15) ? 30 : undefined,
    brokerVersion: chance.pick([4, 5]),
    diskMs: chance.pick([0, 0, 20, 20, 400]),
    loads,
    incidents: drawIncidents(seed, hours),
  };
}

/** The configuration as its owner wrote it, or with other thresholds. */
export function formatConfiguration({ loads, budgetKw }: Scenario, variant: number): string {
  const shift = [0, 15, -10, 25][variant] ?? 0;
  const rows = loads.map(({ name, yaml, onBelow }) => {
    // With `offAbove` no higher than the `blockAbove` of a heat pump.
    const limit = Math.min(75, Math.max(5, onBelow + shift));
    return `  ${name}: {${yaml}, onBelow: ${limit}, offAbove: ${limit + 10}}`;
  });
  return `
device: house
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "https://service.invalid", usernameFile: /etc/gridtide/username, passwordFile: /etc/gridtide/password}
mqtt: {url: "mqtt://127.0.0.1", usernameFile: /etc/gridtide/mqtt/username, passwordFile: /etc/gridtide/mqtt/password}
${budgetKw === undefined ? '' : `budgetKw: ${budgetKw}\n`}loads:
${rows.join('\n')}
`;
}
