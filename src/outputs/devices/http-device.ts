/** A device behind addresses of its own: one request for each level, and one that reads its state. */

import { hasRelease } from '../../domain/levels.ts';
import type { HttpOutputConfig, HttpState } from '../../domain/load-types.ts';
import { seconds } from '../../domain/units.ts';
import { buildMeterReading, isOutputFailure } from '../output.ts';
import { createDeviceHttp, type DeviceHttpParts } from './device-http.ts';
import { parseDeviceState, readNumber } from './parse-device-state.ts';
import type { PolledDevice, PolledState } from './polled-device.ts';

const DEADLINE = seconds(10);
const CONFIRM_TIMEOUT = seconds(5);

export function createHttpDevice(
  config: HttpOutputConfig,
  parts: Pick<DeviceHttpParts, 'http' | 'secrets' | 'clock'>,
): PolledDevice {
  const { headers, tokenHeader, state } = config;
  const http = createDeviceHttp({
    ...parts,
    access: config,
    deadline: DEADLINE,
    headers,
    tokenHeader,
  });
  return {
    canRelease: hasRelease(config),
    stateSource: state === undefined ? '' : new URL(state.url).origin,
    confirmTimeout: CONFIRM_TIMEOUT,
    async send({ level }, signal) {
      const call = level === undefined ? config.release : level === 'on' ? config.on : config.off;
      if (call === undefined) return undefined;
      const answer = await http.request(call, signal);
      return isOutputFailure(answer) ? answer : undefined;
    },
    ...(state === undefined
      ? {}
      : {
          async read(signal) {
            const answer = await http.request({ method: 'GET', url: state.url }, signal);
            return isOutputFailure(answer) ? answer : parseState(answer, state);
          },
        }),
  };
}

function parseState(body: Uint8Array, { url, path, on, off, power, energy }: HttpState) {
  const options = { onPayload: on, offPayload: off, ...(path === undefined ? {} : { statePath: path }) };
  const reading = parseDeviceState(body, options);
  if (reading === undefined)
    return {
      kind: 'io' as const,
      detail: `the answer of ${new URL(url).origin} has no value at ${path ?? 'its beginning'}: correct state.path, or state.url`,
    };
  const [powerKw, energyKwh] = [power && readNumber(body, power), energy && readNumber(body, energy)];
  return { reading, available: true, meter: buildMeterReading(powerKw, energyKwh) } satisfies PolledState;
}
