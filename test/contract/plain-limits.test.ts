/** Section 8 by plain HTTP: the request and login windows to the exact count; what an answer weighs. */

import { describe, expect, it } from 'vitest';
import {
  basicAuthorization,
  encodeQuery,
  NOW,
  PASSWORD,
  type PlainService,
  sendPlainRequest,
  startPlainService,
} from './plain-http.ts';
import { isPublished } from './profile-under-test.ts';

const MINUTE = 60_000;

async function withService(run: (service: PlainService) => Promise<void>): Promise<void> {
  const service = await startPlainService();
  try {
    await run(service);
  } finally {
    await service.close();
  }
}

describe('8: the rolling windows', () => {
  it('3,000 requests in 5 minutes, then 429 with the wait, a user apart from another', () =>
    withService(async (service) => {
      const index = () => service.get('/v3/signal-index?region=PSCO&signal_type=co2_moer', 'free');
      const first = await index();
      expect(first.status).toBe(200);
      service.setTime(NOW + MINUTE);
      for (let sent = 1; sent < 3_000; sent += 50) {
        const batch = await Promise.all(Array.from({ length: Math.min(50, 3_000 - sent) }, index));
        expect(batch.every(({ status }) => status === 200)).toBe(true);
      }
      const refused = await index();
      expect(refused.status).toBe(429);
      expect(refused.headers['retry-after']).toBe('240');
      expect(Object.keys(refused.json).sort()).toEqual(['docs', 'error', 'message']);
      expect((await service.get('/v3/my-access?region=PSCO', 'basic')).status).toBe(200);

      // The first of them leaves the window; exactly one place is free.
      service.setTime(NOW + 5 * MINUTE);
      expect((await index()).status).toBe(200);
      expect((await index()).status).toBe(429);
      service.setTime(NOW + 6 * MINUTE);
      expect((await index()).status).toBe(200);
    }));

  it('100 logins in 5 minutes, good and bad ones alike', () =>
    withService(async (service) => {
      const login = (password: string) =>
        sendPlainRequest(`${service.url}/login`, { headers: { authorization: basicAuthorization('free', password) } });
      for (let sent = 0; sent < 100; sent += 20) {
        const batch = await Promise.all(
          Array.from({ length: 20 }, (_, i) => login(i === 0 ? 'wrong-pass1' : PASSWORD)),
        );
        expect(batch.map(({ status }) => status).filter((status) => status === 429)).toEqual([]);
      }
      const refused = await login(PASSWORD);
      expect(refused.status).toBe(429);
      expect(refused.headers['retry-after']).toBe('300');
      service.setTime(NOW + 5 * MINUTE);
      expect((await login(PASSWORD)).status).toBe(200);
    }));
});

describe('the weight of answers', () => {
  it('gzip for who asks, plain for who does not', () =>
    withService(async (service) => {
      const authorization = `Bearer ${await service.login('pro')}`;
      const url = `${service.url}/v3/forecast?${encodeQuery({ region: 'PSCO', signal_type: 'co2_moer' })}`;
      const plain = await sendPlainRequest(url, { headers: { authorization } });
      const zipped = await sendPlainRequest(url, { headers: { authorization, 'accept-encoding': 'gzip' } });
      expect(zipped.text).toBe(plain.text);
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(zipped.headers['content-encoding']).toBe('gzip');
      expect(zipped.bytes * 4).toBeLessThan(plain.bytes);
      const refused = await sendPlainRequest(url, { headers: { authorization, 'accept-encoding': 'gzip;q=0' } });
      expect(refused.headers['content-encoding']).toBeUndefined();
      const weighed = await sendPlainRequest(url, {
        headers: { authorization, 'accept-encoding': 'gzip;q=1.0, identity;q=0.50' },
      });
      expect(weighed.headers['content-encoding']).toBe('gzip');
    }));

  //  what is too long        status   request
  it.each([
    ['a body', 413, { path: '/register', method: 'POST', body: 'x'.repeat(65_537) }],
    ['an address', 414, { path: `/v3/forecast?region=${'x'.repeat(8_192)}` }],
  ])('%s is %s, in JSON and with its id', (_, status, { path, ...request }) =>
    withService(async (service) => {
      const reply = await sendPlainRequest(service.url + path, request);
      expect(reply.status).toBe(status);
      expect(Object.keys(JSON.parse(reply.text))).toEqual(['error', 'message', 'docs']);
      if (!isPublished) expect(reply.headers['x-request-id']).toMatch(/./);
    }),
  );

  it('a stream is the same zipped', () =>
    withService(async (service) => {
      const authorization = `Bearer ${await service.login('pro')}`;
      const range = { start: '2026-05-01T00:00Z', end: '2026-05-08T00:00Z' };
      const url = `${service.url}/v3/historical?${encodeQuery({ region: 'PSCO', signal_type: 'co2_moer', ...range })}`;
      const plain = await sendPlainRequest(url, { headers: { authorization } });
      const zipped = await sendPlainRequest(url, { headers: { authorization, 'accept-encoding': 'gzip' } });
      expect(zipped.text).toBe(plain.text);
      expect(zipped.bytes * 4).toBeLessThan(plain.bytes);
    }));
});
