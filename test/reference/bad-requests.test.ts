/** Requests as no honest client sends them: what the RFCs say, in bounded time and memory, while others are served. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { encodeQuery, NOW, type PlainService, startPlainService } from '../contract/plain-http.ts';

const INDEX = `/v3/signal-index?${encodeQuery({ region: 'PSCO', signal_type: 'co2_moer' })}`;
/** Far beyond what a stop of the machine takes, since an honest request has to arrive within them too. */
const HEADERS_TIMEOUT = 5_000;
const REQUEST_TIMEOUT = 6_000;

let service: PlainService;
/** The same with little patience. */
let hurried: PlainService;
let authorization = '';
beforeAll(async () => {
  service = await startPlainService();
  hurried = await startPlainService({
    timeouts: { headersTimeout: HEADERS_TIMEOUT, requestTimeout: REQUEST_TIMEOUT, connectionsCheckingInterval: 200 },
  });
  service.setTime(NOW);
  authorization = `Authorization: Bearer ${await service.login('pro')}`;
});
afterAll(() => Promise.all([service.close(), hurried.close()]));

async function open({ url }: PlainService): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** What comes back for some bytes, until the service ends the connection. */
async function exchange(text: string): Promise<string> {
  const socket = await open(service);
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.write(text);
  await once(socket, 'close');
  return received;
}

