/** All agents of a broker at a glance: reads their retained documents into one row each. */

import { toSafeText } from '../domain/text-format.ts';
import type { ParsedTopic } from './topics.ts';

export interface FleetRow {
  readonly device: string;
  readonly online: boolean;
  readonly version: string;
  readonly region: string;
  readonly basis: string;
  /** The problems of the agent in words; empty when there are none. */
  readonly problem: string;
  /** ISO time of the newest document that carries one; empty before the first. */
  readonly lastSeen: string;
  /** Names of the loads that run. */
  readonly running: readonly string[];
  readonly energyTodayKwh: number | null;
  readonly savedTodayKg: number | null;
}

interface Device {
  online: boolean;
  version: string;
  region: string;
  basis: string;
  problem: string;
  lastSeen: string;
  energyTodayKwh: number | null;
  savedTodayKg: number | null;
  /** By load: whether it runs. */
  readonly loads: Map<string, boolean>;
}

/** Longest text of a document that is kept: one hostile agent must not fill the memory of who watches all. */
const MAX_TEXT = 200;
const MAX_LOADS = 64;

const createDevice = (): Device => ({
  online: false,
  version: '',
  region: '',
  basis: '',
  problem: '',
  lastSeen: '',
  energyTodayKwh: null,
  savedTodayKg: null,
  loads: new Map(),
});

type Fields = Readonly<Record<string, unknown>>;

/** The document as an object; undefined when the text is none. */
function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Any house writes its texts: none of them may command the reader's terminal. */
const clean = (text: string) => toSafeText(text.slice(0, MAX_TEXT), MAX_TEXT);
const readText = (fields: Fields, name: string) => {
  const value = fields[name];
  return typeof value === 'string' ? clean(value) : '';
};
const readNumber = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null);

function applyHealth(device: Device, fields: Fields): void {
  device.basis = readText(fields, 'basis');
  device.problem = readText(fields, 'problem');
  device.region = readText(fields, 'region') || device.region;
}

function applyInfo(device: Device, fields: Fields): void {
  device.version = readText(fields, 'version');
  device.region = readText(fields, 'region') || device.region;
}

function applyTotals(device: Device, fields: Fields): void {
  const today = fields.today as Fields | undefined;
  device.energyTodayKwh = readNumber(today?.energyKwh);
  device.savedTodayKg = readNumber(today?.savedKg);
}

function applyLoad(device: Device, load: string, fields: Fields): void {
  if (load.length > MAX_TEXT) return;
  if (device.loads.has(load) || device.loads.size < MAX_LOADS) device.loads.set(load, fields.running === true);
}

export interface FleetView {
  /** An empty text erases what the topic held. Text that is no document of the tree changes nothing. */
  apply(topic: ParsedTopic, text: string): void;
  /** Those that need a look first: offline, then with a problem, then by name. */
  rows(): FleetRow[];
}

export function createFleetView(): FleetView {
  const devices = new Map<string, Device>();

  function applyDocument({ device: name, topic, load }: ParsedTopic, fields: Fields): void {
    const device = devices.get(name) ?? createDevice();
    devices.set(name, device);
    const time = readText(fields, 'time');
    if (time > device.lastSeen) device.lastSeen = time;
    if (topic === 'health') applyHealth(device, fields);
    else if (topic === 'info') applyInfo(device, fields);
    else if (topic === 'totals') applyTotals(device, fields);
    else if (topic === 'load') applyLoad(device, load, fields);
  }

  function erase({ device, topic, load }: ParsedTopic): void {
    if (topic === 'load') devices.get(device)?.loads.delete(load);
    else if (topic === 'availability') devices.delete(device);
  }

  return {
    apply(topic, text) {
      if (text === '') return erase(topic);
      if (topic.topic === 'availability') {
        const device = devices.get(topic.device) ?? createDevice();
        device.online = text === 'online';
        devices.set(topic.device, device);
        return;
      }
      const fields = parseFields(text);
      if (fields !== undefined) applyDocument(topic, fields);
    },
    rows: () =>
      [...devices]
        .map(([device, { loads, ...rest }]) => ({ device: clean(device), ...rest, running: listRunning(loads) }))
        .sort(compareRows),
  };
}

const listRunning = (loads: ReadonlyMap<string, boolean>) =>
  [...loads].filter(([, runs]) => runs).map(([name]) => clean(name));

const rankUrgency = ({ online, problem }: FleetRow) => (!online ? 0 : problem !== '' ? 1 : 2);

function compareRows(a: FleetRow, b: FleetRow): number {
  return rankUrgency(a) - rankUrgency(b) || (a.device < b.device ? -1 : 1);
}
