/** Long answers are made at the reader's pace, and a failure inside is told to both sides. */

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sendResponse } from '../../src/reference/http/send-response.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { NOW, PASSWORD, sendPlainRequest } from '../contract/plain-http.ts';

const PIECES = 2_000;

describe('an answer in pieces', () => {
  it('is not made before somebody reads it', async () => {
    let made = 0;
    function* pieces() {
      for (; made < PIECES; made++) yield 'x'.repeat(65_536);
    }
    const server = createServer((request, response) => {
      if (request.url === '/ping') response.end();
      else sendResponse(request, response, { status: 200, body: { kind: 'pieces', pieces: pieces() } });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const reply = await new Promise<IncomingMessage>((resolve) => {
      get(url, { agent: false }, resolve);
    });
    // The reader holds still; the server has time for other work, again and again.
    for (let i = 0; i < 50; i++) await sendPlainRequest(`${url}/ping`);
    expect(made).toBeLessThan(PIECES / 4);
    let length = 0;
    for await (const chunk of reply) length += (chunk as Buffer).length;
    expect(length).toBe(PIECES * 65_536);
    server.close();
  });
});

describe('trouble inside the service', () => {
  it('is a 500 for the caller and an error for the owner', async () => {
    const data = await mkdtemp(join(tmpdir(), 'reference-'));
    const errors: unknown[] = [];
    const accounts = [{ username: 'me', password: PASSWORD, plan: 'free' as const }];
    const onError = (error: unknown) => errors.push(error);
    const reference = await createReferenceService({ seed: 1, clock: () => NOW, accounts, data, onError });
    const { url } = await reference.listen();
    await rm(data, { recursive: true });
    const reply = await sendPlainRequest(`${url}/password?username=me`);
    expect(reply.status).toBe(500);
    expect(JSON.parse(reply.text).error).toBe('internal_error');
    expect(String(errors[0])).toContain('ENOENT');
    expect((await sendPlainRequest(`${url}/login`)).status).toBe(401);
    await reference.close();
    await reference.close();
  });
});
