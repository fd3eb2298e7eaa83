/** What an answer means by its status, type and body: one row for each shape known to be sent (specification 7). */

import { describe, expect, it } from 'vitest';
import { minutes } from '../../src/domain/units.ts';
import { classifyResponse, extractErrorMessage } from '../../src/service/transport/classify-response.ts';
import { NOON } from './client-fixture.ts';

const JSON_TYPE = 'application/json';
const PAGE = '<html><body>Sign in</body></html>';
const COORDINATES =
  '{"error":"No coverage available for these coordinates and signal_type","latitude":0,"longitude":0}';

function judged(
  status: number,
  type: string | undefined,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const verdict = classifyResponse(
    {
      status,
      headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
      body: new TextEncoder().encode(body),
    },
    NOON,
  );
  if (verdict.kind !== 'failed') return verdict.kind;
  const { failure } = verdict;
  if (failure.kind === 'unreachable') return failure.reason;
  return 'message' in failure ? `${failure.kind}: ${failure.message}` : failure.kind;
}

//  status  type                         body                                        means
const rows: readonly (readonly [number, string | undefined, string, string])[] = [
  [200, JSON_TYPE, '{"data":[]}', 'answer'],
  [200, 'application/json; charset=utf-8', '[]', 'answer'],
  [200, 'application/geo+json', '{}', 'answer'],
  [200, undefined, '{}', 'answer'],
  [200, 'text/html', PAGE, 'captive-portal'],
  [200, 'text/html; charset=utf-8', '{}', 'captive-portal'],
  [200, 'text/plain', 'ok', 'captive-portal'],
  [200, JSON_TYPE, PAGE, 'captive-portal'],
  [200, undefined, PAGE, 'captive-portal'],
  [200, JSON_TYPE, '{"data":[', 'invalid-response'],
  [200, JSON_TYPE, '', 'invalid-response'],
  [204, JSON_TYPE, '', 'invalid-response'],
  [299, JSON_TYPE, '{}', 'answer'],
  [300, 'text/html', '', 'redirect'],
  [301, 'text/html', '', 'redirect'],
  [399, undefined, '', 'redirect'],
  [304, undefined, '', 'redirect'],
  [400, JSON_TYPE, '{"error":"x","message":"bad start","docs":"y"}', 'rejected: bad start'],
  [400, JSON_TYPE, '{"error":"x","msg":"bad start"}', 'rejected: bad start'],
  [400, JSON_TYPE, '{"error":"taken"}', 'rejected: taken'],
  [400, JSON_TYPE, '{"non_field_errors":["Unable to log in."]}', 'rejected: Unable to log in.'],
  [
    400,
    JSON_TYPE,
    '{"username":["required"],"password":["required"]}',
    'rejected: username: required password: required',
  ],
  [400, JSON_TYPE, '{"loc":["Expected a point."]}', 'rejected: loc: Expected a point.'],
  [400, JSON_TYPE, '{"docs":"https://example.invalid"}', 'rejected: status 400'],
  [400, JSON_TYPE, '5', 'rejected: status 400'],
  [400, JSON_TYPE, '{"detail":[{"loc":["query","start"]}],"error":"No such start."}', 'rejected: No such start.'],
  [
    400,
    JSON_TYPE,
    '{"a":["1"],"b":["2"],"c":["3"],"d":["4"],"e":["5"],"f":["6"]}',
    'rejected: a: 1 b: 2 c: 3 d: 4 e: 5',
  ],
  [404, 'text/html', PAGE, 'rejected: status 404'],
  [404, JSON_TYPE, '{"detail":"Invalid page."}', 'rejected: Invalid page.'],
  [404, JSON_TYPE, '{"message":"Coordinates not found"}', 'outside-coverage'],
  [404, 'text/plain', 'Coordinates not found', 'outside-coverage'],
  [404, JSON_TYPE, COORDINATES, 'outside-coverage'],
  [
    422,
    JSON_TYPE,
    '{"detail":[{"loc":["query","latitude"],"msg":"not a number","type":"t"}]}',
    'rejected: latitude: not a number',
  ],
  [401, JSON_TYPE, '{"error":"x"}', 'token-refused'],
  [401, 'text/html', PAGE, 'token-refused'],
  [401, undefined, '', 'token-refused'],
  [402, JSON_TYPE, '{"message":"Pay first."}', 'rejected: Pay first.'],
  [402, 'text/html', PAGE, 'rejected: status 402'],
  [403, JSON_TYPE, '{"message":"Invalid scope. forecast"}', 'not-entitled: Invalid scope. forecast'],
  [403, 'text/plain', '{"message":"Invalid scope."}', 'not-entitled: Invalid scope.'],
  [403, 'text/html', PAGE, 'token-refused'],
  [403, JSON_TYPE, PAGE, 'token-refused'],
  [403, undefined, '', 'token-refused'],
  [429, JSON_TYPE, '{}', 'throttled'],
  [429, 'text/html', PAGE, 'throttled'],
  [500, JSON_TYPE, '{"message":"oops"}', 'server-error: oops'],
  [502, 'text/html', PAGE, 'server-error: status 502'],
  [101, undefined, '', 'invalid-response'],
];

