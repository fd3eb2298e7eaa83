/** The earlier interface: its tokens, its throttle, its error bodies, and which path answers (specification 4.5, 5, 7). */

import { counted } from '../units.ts';
import type { Account } from './accounts.ts';
import { type Answer, detail, json, ok } from './answer.ts';
import { opensMarginal } from './plans.ts';
import type { Call, OpenPath, Service } from './service.ts';
import { authorities } from './v1-authorities.ts';
import { dataPoint, marginalPoint, pageOf } from './v1-points.ts';

export const V1 = '/api/v1/';

function fieldsOf(call: Call): Readonly<Record<string, unknown>> | undefined {
  const text = call.body.toString('utf8');
  const type = String(call.headers['content-type'] ?? '').toLowerCase();
  if (!type.includes('json')) return Object.fromEntries(new URLSearchParams(text));
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const filled = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** `POST /api/v1/obtain-token-auth/`: tells the account's token, never changes it. */
const obtainToken: OpenPath = async ({ accounts, logins }, call) => {
  const fields = fieldsOf(call);
  if (fields === undefined) return detail(400, 'The body is not valid JSON.');
  const username = filled(fields.username);
  const password = filled(fields.password);
  if (username === undefined || password === undefined) {
    const required = ['This field is required.'];
    const missing = [...(username === undefined ? ['username'] : []), ...(password === undefined ? ['password'] : [])];
    return json(400, Object.fromEntries(missing.map((name) => [name, required])));
  }
  const wait = logins.take(username, call.now);
  if (wait !== undefined) return throttled(wait);
  const account = await accounts.verify(username, password);
  if (account === undefined) return json(400, { non_field_errors: ['Unable to login with provided credentials.'] });
  return ok({ token: account.apiToken });
};

/** The holder of the token, undefined for a visitor, or the refusal of a bad header. */
function callerOf({ accounts }: Service, call: Call): Account | undefined | Answer {
  const header = call.headers.authorization;
  const words = typeof header === 'string' ? header.trim().split(/\s+/) : [];
  // Anything without the word is nobody's: a bare key too.
  if (words[0]?.toLowerCase() !== 'token') return undefined;
  const refused = (text: string) => detail(401, text, { 'www-authenticate': 'Token' });
  if (words[1] === undefined) return refused('Invalid token header. No credentials provided.');
  if (words.length > 2) return refused('Invalid token header. Token string should not contain spaces.');
  return accounts.holding(words[1]) ?? refused('Invalid token');
}

function throttled(wait: number): Answer {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return detail(429, `Request was throttled.Expected available in ${counted(seconds, 'second')}.`, {
    'retry-after': `${seconds}`,
    'x-throttle-wait-seconds': `${seconds}`,
  });
}

const marginal = (service: Service, call: Call, account: Account | undefined) =>
  account !== undefined && opensMarginal(call.plan ?? account.plan)
    ? pageOf(service, call, marginalPoint)
    : detail(403, 'You do not have permission to perform this action.');

type V1Path = (service: Service, call: Call, account: Account | undefined) => Answer | Promise<Answer>;
const paths: Readonly<Record<string, V1Path>> = {
  'balancing_authorities/': authorities,
  'datapoints/': (service, call) => pageOf(service, call, dataPoint),
  'marginal/': marginal,
};

/** Answers a call under `/api/v1/`; every path ends in a slash. */
export async function routeV1(service: Service, call: Call): Promise<Answer> {
  const name = call.path.slice(V1.length);
  const posts = name === 'obtain-token-auth/';
  const path = Object.hasOwn(paths, name) ? paths[name] : undefined;
  if (!posts && path === undefined) return detail(404, 'Not found.');
  const method = posts ? 'POST' : 'GET';
  if (call.method !== method) return detail(405, `Method "${call.method}" not allowed.`, { allow: method });
  if (posts || path === undefined) return obtainToken(service, call);

  const caller = callerOf(service, call);
  if (caller !== undefined && 'status' in caller) return caller;
  const wait = caller === undefined ? service.anonymous.take(call.address, call.now) : undefined;
  return wait === undefined ? path(service, call, caller) : throttled(wait);
}
