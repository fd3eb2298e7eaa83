/** Manners of HTTP beyond GET: methods, forms of the target, conditional requests, codings, and clients that are slow. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchReader } from '../../src/reference/http/reader-pace.ts';
import { encodeQuery, type PlainService, sendPlainRequest, startPlainService } from '../contract/plain-http.ts';

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
afterAll(() => service.close());

const FORECAST = `/v3/forecast?${encodeQuery({ region: 'PSCO', signal_type: 'co2_moer' })}`;
const MAP = '/v3/maps?signal_type=co2_aoer';
async function ask(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
  const authorization = `Bearer ${await service.login('pro')}`;
  return sendPlainRequest(service.url + path, { method, headers: { authorization, ...headers } });
}

/** What comes back for the bytes of a request, until the service ends the connection or the last answer is whole. */
function sendRaw(text: string, isDone: (received: string) => boolean): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    const finish = () => {
      socket.destroy();
      resolve(received);
    };
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (isDone(received)) finish();
    });
    socket.once('end', finish);
    socket.once('error', reject);
  });
}

describe('methods (RFC 9110, 9.3)', () => {
  it.each([FORECAST, MAP, '/api/v1/balancing_authorities/', '/v3/historical?region=PSCO'])(
    'HEAD %s has the head of GET and no body',
    async (path) => {
      const [get, head] = [await ask(path), await ask(path, {}, 'HEAD')];
      expect([head.status, head.bytes]).toEqual([get.status, 0]);
      const { 'x-request-id': _, date, 'transfer-encoding': __, ...otherHeaders } = get.headers;
      expect(head.headers).toMatchObject(otherHeaders);
    },
  );
  //  path                           methods
  it.each([
    ['/v3/maps', 'GET, HEAD, OPTIONS'],
    ['/register', 'POST, OPTIONS'],
    ['/api/v1/datapoints/', 'GET, HEAD, OPTIONS'],
  ])('OPTIONS %s lists %s', async (path, allow) => {
    const reply = await sendPlainRequest(service.url + path, { method: 'OPTIONS' });
    expect([reply.status, reply.headers.allow, reply.bytes]).toEqual([204, allow, 0]);
  });
});

describe('targets and framing (RFC 9112)', () => {
  const close = 'Host: x\r\nConnection: close\r\n\r\n';
  const whole = () => false;
  //  request                                                                            first line of the answer
  it.each([
    [`GET http://any.example/api/v1/balancing_authorities/?ba_type=ISO HTTP/1.1\r\n${close}`, '200 OK'],
    [`GET http://any.example HTTP/1.1\r\n${close}`, '404 Not Found'],
    [`OPTIONS * HTTP/1.1\r\n${close}`, '204 No Content'],
    [`GET /login HTTP/1.1\r\nConnection: close\r\n\r\n`, '400 Bad Request'],
    [`POST /register HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n${close}`, '400 Bad Request'],
    [`HEAD /login HTTP/1.1\r\nContent-Length: 2\r\n${close}{}`, '401 Unauthorized'],
  ])('%j is %s', async (request, status) => {
    expect((await sendRaw(request, whole)).split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
  });
  it('two requests in one write have two answers in their order', async () => {
    const two = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\nGET /login HTTP/1.1\r\nHost: x\r\n\r\n';
    const received = await sendRaw(two, (text) => /401 Unauthorized[\s\S]*\r\n\r\n./.test(text));
    expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['404', '401']);
  });
});

describe('a map that the client holds (RFC 9110, 13.1.2)', () => {
  it('is 304 without a body while its tag stands', async () => {
    const first = await ask(MAP);
    const etag = String(first.headers.etag);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    for (const named of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const again = await ask(MAP, { 'if-none-match': named, 'accept-encoding': 'gzip' });
      expect([again.status, again.bytes, again.headers.etag]).toEqual([304, 0, etag]);
    }
    expect((await ask(MAP, { 'if-none-match': '"other"' })).status).toBe(200);
    expect((await ask(MAP.replace('aoer', 'moer'), { 'if-none-match': etag })).status).toBe(200);
  });
  it('is sent again when a border moves or a region is renamed', async () => {
    const etag = String((await ask(MAP)).headers.etag);
    for (const fault of ['map-border', 'map-rename'] as const) {
      service.reference.setFaults([{ fault }]);
      const moved = await ask(MAP, { 'if-none-match': etag });
      expect([moved.status, moved.headers.etag]).toEqual([200, undefined]);
    }
    service.reference.setFaults([]);
  });
});

describe('codings (RFC 9110, 12.5.3)', () => {
  //  accept-encoding                    coding
  it.each([
    ['gzip', 'gzip'],
    ['*', 'gzip'],
    ['GZIP;Q=0.5', 'gzip'],
    ['gzip;q=0', undefined],
    ['gzip;q=0, *', undefined],
    ['gzip; q=0.000, br', undefined],
    ['gzip;q=0.2, identity', undefined],
    ['br, deflate', undefined],
    ['', undefined],
  ])('%j: %s', async (accepted, coding) => {
    expect((await ask(FORECAST, { 'accept-encoding': accepted })).headers['content-encoding']).toBe(coding);
  });
});

describe('a client that reads too slowly', () => {
  async function serve(read: (client: Socket) => void): Promise<'ended' | 'whole'> {
    const slice = Buffer.alloc(65_536);
    let onEnded = () => {};
    const ended = new Promise<void>((resolve) => {
      onEnded = resolve;
    });
    const server = createServer((socket) => {
      socket.once('close', onEnded);
      watchReader(socket, { bytesPerSecond: 8_192, interval: 20, patience: 3 });
      socket.on('error', () => {});
      Readable.from(Array.from({ length: 512 }, () => slice)).pipe(socket);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let received = 0;
    client.on('error', () => {});
    client.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    const closed = once(client, 'close');
    read(client);
    await ended;
    client.resume();
    await closed;
    client.destroy();
    server.close();
    return received === 512 * slice.length ? 'whole' : 'ended';
  }
  it('loses its connection when it takes nothing', async () => {
    expect(await serve((client) => client.pause())).toBe('ended');
  });
  it('is served while it reads', async () => {
    expect(await serve((client) => client.resume())).toBe('whole');
  });
});
