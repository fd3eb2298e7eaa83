import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../../src/domain/ports.ts';
import { seconds } from '../../src/domain/units.ts';
import { redactEcho } from '../../src/service/transport/redact-echo.ts';

const PASSWORD = 'pass "wörd/7';
const PAIR = `owner:${PASSWORD}`;
const basic = `Basic ${Buffer.from(PAIR).toString('base64')}`;

const asked = (headers: Readonly<Record<string, string>>, body?: string): HttpRequest => ({
  method: 'GET',
  url: 'https://service.example/login',
  headers,
  ...(body === undefined ? {} : { body }),
  deadline: seconds(30),
  maxBytes: 1_000,
});
const login = asked({ authorization: basic });
const query = asked({ authorization: 'Bearer abc.def.9' });

const redactedCause = (request: HttpRequest, text: string, status = 400) =>
  new TextDecoder().decode(redactEcho({ status, headers: {}, body: new TextEncoder().encode(text) }, request).body);

describe('an answer that repeats what it was sent', () => {
  //  what                         request  words                                           left of them
  const rows = [
    ['the password', login, `no ${PASSWORD}`, 'no [hidden]'],
    ['it in JSON', login, JSON.stringify({ message: PASSWORD }), '{"message":"[hidden]"}'],
    ['it percent-encoded', login, `?p=${encodeURIComponent(PASSWORD)}`, '?p=[hidden]'],
    ['the whole header', login, `bad ${basic}`, 'bad Basic [hidden]'],
    ['user name and password', login, `bad ${PAIR}`, 'bad [hidden]'],
    ['the token', query, '{"error":"abc.def.9 is unknown"}', '{"error":"[hidden] is unknown"}'],
    [
      'a password in the body',
      asked({}, JSON.stringify({ password: PASSWORD })),
      `weak: ${PASSWORD}`,
      'weak: [hidden]',
    ],
    ['nothing of it', query, '{"error":"owner is unknown"}', '{"error":"owner is unknown"}'],
    ['too short a word to be hidden', asked({ authorization: 'Bearer no' }), 'no', 'no'],
  ] as const;
  it.each(rows)('%s', (_, request, words, left) => expect(redactedCause(request, words)).toBe(left));

  it('leaves a good answer as it is, and cleans the headers of a bad one', () => {
    expect(redactedCause(query, '{"token":"abc.def.9"}', 200)).toBe('{"token":"abc.def.9"}');
    const moved = { status: 302, headers: { location: '/x?token=abc.def.9' }, body: new Uint8Array() };
    expect(redactEcho(moved, query).headers.location).toBe('/x?token=[hidden]');
  });
});
