/** The HTTP adapter against a real loopback server: what it refuses, what it caps, how it ends. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { HttpError, type HttpRequest } from '../../src/domain/ports.ts';
import { type Duration, seconds } from '../../src/domain/units.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { type ScriptedRequest, type ScriptedResponse, startScriptedService } from '../doubles/scripted-service.ts';

const answers: Readonly<Record<string, ScriptedResponse>> = {
  '/plain': { body: 'hello', headers: { date: 'Sun, 01 Mar 2026 07:05:00 GMT', 'x-request-id': 'r1' } },
  '/gzip': { body: gzipSync('hello'.repeat(20)), headers: { 'content-encoding': 'gzip' } },
  '/bomb': { body: gzipSync(Buffer.alloc(50_000_000)), headers: { 'content-encoding': 'gzip' } },
  '/chain': { body: gzipSync(gzipSync('hello')), headers: { 'content-encoding': 'gzip, gzip' } },
  '/brotli': { body: 'hello', headers: { 'content-encoding': 'br' } },
  '/not-gzip': { body: 'hello', headers: { 'content-encoding': 'gzip' } },
  '/cut-gzip': { body: gzipSync('x'.repeat(5_000)).subarray(0, 20), headers: { 'content-encoding': 'gzip' } },
  '/large': { body: 'x'.repeat(200_000) },
  '/large-chunked': (response) => {
    response.write('x'.repeat(60_000));
    response.write('x'.repeat(60_000));
    response.end();
  },
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  },
  '/silent': () => {},
  '/stops': (response) => void response.write('the first bytes'),
  '/drip': (response) => {
    const drip = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(drip));
  },
  '/redirect': { status: 302, headers: { location: '/plain' } },
  '/hang-up': (response) => response.destroy(),
};

const service = await startScriptedService(({ path }: ScriptedRequest) => answers[path] ?? { status: 404 });
const http = createHttp();
afterAll(async () => {
  await http.close();
  await service.close();
});

const ask = (path: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url: path.includes('://') ? path : service.url + path,
  headers: {},
  deadline: seconds(20),
  maxBytes: 100_000,
  ...more,
});

/** A process that listens and sleeps: nobody takes its connections. */
async function startDeafServer() {
  const text = `
    const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ['-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(port), stop: () => child.kill('SIGKILL') };
}

describe('what is refused or ends badly', () => {
  //  asked                              failure
  const soon = { deadline: 300 as Duration };
  const rows: readonly (readonly [string, string, Partial<HttpRequest>])[] = [
    ['http://192.0.2.1/v3/forecast', 'insecure', {}],
    ['http://localhost.example.invalid/', 'insecure', {}],
    ['http://127.0.0.1.example.invalid/', 'insecure', {}],
    ['ftp://127.0.0.1/', 'insecure', {}],
    ['https://me:secret@127.0.0.1/', 'insecure', {}],
    ['not an address', 'insecure', {}],
    ['http://127.0.0.1:1/', 'unreachable', {}],
    ['/hang-up', 'unreachable', {}],
    ['/large', 'too-large', {}],
    ['/plain', 'too-large', { maxBytes: 4 }],
    ['/large-chunked', 'too-large', {}],
    ['/bomb', 'too-large', {}],
    ['/chain', 'bad-encoding', {}],
    ['/brotli', 'bad-encoding', {}],
    ['/not-gzip', 'bad-encoding', {}],
    ['/cut-gzip', 'cut-short', {}],
    ['/cut', 'cut-short', {}],
    ['/silent', 'deadline', soon],
    ['/drip', 'deadline', soon],
    ['/silent', 'deadline', { silence: 300 as Duration, deadline: seconds(1000) }],
    ['/stops', 'deadline', { silence: 300 as Duration, deadline: seconds(1000) }],
  ];
  it.each(rows)('%s is %s', async (path, kind, more) => {
    expect(await http.request(ask(path, more))).toMatchObject({ kind });
  });

  it("gives OpenSSL's reason without its source files", async () => {
    const reply = await http.request(ask(service.url.replace('http:', 'https:')));
    expect(reply).toEqual({ kind: 'tls', cause: 'TLS: wrong version number (ERR_SSL_WRONG_VERSION_NUMBER)' });
  });

  it('names the reason once', async () => {
    const reply = await http.request(ask('http://127.0.0.1:1/'));
    expect(reply).toEqual({ kind: 'unreachable', cause: 'connect ECONNREFUSED 127.0.0.1:1' });
  });

  it('a server that takes no connection ends after the time to connect, long before the deadline', async () => {
    const { port, stop } = await startDeafServer();
    // They fill its queue: the kernel answers the next no more.
    const waiting = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    const reply = await http.request(ask(`http://127.0.0.1:${port}/`, { deadline: seconds(100) }));
    for (const socket of waiting) socket.destroy();
    stop();
    expect(reply).toMatchObject({ kind: 'unreachable', cause: expect.stringContaining('ETIMEDOUT') });
  });

  it('names no credentials', async () => {
    expect(JSON.stringify(await http.request(ask('https://me:secret@127.0.0.1/')))).not.toContain('secret');
  });

  it('inflates no more of a bomb than the cap', async () => {
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 5; i++) await http.request(ask('/bomb'));
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
  });
});