const statusesOf = (received: string) => [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
const request = (line: string, ...headers: readonly string[]) =>
  [`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');
const buildLast = () => request(`GET ${INDEX}`, authorization, 'Connection: close');

/** Another client is served meanwhile. */
const expectServiceOf = async (one: PlainService) => expect((await one.get(INDEX)).status).toBe(200);
const expectService = () => expectServiceOf(service);

it('pipelined requests are answered in their order (RFC 9112, 9.3.2)', async () => {
  const received = await exchange(
    request(`GET ${INDEX}`, authorization) + request('GET /nowhere') + request('OPTIONS /login') + buildLast(),
  );
  expect(statusesOf(received)).toEqual(['200', '404', '204', '200']);
});

it('an answer without content names no type of it', async () => {
  expect(await exchange(request('OPTIONS /login', 'Connection: close'))).not.toMatch(/^content-/im);
});

it('a thousand pipelined requests are answered, each once', async () => {
  const received = await exchange(request('OPTIONS /login').repeat(1_000) + buildLast());
  expect(statusesOf(received)).toEqual([...Array(1_000).fill('204'), '200']);
});

it('a body both chunked and with a length is refused and the connection ended (RFC 9112, 6.1)', async () => {
  const smuggled = request('POST /register', 'Transfer-Encoding: chunked', 'Content-Length: 4');
  const received = await exchange(`${smuggled}0\r\n\r\n${request('GET /nowhere')}`);
  expect(statusesOf(received)).toEqual(['400']);
  await expectService();
});

it.each([
  ['HEAD', INDEX, '200'],
  ['GET', INDEX, '200'],
  ['OPTIONS', '/login', '204'],
])('%s with a body: the body is read and is no request of its own', async (method, path, status) => {
  const body = request('GET /nowhere');
  const received = await exchange(
    request(`${method} ${path}`, authorization, `Content-Length: ${body.length}`) + body + buildLast(),
  );
  expect(statusesOf(received)).toEqual([status, '200']);
});

it('800 half-open connections keep nobody waiting, and each is ended with 408', async () => {
  const sockets = await Promise.all(Array.from({ length: 800 }, () => open(hurried)));
  const ended = sockets.map(async (socket) => {
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.write(`GET ${INDEX} HTTP/1.1\r\nHo`);
    await once(socket, 'close');
    return statusesOf(received)[0];
  });
  await expectServiceOf(hurried);
  const statuses = await Promise.all(ended);
  expect(new Set(statuses)).toEqual(new Set(['408']));
  await expectServiceOf(hurried);
});

it('a body that drips is ended with 408, whatever length it names', async () => {
  const socket = await open(hurried);
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.write(request('POST /register', 'Content-Type: application/json', 'Content-Length: 60000'));
  const drip = setInterval(() => socket.write(' '), 100);
  await once(socket, 'close');
  clearInterval(drip);
  expect(statusesOf(received)).toEqual(['408']);
  await expectServiceOf(hurried);
});

//  what                         the request                                                          status
const refused: readonly (readonly [string, () => string, string])[] = [
  ['an address of 9 kB', () => request(`GET /v3/maps?x=${'y'.repeat(9_000)}`, 'Connection: close'), '414'],
  ['headers of 40 kB', () => request(`GET ${INDEX}`, `X-Long: ${'y'.repeat(40_000)}`), '431'],
  ['no host', () => `GET ${INDEX} HTTP/1.1\r\nConnection: close\r\n\r\n`, '400'],
  ['two hosts (RFC 9112, 3.2)', () => request('GET /login', 'host: y', 'Connection: close'), '400'],
  ['two tokens', () => request(`GET ${INDEX}`, authorization, 'authorization: Bearer x', 'Connection: close'), '400'],
  [
    'a host that is no name (RFC 9112, 3.2)',
    () => `GET /login HTTP/1.1\r\nHost: a b/c\r\nConnection: close\r\n\r\n`,
    '400',
  ],
  ['a line that is no request', () => 'hello\r\n\r\n', '400'],
  ['two lengths', () => request('POST /register', 'Content-Length: 2', 'Content-Length: 3'), '400'],
  ['a list of lengths', () => request('POST /register', 'Content-Length: 2, 2'), '400'],
  ['a chunk without a size', () => `${request('POST /register', 'Transfer-Encoding: chunked')}zz\r\n`, '400'],
  [
    'a chunk extension of 20 kB',
    () => `${request('POST /register', 'Transfer-Encoding: chunked')}2;x=${'y'.repeat(20_000)}`,
    '413',
  ],
  [
    'a coding that is not known (RFC 9112, 6.1)',
    () => request('POST /register', 'Transfer-Encoding: gzip, chunked'),
    '501',
  ],
  ['chunks in HTTP/1.0', () => 'POST /register HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', '400'],
  ['a body announced too long', () => request('POST /register', 'Content-Length: 99999999'), '413'],
  ['CONNECT', () => request('CONNECT x:443'), '501'],
  [
    'an expectation that nobody knows (RFC 9110, 10.1.1)',
    () => request('GET /login', 'Expect: more', 'Connection: close'),
    '401',
  ],
];
it.each(refused)('%s', async (_, build, status) => {
  const received = await exchange(build());
  expect(statusesOf(received)).toEqual([status]);
  // RFC 9110, 6.6.1: every refusal has the date, that of the service's clock.
  expect(received).toMatch(/^date: Wed, 10 Jun 2026 /im);
  expect(received.split('\r\n\r\n')[1]).toMatch(/^\{.*\}$/);
  await expectService();
});

it('what is no request after one that is still answered gets no answer that the client could take for the other', async () => {
  service.reference.setFaults([{ fault: 'hang', path: '/login' }]);
  expect(await exchange(`${request('GET /login')}hello\r\n\r\n`)).toBe('');
  service.reference.setFaults([]);
  await expectService();
});

it('a service that cannot listen says so each time, and listens when it can', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const other = await createReferenceService({ seed: 1, clock: () => NOW });
  // More often than node lets listeners gather without a warning.
  for (let i = 0; i < 12; i++) await expect(other.listen({ port: 70_000 })).rejects.toThrow(/port/);
  await other.listen();
  for (let i = 0; i < 12; i++) await expect(other.listen()).rejects.toThrow(/listen/i);
  await new Promise(setImmediate);
  await other.close();
  process.off('warning', onWarning);
  expect(warnings.map(String)).toEqual([]);
});

it('a service asked to listen twice at once listens where it was asked first', async () => {
  const other = await createReferenceService({ seed: 1, clock: () => NOW });
  const first = other.listen();
  await expect(other.listen()).rejects.toThrow('the service listens already');
  const { url } = await first;
  expect((await fetch(url)).status).toBe(404);
  await other.close();
});

it('a close that overtakes a listen ends what it opened, and the service can listen again', async () => {
  const other = await createReferenceService({ seed: 1, clock: () => NOW });
  const early = other.listen();
  await other.close();
  const { url } = await early;
  await expect(fetch(url)).rejects.toThrow();
  const again = await other.listen();
  expect((await fetch(again.url)).status).toBe(404);
  await other.close();
});
