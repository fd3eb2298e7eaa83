/** Section 5, the last sentence: all access is over HTTPS; plain HTTP on loopback only. */

import { describe, expect, it } from 'vitest';
import { createReference } from '../../src/reference/reference.ts';
import { selfSigned } from '../doubles/certificate.ts';
import { ask, basic, NOW, PASSWORD, query } from './plain-http.ts';

const accounts = [{ username: 'pro', password: PASSWORD, plan: 'pro' as const }];

describe('5: HTTPS', () => {
  it('register, log in, forecast and v1 over TLS', async () => {
    const tls = selfSigned();
    const reference = await createReference({ seed: 7, clock: () => NOW, accounts, tls });
    const { url } = await reference.listen();
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const ca = tls.cert;
    const login = await ask(`${url}/login`, { headers: { authorization: basic('pro', PASSWORD) }, ca });
    const headers = { authorization: `Bearer ${JSON.parse(login.text).token}` };
    const moer = query({ region: 'CAISO_NORTH', signal_type: 'co2_moer' });
    const forecast = await ask(`${url}/v3/forecast?${moer}`, { headers, ca });
    expect(JSON.parse(forecast.text).data).toHaveLength(288);
    const visitor = await ask(`${url}/api/v1/datapoints/?ba=CAISO&page_size=1`, { ca });
    expect(JSON.parse(visitor.text).next).toMatch(/^https:/);
    await expect(ask(`${url}/login`)).rejects.toThrow(/self-signed/);
    await reference.close();
  });

  it.each(['0.0.0.0', '192.0.2.1', '::', 'example.org'])('%s without a certificate is refused', async (host) => {
    const reference = await createReference({ seed: 7, clock: () => NOW });
    await expect(reference.listen({ host })).rejects.toThrow(/not loopback/);
    await reference.close();
  });
});