describe('what is answered', () => {
  it('gives status, lower-case headers, date and a body as large as the cap', async () => {
    const reply = await http.request(ask('/plain', { maxBytes: 5 }));
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'x-request-id': 'r1' },
      date: Date.UTC(2026, 2, 1, 7, 5),
    });
    expect('body' in reply && new TextDecoder().decode(reply.body)).toBe('hello');
  });

  it('asks for gzip and inflates it', async () => {
    const reply = await http.request(ask('/gzip', { maxBytes: 100 }));
    expect('body' in reply && new TextDecoder().decode(reply.body)).toBe('hello'.repeat(20));
    expect(service.requests.at(-1)?.headers['accept-encoding']).toBe('gzip');
  });

  it('hands a redirect over and does not follow it', async () => {
    const before = service.countRequests('/plain');
    expect(await http.request(ask('/redirect'))).toMatchObject({ status: 302, headers: { location: '/plain' } });
    expect(service.countRequests('/plain')).toBe(before);
  });

  it('sends the body of a POST', async () => {
    await http.request(
      ask('/plain', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }),
    );
    expect(service.requests.at(-1)).toMatchObject({ method: 'POST', body: '{"a":1}' });
  });
});

describe('a stream', () => {
  it('hands over chunk by chunk and throws when the body is cut', async () => {
    const stream = await http.stream(ask('/cut'));
    if ('kind' in stream) throw new Error(stream.cause);
    const read = async () => {
      for await (const chunk of stream.chunks) expect(new TextDecoder().decode(chunk)).toBe('half');
    };
    await expect(read()).rejects.toThrow(HttpError);
  });

  it('ends the request when the loop is left', async () => {
    const stream = await http.stream(ask('/drip'));
    if ('kind' in stream) throw new Error(stream.cause);
    for await (const chunk of stream.chunks) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
  });
});

describe('stopping', () => {
  it('ends what is under way with "stopped"', async () => {
    const stop = new AbortController();
    const reply = http.request(ask('/silent'), stop.signal);
    stop.abort();
    expect(await reply).toMatchObject({ kind: 'stopped' });
  });

  it('a signal aborted before asks nothing', async () => {
    const asked = service.requests.length;
    expect(await http.request(ask('/plain'), AbortSignal.abort())).toMatchObject({ kind: 'stopped' });
    expect(service.requests.length).toBe(asked);
  });

  it('is what the closing of the client does to what is under way, and to what waits for a connection', async () => {
    const other = createHttp();
    const before = service.countRequests('/silent');
    const replies = Array.from({ length: 8 }, () => other.request(ask('/silent')));
    await expect.poll(() => service.countRequests('/silent')).toBeGreaterThan(before + 5);
    await other.close();
    for (const reply of await Promise.all(replies)) expect(reply).toMatchObject({ kind: 'stopped' });
  });

  it('uses a connection again, and closes it when it is not needed', async () => {
    const other = createHttp();
    const ports = new Set<number | undefined>();
    for (let i = 0; i < 3; i++) {
      await other.request(ask('/plain'));
      ports.add(service.requests.at(-1)?.port);
    }
    expect(ports.size).toBe(1);
    await other.close();
  });

  it('leaves no deadline behind for an answer that nobody read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const other = createHttp();
      await other.stream(ask('/drip', { deadline: seconds(600) }));
      expect(vi.getTimerCount()).toBe(1);
      await other.close();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('closes twice without harm', async () => {
    const other = createHttp();
    await other.request(ask('/plain'));
    await other.close();
    await other.close();
  });
});