describe('an answer', () => {
  it.each(rows)('%i %s %s: %s', (status, type, body, meaning) => {
    expect(judged(status, type, body)).toBe(meaning);
  });
});

it.each([
  ['text/html', 'the answer is text/html, expected JSON'],
  [undefined, 'the answer is no JSON, expected JSON'],
])('what answers in the place of the service is told by its type: %s', (type, cause) => {
  const headers: Readonly<Record<string, string>> = type === undefined ? {} : { 'content-type': type };
  expect(classifyResponse({ status: 200, headers, body: new TextEncoder().encode(PAGE) }, NOON)).toMatchObject({
    failure: { cause: expect.stringContaining(cause) },
  });
});

describe('the wait a 429 names', () => {
  //  header or words                                       wait
  const waits: readonly (readonly [Readonly<Record<string, string>>, string, number | undefined])[] = [
    [{ 'retry-after': '30' }, '{}', 30_000],
    [{ 'retry-after': '-5' }, '{}', -5_000],
    [{ 'retry-after': 'Sun, 01 Mar 2026 12:05:00 GMT' }, '{}', minutes(5)],
    [{ 'retry-after': 'later' }, '{}', undefined],
    [{ 'x-throttle-wait-seconds': '1200' }, '{}', 1_200_000],
    [{}, '{"detail":"Request was throttled.Expected available in 77 seconds."}', 77_000],
    [{}, '{}', undefined],
  ];
  it.each(waits)('%o %s', (headers, body, wait) => {
    const reply = {
      status: 429,
      headers: { 'content-type': JSON_TYPE, ...headers },
      body: new TextEncoder().encode(body),
    };
    const verdict = classifyResponse(reply, NOON);
    expect(verdict.kind === 'throttled' && verdict.retryAfter).toBe(wait);
  });
});

describe('a body of more values than its length has room for', () => {
  it.each(['[', '{},', '1,', '[],', '{"a":', '[         '])('%j again and again: refused unread', (text) => {
    const reply = { status: 200, headers: { 'content-type': JSON_TYPE }, body: Buffer.from(text.repeat(100_000)) };
    expect(classifyResponse(reply, NOON)).toMatchObject({
      failure: { kind: 'invalid-response', expected: 'at least 10 bytes a value, at most 32 deep' },
    });
  });
  it.each([
    ['a month of points', `{"data":[${'{"point_time":"2026-03-01T12:00:00Z","value":1},'.repeat(9_216)}{}]}`],
    [
      'a month of short names',
      `{"data":[${'{"point_time":"2026-03-01T12:00:00Z","value":{"gas":1,"oil":0,"coal":0,"wind":1,"solar":2,"hydro":0,"other":0,"nuclear":0}},'.repeat(9_216)}{}]}`,
    ],
    ['few values in little room', `[${'1,'.repeat(4_000)}1]`],
  ])('%s: an answer', (_, body) => expect(judged(200, JSON_TYPE, body)).toBe('answer'));
});

describe("the service's words", () => {
  it('are short and plain, whatever was sent', () => {
    const words = extractErrorMessage({ message: `\u001b[31m${'x'.repeat(5_000)}\n` });
    expect(words.length).toBeLessThanOrEqual(81);
    expect(words).not.toMatch(/\p{Cc}/u);
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    for (const odd of [
      deep,
      { detail: deep },
      null,
      5,
      [],
      [null],
      { message: null },
      { detail: [[[['deep']]]] },
      { error: {} },
    ])
      expect(typeof extractErrorMessage(odd)).toBe('string');
  });
});

it('the half answer to a login is not quoted: it holds most of a token', () => {
  const body = new TextEncoder().encode('{"token":"t0vPp5HwsSZDx');
  const verdict = classifyResponse({ status: 200, headers: { 'content-type': JSON_TYPE }, body }, NOON);
  expect(JSON.stringify(verdict)).toMatch(/23 bytes that cannot be read as such/);
  expect(JSON.stringify(verdict)).not.toMatch(/t0vPp5/);
});
