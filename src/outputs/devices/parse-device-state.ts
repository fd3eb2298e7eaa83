/** Reads what a device reports on its topics: its state, its availability, a value of its meter. */

import type { DeviceAvailability, JsonNumber, MqttOutputConfig } from '../../domain/load-types.ts';
import type { DeviceReading } from '../output.ts';

/** A state longer than this is no state of a switch. */
const MAX_STATE_BYTES = 16_384;

type StateOptions = Pick<MqttOutputConfig, 'onPayload' | 'offPayload' | 'statePath' | 'stateOn' | 'stateOff'>;

/** `other` for any value that is neither on nor off; undefined when the payload has no value. */
export function parseDeviceState(payload: Uint8Array, options: StateOptions): DeviceReading | undefined {
  const { onPayload, offPayload, statePath, stateOn = onPayload, stateOff = offPayload } = options;
  const value = readValue(payload, statePath);
  if (value === undefined || value === '') return undefined;
  if (value === stateOn.trim()) return 'on';
  return value === stateOff.trim() ? 'off' : 'other';
}

/** Whether the device reports itself online; undefined when the payload is neither. */
export function parseAvailability(
  payload: Uint8Array,
  { path, online, offline }: DeviceAvailability,
): boolean | undefined {
  const isJson = path !== undefined && payload[0] === '{'.charCodeAt(0);
  const value = readValue(payload, isJson ? path : undefined);
  if (value === online) return true;
  return value === offline ? false : undefined;
}

/** The text, or the value at a dotted path into its JSON as text; undefined for anything that is no plain value. */
export function readValue(payload: Uint8Array, path: string | undefined): string | undefined {
  if (payload.byteLength > MAX_STATE_BYTES) return undefined;
  const text = new TextDecoder().decode(payload).trim();
  if (path === undefined) return text;
  let node: unknown;
  try {
    node = JSON.parse(text);
  } catch {
    return undefined;
  }
  // Without a claimant the whole claim is `null`.
  for (const key of node === null ? [] : path.split('.')) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Readonly<Record<string, unknown>>)[key];
  }
  const isPlain = node === null || typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean';
  return isPlain ? `${node}` : undefined;
}

/** Finite and not below zero: a car that feeds in is not a load that draws. */
export function readNumber(payload: Uint8Array, { path, scale }: JsonNumber): number | undefined {
  return parseQuantity(readValue(payload, path), scale);
}

export function parseQuantity(text: string | undefined, scale: number): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value * scale : undefined;
}
