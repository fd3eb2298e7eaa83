/** What a profile sets, and what its owner sets apart from it; the rest of both profiles is the contract suite's. */

import { describe, expect, it } from 'vitest';
import type { AuthErrors, ProfileName } from '../../src/reference/http/profile.ts';
import { encodeQuery, sendPlainRequest, startPlainService } from '../contract/plain-http.ts';

const MIX = `/v3/fuel-mix?${encodeQuery({ region: 'PSCO', start: '2026-06-01T00:00Z', end: '2026-06-01T00:00Z' })}`;
const GATED = '/v3/maps?signal_type=co2_moer';

describe('what the owner sets apart from the profile', () => {
  //  profile        authErrors   401 is   403 of a gate is
  const rows: readonly (readonly [ProfileName, AuthErrors | undefined, RegExp, RegExp])[] = [
    ['specification', undefined, /json/, /json/],
    ['specification', 'html', /html/, /json/],
    ['published', undefined, /html/, /html/],
    ['published', 'json', /json/, /json/],
  ];
  it.each(rows)('%s, --auth-errors %s', async (profile, authErrors, unauthorised, gated) => {
    const service = await startPlainService({ profile, ...(authErrors === undefined ? {} : { authErrors }) });
    const refused = await sendPlainRequest(service.url + GATED);
    expect([refused.status, refused.headers['content-type']]).toEqual([401, expect.stringMatching(unauthorised)]);
    const gate = await service.get(GATED, 'free');
    expect([gate.status, gate.headers['content-type']]).toEqual([403, expect.stringMatching(gated)]);
    await service.close();
  });
});

describe('the fuel mix', () => {
  //  profile        units                            fuels
  it.each([
    ['specification', 'share_of_marginal_generation', ['coal', 'natural_gas', 'curtailed_renewables']],
    ['published', 'proportion', ['coal', 'gas', 'curtailed_renewables']],
  ] as const)('of %s is in %s', async (profile, units, fuels) => {
    const service = await startPlainService({ profile, extras: true });
    const { json } = await service.get(MIX);
    expect(json.meta.units).toBe(units);
    expect(json.data[0].values.map(({ fuel_type }: { fuel_type: string }) => fuel_type)).toEqual(fuels);
    const access = await service.get('/v3/my-access?region=PSCO');
    expect(access.text.includes('fuel-mix')).toBe(profile === 'specification');
    await service.close();
  });
});

describe('faults that write a time', () => {
  it.each([
    ['older-generated-at', '/v3/forecast?signal_type=co2_moer&region=PSCO'],
    ['map-border', '/v3/maps?signal_type=co2_aoer'],
  ] as const)('%s ends it as the profile does', async (fault, path) => {
    const service = await startPlainService({ profile: 'published', faults: [{ fault }] });
    const { generated_at, last_updated } = (await service.get(path)).json.meta;
    expect(generated_at ?? last_updated).toMatch(/:00Z$/);
    await service.close();
  });
});
