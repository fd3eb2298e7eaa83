/** The signed message of a relay: what goes in comes out, and every altered, foreign, old or future one is refused with its cause. */

import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { addDuration, days, type Instant, minutes, type Percentile } from '../../src/domain/units.ts';
import {
  decodeRelayMessage,
  encodeRelayMessage,
  type RelayedSignal,
  type SignalKind,
} from '../../src/relay/relay-message.ts';
import {
  createSigningKey,
  formatPublicKey,
  parsePublicKey,
  parseSigningKey,
  signBytes,
} from '../../src/relay/signing-key.ts';
import type { Forecast, History, LiveIndex } from '../../src/service/api/response-types.ts';

const NOW = Date.parse('2026-03-02T20:01:00Z') as Instant;
const at = (minute: number) => addDuration(NOW, minutes(minute - 1));
const query = { region: 'CAISO_NORTH', signalType: 'co2_moer' };
const readKey = (pem = createSigningKey()) => {
  const key = parseSigningKey(pem);
  if (key === undefined) throw new Error('no key');
  return key;
};
const key = readKey();
const keys = [parsePublicKey(formatPublicKey(key))];

const common = {
  ...query,
  period: minutes(5),
  warnings: [],
  refusedPoints: 0,
  model: '2024-01-01',
  modelType: 'binned',
};
const points = (length: number) =>
  Array.from({ length }, (_, i) => ({ at: at(i * 5), value: 400 + ((i * 37) % 211) / 10 })).filter((_, i) => i !== 3);
const forecast: Forecast = {
  ...common,
  units: 'lbs_co2_per_mwh',
  generatedAt: at(0),
  generatedPeriod: minutes(5),
  points: points(864),
};
const index: LiveIndex = { ...common, units: 'percentile', point: { at: at(0), value: 42 as Percentile } };
const history: History = {
  ...common,
  units: 'lbs_co2_per_mwh',
  points: points(2304).map((point, i) => (i === 7 ? { ...point, imputed: true } : point)),
};
const signalOf = <Kind extends SignalKind>(answer: RelayedSignal<Kind>['answer']): RelayedSignal<Kind> => ({
  answer,
  issuedAt: at(0),
  validUntil: at(15),
});
const message = encodeRelayMessage('forecast', signalOf<'forecast'>(forecast), key);
const open = (payload: Uint8Array, change: Partial<Parameters<typeof decodeRelayMessage<'forecast'>>[1]> = {}) =>
  decodeRelayMessage(payload, { kind: 'forecast', query, keys, now: NOW, ...change });

describe('a signed signal', () => {
  it.each([
    ['forecast', forecast, 6_000],
    ['index', index, 500],
    ['history', history, 16_000],
  ] as const)('%s: comes out as it went in, and is small', (kind, answer, most) => {
    const bytes = encodeRelayMessage(kind, signalOf(answer), key);
    expect(decodeRelayMessage(bytes, { kind, query, keys, now: NOW })).toEqual({ ok: true, signal: signalOf(answer) });
    expect(bytes.length).toBeLessThan(most);
  });

  it('is read with either key while keys are being replaced', () => {
    const next = readKey();
    const both = [...keys, parsePublicKey(formatPublicKey(next))];
    for (const signer of [key, next])
      expect(open(encodeRelayMessage('forecast', signalOf<'forecast'>(forecast), signer), { keys: both }).ok).toBe(
        true,
      );
  });
});

/** As a holder of the key would sign anything else. */
function signText(text: string | Uint8Array): Uint8Array {
  const magic = message.subarray(0, 8);
  const packed = deflateRawSync(text);
  return Buffer.concat([magic, signBytes(Buffer.concat([magic, packed]), key), packed]);
}
const flip = (bytes: Uint8Array, n: number) => bytes.map((byte, i) => (i === n ? byte ^ 1 : byte));
const encodeForecast = (change: Partial<Forecast>, frame: Partial<RelayedSignal<'forecast'>> = {}) =>
  encodeRelayMessage('forecast', { ...signalOf<'forecast'>({ ...forecast, ...change }), ...frame }, key);

describe('a message that is refused', () => {
  const body = { kind: 'forecast', issuedAt: '2026-03-02T20:00:00Z', validUntil: '2026-03-02T20:15:00Z' };
  const meta = { ...query, signal_type: 'co2_moer', units: 'lbs_co2_per_mwh', data_point_period_seconds: 300 };
  const wholeBody = { ...body, from: body.issuedAt, values: [1, 2], meta };
  //  what it is                          message                                                          cause
  const rows: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['text', new TextEncoder().encode('{"forecast": []}'), /is no signed signal/],
    ['cut after the name', message.subarray(0, 40), /is no signed signal/],
    ['cut short', message.subarray(0, -1), /not signed with the key/],
    ['altered in its signature', flip(message, 20), /not signed with the key/],
    ['altered in its body', flip(message, message.length - 1), /not signed with the key/],
    [
      'signed with another key',
      encodeRelayMessage('forecast', signalOf<'forecast'>(forecast), readKey()),
      /not signed with the key/,
    ],
    ['huge', new Uint8Array(60_000), /has 60000 bytes; expected at most 49152/],
    ['huge once inflated', signText(new Uint8Array(20_000_000)), /is signed and cannot be read/],
    ['no JSON', signText('{'), /is signed and cannot be read/],
    ['of another form', signText(JSON.stringify({ ...wholeBody, values: ['1'] })), /has another form/],
    [
      'without a region',
      signText(JSON.stringify({ ...wholeBody, meta: { ...meta, region: undefined } })),
      /has another form/,
    ],
    [
      'with a period beyond all dates',
      signText(JSON.stringify({ ...wholeBody, meta: { ...meta, data_point_period_seconds: 1e15 } })),
      /has another form/,
    ],
    [
      'an index',
      encodeRelayMessage('index', signalOf<'index'>(index), key),
      /holds the index of a region; expected its forecast/,
    ],
    ['of another region', encodeForecast({ region: 'PSCO' }), /is of region PSCO; expected CAISO_NORTH/],
    ['of another signal', encodeForecast({ signalType: 'co2_aoer' }), /meta.signal_type co2_aoer; expected co2_moer/],
    ['in percent', encodeForecast({ units: 'percentile' }), /meta.units percentile; expected lbs_co2_per_mwh/],
    ['stale', encodeForecast({}, { validUntil: NOW }), /was valid until 2026-03-02T20:01:00/],
    [
      'of the future',
      encodeForecast({}, { issuedAt: at(7), validUntil: at(30) }),
      /was issued at .*, after the time of this machine/,
    ],
  ];
  it.each(rows)('%s', (_, payload, cause) => {
    const opened = open(payload);
    expect(opened.ok ? 'accepted' : opened.problem).toMatch(cause);
  });

  it('any single bit changed, and any end cut off', () => {
    for (let n = 0; n < message.length; n += 13) {
      expect(open(flip(message, n)).ok).toBe(false);
      expect(open(message.subarray(0, n)).ok).toBe(false);
    }
  });

  it('a stray point years ahead makes no message of years', () => {
    const far = { ...forecast, points: [...forecast.points, { at: addDuration(NOW, days(4_000)), value: 1 }] };
    expect(encodeRelayMessage('forecast', signalOf<'forecast'>(far), key).length).toBeLessThan(6_000);
  });
});
