/** Section 5, the last sentence: all access is over HTTPS; plain HTTP on loopback only. */

import { describe, expect, it } from 'vitest';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { createCertificate } from '../doubles/certificate.ts';
import { basicAuthorization, encodeQuery, NOW, PASSWORD, sendPlainRequest } from './plain-http.ts';

const accounts = [{ username: 'pro', password: PASSWORD, plan: 'pro' as const }];

describe('5: HTTPS', () => {
  it('register, log in, forecast and v1 over TLS', async () => {
    const tls = createCertificate();
    const reference = await createReferenceService({ seed: 7, clock: () => NOW, accounts, tls });
    const { url } = await reference.listen();
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const ca = tls.cert;
    const login = await sendPlainRequest(`${url}/login`, {
      headers: { authorization: basicAuthorization('pro', PASSWORD) },
      ca,
    });
    const headers = { authorization: `Bearer ${JSON.parse(login.text).token}` };
    const moer = encodeQuery({ region: 'CAISO_NORTH', signal_type: 'co2_moer' });
    const forecast = await sendPlainRequest(`${url}/v3/forecast?${moer}`, { headers, ca });
    expect(JSON.parse(forecast.text).data).toHaveLength(288);
    const visitor = await sendPlainRequest(`${url}/api/v1/datapoints/?ba=CAISO&page_size=1`, { ca });
    expect(JSON.parse(visitor.text).next).toMatch(/^https:/);
    await expect(sendPlainRequest(`${url}/login`)).rejects.toThrow(/self-signed/);
    await reference.close();
  });

  it.each(['0.0.0.0', '192.0.2.1', '::', 'example.org'])('%s without a certificate is refused', async (host) => {
    const reference = await createReferenceService({ seed: 7, clock: () => NOW });
    await expect(reference.listen({ host })).rejects.toThrow(/not loopback/);
    await reference.close();
  });
});
