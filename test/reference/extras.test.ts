/** What clients ask beyond the specification is there when asked for, and only then. */

import { describe, expect, it } from 'vitest';
import { encodeQuery, type PlainService, startPlainService } from '../contract/plain-http.ts';

const MIX = `/v3/fuel-mix?${encodeQuery({ region: 'CAISO_NORTH', signal_type: 'marginal_fuel_mix', start: '2026-06-01T00:00Z', end: '2026-06-01T01:00Z' })}`;

async function withService(extras: boolean, run: (service: PlainService) => Promise<void>): Promise<void> {
  const service = await startPlainService({ extras });
  try {
    await run(service);
  } finally {
    await service.close();
  }
}

describe('the extras', () => {
  it('are off by default', () =>
    withService(false, async (service) => {
      expect((await service.get(MIX)).status).toBe(404);
      expect((await service.get('/v3/my-access?region=CAISO_NORTH')).text).not.toContain('marginal_fuel_mix');
    }));
  it('GET /v3/fuel-mix: shares by fuel that add up to 1', () =>
    withService(true, async (service) => {
      const { status, json } = await service.get(MIX);
      expect(status).toBe(200);
      expect(json.data).toHaveLength(13);
      for (const { values } of json.data) {
        const shares: number[] = values.map(({ value }: { value: number }) => value);
        expect(shares.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
        expect(Math.min(...shares)).toBeGreaterThanOrEqual(0);
      }
      expect(json.meta.signal_type).toBe('marginal_fuel_mix');
    }));
  it('is gated like history', () =>
    withService(true, async (service) => {
      expect((await service.get(MIX, 'free')).status).toBe(200);
      expect((await service.get(MIX.replace('CAISO_NORTH', 'PSCO'), 'free')).status).toBe(403);
      expect((await service.get(MIX.replace('end=', 'end=x'), 'pro')).status).toBe(400);
    }));
  it('my-access tells of it', () =>
    withService(true, async (service) => {
      const { json } = await service.get('/v3/my-access?signal_type=marginal_fuel_mix&region=PSCO');
      const [signal] = json.signal_types;
      expect(signal.regions[0].endpoints[0].endpoint).toBe('v3/fuel-mix');
    }));
});
