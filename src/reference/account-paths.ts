/** Register, login and password reset (specification 4.1). Decides nothing about data. */

import { isEmail, passwordFault } from './accounts.ts';
import { json, ok, type Problem, tooMany, unauthorised, unprocessable } from './answer.ts';
import type { Call, OpenPath } from './service.ts';

const MOST_CHARACTERS = 200;

interface Registration {
  readonly username: string;
  readonly password: string;
  readonly email: string;
  readonly org: string | null;
}

function readRegistration(body: Buffer): Registration | readonly Problem[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return [{ in: 'body', message: 'the body must be a JSON object', kind: 'value_error' }];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ in: 'body', message: 'the body must be a JSON object', kind: 'type_error' }];

  const fields = value as Record<string, unknown>;
  const problems: Problem[] = [];
  const say = (name: string, message: string, kind: Problem['kind'] = 'value_error') =>
    problems.push({ in: 'body', name, message, kind });
  const text = (name: string) => {
    const field = fields[name];
    if (field === undefined) say(name, 'field required', 'missing');
    else if (typeof field !== 'string') say(name, 'must be a text', 'type_error');
    else if (field.length > MOST_CHARACTERS) say(name, `must have at most ${MOST_CHARACTERS} characters`);
    else return field;
    return undefined;
  };
  const username = text('username');
  const password = text('password');
  const email = text('email');
  const org = fields.org === undefined || fields.org === null ? null : text('org');

  if (username !== undefined && (username.trim() === '' || /[:\p{Cc}]/u.test(username)))
    say('username', 'must not be empty nor hold a colon or a control character');
  const fault = password === undefined ? undefined : passwordFault(password);
  if (fault !== undefined) say('password', fault);
  if (email !== undefined && !isEmail(email)) say('email', 'must be an e-mail address');
  if (problems.length > 0 || username === undefined || password === undefined || email === undefined) return problems;
  return { username, password, email, org: org ?? null };
}

/** `POST /register`: JSON body only. */
export const register: OpenPath = async ({ accounts, newPlan }, call) => {
  const wanted = readRegistration(call.body);
  if (!('username' in wanted)) return unprocessable(...wanted);
  const made = await accounts.create({ ...wanted, plan: newPlan });
  if (!made) return json(400, { error: `The username ${wanted.username} is taken.` });
  return ok({ ok: 'User created', user: wanted.username });
};

/** Name and password of a basic authorization header. */
function basicCredentials(call: Call): { readonly username: string; readonly password: string } | undefined {
  const header = call.headers.authorization;
  const encoded = typeof header === 'string' ? /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)?.[1] : undefined;
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon < 0 ? undefined : { username: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/** `GET /login`. */
export const login: OpenPath = async ({ accounts, tokens, logins, authErrors, counts }, call) => {
  const given = basicCredentials(call);
  counts.logins += 1;
  const wait = logins.take(given?.username.slice(0, MOST_CHARACTERS) ?? call.address, call.now);
  if (wait !== undefined) return tooMany('At most 100 logins in 5 minutes', wait);
  const account = given === undefined ? undefined : await accounts.verify(given.username, given.password);
  if (account === undefined) {
    counts.refusedLogins += 1;
    return unauthorised(authErrors, 'Wrong username or password.', 'Basic');
  }
  return ok({ token: tokens.issue(account.username, call.now) });
};

/** `GET /password`: a reset mail is sent. */
export const password: OpenPath = async ({ accounts }, call) => {
  const username = call.query.get('username');
  if (username === null || username === '')
    return unprocessable({ in: 'query', name: 'username', message: 'field required', kind: 'missing' });
  const account = accounts.named(username);
  if (account === undefined)
    return json(400, { error: `There is no account named ${username.slice(0, MOST_CHARACTERS)}.` });
  await accounts.mailReset(account, call.now);
  return ok({ ok: 'Please check your email for the password reset link' });
};
