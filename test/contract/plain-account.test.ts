/** Sections 2.1 to 2.3, 4.1, 5 and 7 by plain HTTP: registering, logging in, the token's 30 minutes, both styles of refusal. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  basicAuthorization,
  expectGate,
  expectUnauthorised,
  NOW,
  PASSWORD,
  type PlainService,
  sendPlainRequest,
  startPlainService,
} from './plain-http.ts';
import { isPublished } from './profile-under-test.ts';

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
afterAll(() => service.close());

const register = (body: unknown) =>
  sendPlainRequest(`${service.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const person = { username: 'home', password: 'long-enough1', email: 'home@example.org' };

describe('4.1 POST /register', () => {
  it('2.2: answers ok and the user name', async () => {
    const reply = await register({ ...person, org: null });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text)).toEqual({ ok: 'User created', user: 'home' });
  });
  it('says that a name is taken: 400 {error}', async () => {
    const reply = await register({ ...person, username: 'free' });
    expect(reply.status).toBe(400);
    const error = isPublished ? 'That username is taken. Please choose another.' : 'The username free is taken.';
    expect(JSON.parse(reply.text)).toEqual({ error });
  });

  //  what is wrong              body                                       field        words
  const rows: readonly (readonly [string, unknown, string | undefined, string])[] = [
    ['no username', { ...person, username: undefined }, 'username', 'field required'],
    ['no password', { ...person, password: undefined }, 'password', 'field required'],
    ['no email', { ...person, email: undefined }, 'email', 'field required'],
    ['7 characters', { ...person, password: 'abc-123' }, 'password', 'at least 8'],
    ['no letter', { ...person, password: '1234567-' }, 'password', 'alphabetic'],
    ['no digit', { ...person, password: 'abcdefg-' }, 'password', 'numeric'],
    ['no special character', { ...person, password: 'abcdefg1' }, 'password', 'special'],
    ['not an address', { ...person, email: 'nobody' }, 'email', 'e-mail'],
    ['a number for a name', { ...person, username: 5 }, 'username', 'text'],
    ['a colon in the name', { ...person, username: 'a:b' }, 'username', 'colon'],
    ['two lines of a name', { ...person, username: 'a\nb' }, 'username', 'control character'],
    ['not JSON', '{', undefined, 'JSON'],
    ['a list', [], undefined, 'JSON'],
  ];
  it.each(rows)('2.1: %s is 422 {detail}', async (_, body, field, words) => {
    const reply = await register(body);
    expect(reply.status).toBe(422);
    const { error, detail } = JSON.parse(reply.text);
    const [first] = detail;
    expect(error?.includes(words)).toBe(isPublished ? true : undefined);
    expect(first.loc).toEqual(field === undefined ? ['body'] : ['body', field]);
    expect(first.msg).toContain(words);
  });
  it('does not accept a query string', async () => {
    const fields = new URLSearchParams({ ...person, username: 'query' });
    expect((await sendPlainRequest(`${service.url}/register?${fields}`, { method: 'POST' })).status).toBe(422);
  });
  it('takes a special character that is no ASCII letter or digit', async () => {
    expect((await register({ ...person, username: 'umlaut', password: 'abcdefg1ü' })).status).toBe(200);
  });
  it('makes a free account, which logs in', async () => {
    await register({ ...person, username: 'fresh' });
    const reply = await sendPlainRequest(`${service.url}/login`, {
      headers: { authorization: basicAuthorization('fresh', person.password) },
    });
    expect(reply.status).toBe(200);
    const { token } = JSON.parse(reply.text);
    const headers = { authorization: `Bearer ${token}` };
    const forecast = (region: string) =>
      sendPlainRequest(`${service.url}/v3/forecast?region=${region}&signal_type=co2_moer`, { headers });
    expect((await forecast('CAISO_NORTH')).status).toBe(200);
    expect((await forecast('PSCO')).status).toBe(403);
  });
});

describe('4.1 GET /login', () => {
  const login = (authorization?: string) =>
    sendPlainRequest(`${service.url}/login`, { headers: authorization === undefined ? {} : { authorization } });
  it('2.3: answers a token', async () => {
    const reply = await login(basicAuthorization('pro', PASSWORD));
    expect(reply.status).toBe(200);
    expect(Object.keys(JSON.parse(reply.text))).toEqual(['token']);
  });
  it.each([
    ['a wrong password', basicAuthorization('pro', 'wrong-pass1')],
    ['an unknown name', basicAuthorization('nobody', PASSWORD)],
    ['no header', undefined],
    ['a header of another kind', 'Bearer x'],
    ['no colon inside', `Basic ${Buffer.from('pro').toString('base64')}`],
  ])('7: %s is 401', async (_, authorization) => {
    expectUnauthorised(await login(authorization));
  });
  it('takes the word before the credentials in any case', async () => {
    for (const word of ['basic', 'BASIC', 'Basic ']) {
      const reply = await login(basicAuthorization('pro', PASSWORD).replace('Basic', word));
      expect(reply.status).toBe(200);
      const authorization = `${word.trim() === 'basic' ? 'bearer' : 'BEARER'} ${JSON.parse(reply.text).token}`;
      const access = await sendPlainRequest(`${service.url}/v3/my-access?region=PSCO`, { headers: { authorization } });
      expect(access.status).toBe(200);
    }
  });
  it('accepts a password with a colon', async () => {
    await register({ ...person, username: 'colon', password: 'with:colon1' });
    expect((await login(basicAuthorization('colon', 'with:colon1'))).status).toBe(200);
  });
});

describe('4.1 GET /password', () => {
  it.each(['/password?username=free', '/password/?username=free'])('2.3: %s answers ok', async (path) => {
    const reply = await sendPlainRequest(service.url + path);
    expect(reply.status).toBe(200);
    expect(typeof JSON.parse(reply.text).ok).toBe('string');
  });
  it('says that a name is unknown: 400 {error}', async () => {
    const reply = await sendPlainRequest(`${service.url}/password?username=nobody`);
    expect(reply.status).toBe(400);
    expect(Object.keys(JSON.parse(reply.text))).toEqual(['error']);
  });
  it('misses the name: 422', async () => {
    const reply = await sendPlainRequest(`${service.url}/password`);
    expect(reply.status).toBe(422);
    expect(JSON.parse(reply.text).detail[0].loc).toEqual(['query', 'username']);
  });
});

describe('5: the bearer token', () => {
  const index = '/v3/signal-index?region=PSCO&signal_type=co2_moer';
  const withHeader = (authorization?: string) =>
    sendPlainRequest(service.url + index, { headers: authorization === undefined ? {} : { authorization } });
  it.each([
    ['missing', undefined],
    ['invalid', 'Bearer not-a-token'],
    ['without the word', 'not-a-token'],
    ['of v1', 'Token 0123456789012345678901234567890123456789'],
  ])('%s is 401', async (_, authorization) => {
    expectUnauthorised(await withHeader(authorization));
  });

  //  age                       status
  const ages: readonly (readonly [string, number, number])[] = [
    ['0:00', 0, 200],
    ['29:59.999', 30 * 60_000 - 1, 200],
    ['30:00', 30 * 60_000, 401],
    ['1 day', 86_400_000, 401],
  ];
  it.each(ages)('8: at the age of %s the answer is %s', async (_, age, status) => {
    service.setTime(NOW);
    const reply = await sendPlainRequest(`${service.url}/login`, {
      headers: { authorization: basicAuthorization('basic', PASSWORD) },
    });
    service.setTime(NOW + age);
    expect((await withHeader(`Bearer ${JSON.parse(reply.text).token}`)).status).toBe(status);
    service.setTime(NOW);
  });
  it('lives on beside a later one', async () => {
    const first = await sendPlainRequest(`${service.url}/login`, {
      headers: { authorization: basicAuthorization('basic', PASSWORD) },
    });
    await sendPlainRequest(`${service.url}/login`, {
      headers: { authorization: basicAuthorization('basic', PASSWORD) },
    });
    expect((await withHeader(`Bearer ${JSON.parse(first.text).token}`)).status).toBe(200);
  });
  it('is looked at before the parameters are', async () => {
    expect((await sendPlainRequest(`${service.url}/v3/forecast`)).status).toBe(401);
  });
});

describe('7: authentication errors as a page', () => {
  it('have the status and a body that is not JSON', async () => {
    const other = await startPlainService({ authErrors: 'html' });
    for (const path of ['/login', '/v3/my-access']) {
      const reply = await sendPlainRequest(other.url + path);
      expect(reply.status).toBe(401);
      expect(reply.headers['content-type']).toContain('text/html');
      expect(reply.text).toContain('<html>');
    }
    // The specification's gate of the plan stays JSON.
    expectGate(await other.get('/v3/maps?signal_type=co2_moer', 'free'));
    await other.close();
  });
});

const METHODS: Readonly<Record<string, string>> = { GET: 'GET, HEAD, OPTIONS', POST: 'POST, OPTIONS' };

describe('any answer', () => {
  it('carries x-request-id and the date of the service', async () => {
    const first = await sendPlainRequest(`${service.url}/v3/forecast`);
    const second = await sendPlainRequest(`${service.url}/nothing/here`);
    const ids = [first, second].map(({ headers }) => headers['x-request-id']);
    if (isPublished) expect(ids).toEqual([undefined, undefined]);
    else expect(new Set(ids).size).toBe(2);
    expect(second.headers.date).toBe('Wed, 10 Jun 2026 18:02:30 GMT');
    expect(second.status).toBe(404);
  });
  //  method     path                            allowed
  it.each([
    ['POST', '/login', 'GET'],
    ['POST', '/v3/forecast', 'GET'],
    ['GET', '/register', 'POST'],
    ['DELETE', '/api/v1/datapoints/', 'GET'],
    ['GET', '/api/v1/obtain-token-auth/', 'POST'],
  ])('%s %s is 405, and says what is allowed', async (method, path, allowed) => {
    const reply = await sendPlainRequest(service.url + path, { method });
    expect([reply.status, reply.headers.allow]).toEqual([405, METHODS[allowed]]);
  });
  it.each([
    '/v3/my-access?region=PSCO',
    '/v3/region-from-loc?signal_type=co2_moer&latitude=38.5&longitude=-122',
    '/v3/maps?signal_type=co2_aoer',
    '/v3/forecast?signal_type=co2_moer&region=PSCO',
    '/v3/forecast/historical?signal_type=co2_moer&region=PSCO&start=2026-06-01T00:00Z&end=2026-06-01T00:00Z',
    '/v3/historical?signal_type=co2_moer&region=PSCO&start=2026-06-01T00:00Z&end=2026-06-01T00:00Z',
    '/v3/signal-index?signal_type=co2_moer&region=PSCO',
  ])('%s: the same with a slash after the path, refused with a parameter given twice', async (path) => {
    const reply = await service.get(path);
    expect(reply.status).toBe(200);
    expect((await service.get(path.replace('?', '/?'))).text).toBe(reply.text);
    const again = await service.get(`${path}&${path.split('?')[1]?.split('&')[0]}`);
    expect(again.status).toBe(/maps|region-from-loc/.test(path) ? 422 : 400);
    expect(again.text).toContain('is given more than once');
  });
});
