/** A reference service on a clock of the test's own, and requests to it by node:http alone. Knows nothing of the client. */

import { type IncomingHttpHeaders, request } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import {
  createReferenceService,
  type ReferenceOptions,
  type ReferenceService,
} from '../../src/reference/reference-service.ts';
import { isPublished, PROFILE } from './profile-under-test.ts';

/** A Wednesday outside every preview and overlap of co2_moer. */
export const NOW = Date.parse('2026-06-10T18:02:30Z');
export const PASSWORD = 'pass-word1';

export interface PlainReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Bytes on the wire. */
  readonly bytes: number;
}

export interface PlainRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly ca?: string;
}

/** One request; resolves with whatever came back, rejects when the connection breaks. */
export function sendPlainRequest(
  url: string,
  { method = 'GET', headers = {}, body, ca }: PlainRequest = {},
): Promise<PlainReply> {
  const begin = url.startsWith('https:') ? tlsRequest : request;
  return new Promise((resolve, reject) => {
    const outgoing = begin(url, { method, headers, agent: false, ...(ca === undefined ? {} : { ca }) }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const raw = Buffer.concat(chunks);
        const whole = incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: whole.toString('utf8'),
          bytes: raw.length,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** An answer's shape is what these tests are there to find out. */
type Json = ReturnType<typeof JSON.parse>;

export interface PlainService {
  readonly reference: ReferenceService;
  readonly url: string;
  /** Moves the service's clock. */
  setTime(now: number): void;
  now(): number;
  /** A token of the account named like its plan: `free`, `basic`, `analyst`, `pro`. */
  login(username: string): Promise<string>;
  /** GET with the account's token; the JSON of the answer beside it. */
  get(path: string, username?: string): Promise<PlainReply & { readonly json: Json }>;
  close(): Promise<void>;
}

export const basicAuthorization = (username: string, password: string) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

const parseJson = (text: string): Json => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Starts a service with one account for each plan. */
export async function startPlainService(options: Partial<ReferenceOptions> = {}): Promise<PlainService> {
  let time = NOW;
  const accounts = (['free', 'basic', 'analyst', 'pro'] as const).map((plan) => ({
    username: plan,
    password: PASSWORD,
    plan,
  }));
  const reference = await createReferenceService({
    seed: 7,
    accounts,
    profile: PROFILE,
    ...options,
    clock: () => time,
  });
  const { url } = await reference.listen();
  const tokens = new Map<string, { token: string; until: number }>();
  const service: PlainService = {
    reference,
    url,
    setTime: (now) => {
      // A service that was in the future has forgotten the tokens of the past.
      if (now < time) tokens.clear();
      time = now;
    },
    now: () => time,
    async login(username) {
      const cached = tokens.get(username);
      if (cached !== undefined && time < cached.until) return cached.token;
      const reply = await sendPlainRequest(`${url}/login`, {
        headers: { authorization: basicAuthorization(username, PASSWORD) },
      });
      const token = String(parseJson(reply.text)?.token);
      tokens.set(username, { token, until: time + 30 * 60_000 });
      return token;
    },
    async get(path, username = 'pro') {
      const reply = await sendPlainRequest(url + path, {
        headers: { authorization: `Bearer ${await service.login(username)}` },
      });
      return { ...reply, json: parseJson(reply.text) };
    },
    close: () => reference.close(),
  };
  return service;
}

/** `a=1&b=2`, encoded. */
export const encodeQuery = (fields: Readonly<Record<string, string | number>>) =>
  new URLSearchParams(
    Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();

/** The 403 of a region or path that the plan does not include, in the profile's form. */
export function expectGate(reply: PlainReply): void {
  expect(reply.status).toBe(403);
  if (isPublished)
    expect([reply.headers['content-type'], reply.text]).toEqual([HTML, expect.stringContaining('<html>')]);
  else expect(JSON.parse(reply.text).message).toMatch(/^Invalid scope\./);
}

const HTML = 'text/html; charset=utf-8';

/** The 401 of a login or token, in the profile's form. */
export function expectUnauthorised(reply: PlainReply): void {
  expect(reply.status).toBe(401);
  if (isPublished)
    expect([reply.headers['content-type'], reply.text]).toEqual([HTML, expect.stringContaining('<html>')]);
  else expect(Object.keys(JSON.parse(reply.text)).sort()).toEqual(['docs', 'error', 'message']);
}
