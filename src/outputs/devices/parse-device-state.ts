/** Reads a device's level from a message on its state topic. */

import type { Level, MqttOutputConfig } from '../../domain/load-types.ts';

/** A state longer than this is no state of a switch. */
const MAX_STATE_BYTES = 16_384;

type StateOptions = Pick<MqttOutputConfig, 'onPayload' | 'offPayload' | 'statePath' | 'stateOn' | 'stateOff'>;

/** `on` or `off`; undefined for any other payload. */
export function parseDeviceState(payload: Uint8Array, options: StateOptions): Level | undefined {
  if (payload.byteLength > MAX_STATE_BYTES) return undefined;
  const text = new TextDecoder().decode(payload).trim();
  const value = options.statePath === undefined ? text : readValueAtPath(text, options.statePath);
  if (value === undefined) return undefined;
  if (value === (options.stateOn ?? options.onPayload).trim()) return 'on';
  if (value === (options.stateOff ?? options.offPayload).trim()) return 'off';
  return undefined;
}

/** The value at a dotted path as text; undefined for no JSON, no such key, or something that is no plain value. */
function readValueAtPath(text: string, path: string): string | undefined {
  let node: unknown;
  try {
    node = JSON.parse(text);
  } catch {
    return undefined;
  }
  for (const key of path.split('.')) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Readonly<Record<string, unknown>>)[key];
  }
  const plain = typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean';
  return plain ? `${node}` : undefined;
}
