/** Register, login and password reset (specification 4.1). */

import { findPasswordMistake, isEmail } from '../accounts/accounts.ts';
import { QueryReader } from '../http/query-parameters.ts';
import {
  type InputProblem,
  jsonResponse,
  okResponse,
  tooManyRequests,
  unauthorised,
  unprocessable,
} from '../http/response.ts';
import type { ApiRequest, PublicRoute } from '../http/route-types.ts';

const MAX_FIELD_LENGTH = 200;
const TOO_MANY_LOGINS = 'At most 100 logins in 5 minutes';
const TOO_MANY_STORED = 'At most 20 registrations and reset mails an hour from one address';

interface Registration {
  readonly username: string;
  readonly password: string;
  readonly email: string;
  readonly org: string | null;
}

function parseRegistration(body: Buffer): Registration | readonly InputProblem[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return [{ in: 'body', message: 'the body must be a JSON object', kind: 'value_error' }];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ in: 'body', message: 'the body must be a JSON object', kind: 'type_error' }];

  const fields = value as Record<string, unknown>;
  const problems: InputProblem[] = [];
  const addProblem = (name: string, message: string, kind: InputProblem['kind'] = 'value_error') =>
    problems.push({ in: 'body', name, message, kind });
  const readText = (name: string) => {
    const field = fields[name];
    if (field === undefined) addProblem(name, 'field required', 'missing');
    else if (typeof field !== 'string') addProblem(name, 'must be a text', 'type_error');
    else if (field.length > MAX_FIELD_LENGTH) addProblem(name, `must have at most ${MAX_FIELD_LENGTH} characters`);
    else return field;
    return undefined;
  };
  const username = readText('username');
  const password = readText('password');
  const email = readText('email');
  const org = fields.org === undefined || fields.org === null ? null : readText('org');

  if (username !== undefined && (username.trim() === '' || /[:\p{Cc}]/u.test(username)))
    addProblem('username', 'must not be empty nor hold a colon or a control character');
  const passwordMistake = password === undefined ? undefined : findPasswordMistake(password);
  if (passwordMistake !== undefined) addProblem('password', passwordMistake);
  if (email !== undefined && !isEmail(email)) addProblem('email', 'must be an e-mail address');
  if (problems.length > 0 || username === undefined || password === undefined || email === undefined) return problems;
  return { username, password, email, org: org ?? null };
}

/** `POST /register`: JSON body only. */
export const register: PublicRoute = async ({ accounts, attemptLimits, newPlan, profile }, request) => {
  const registration = parseRegistration(request.body);
  if (!('username' in registration)) return unprocessable(profile, registration);
  const wait = attemptLimits.countStored(request.address, request.now);
  if (wait !== undefined) return tooManyRequests(TOO_MANY_STORED, wait);
  const isCreated = await accounts.create({ ...registration, plan: newPlan });
  if (!isCreated) return jsonResponse(400, { error: profile.usernameTaken(registration.username) });
  return okResponse({ ok: 'User created', user: registration.username });
};

/** Name and password of a basic authorization header. */
function parseBasicCredentials(
  request: ApiRequest,
): { readonly username: string; readonly password: string } | undefined {
  const header = request.headers.authorization;
  const encoded = typeof header === 'string' ? /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)?.[1] : undefined;
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon < 0 ? undefined : { username: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/** `GET /login`. */
export const login: PublicRoute = async ({ accounts, tokens, attemptLimits, profile, counts }, request) => {
  const credentials = parseBasicCredentials(request);
  counts.logins += 1;
  const { address, now } = request;
  const wait = attemptLimits.countLogin(address, credentials?.username.slice(0, MAX_FIELD_LENGTH), now);
  if (wait !== undefined) return tooManyRequests(TOO_MANY_LOGINS, wait);
  const account =
    credentials === undefined ? undefined : await accounts.verify(credentials.username, credentials.password);
  if (account === undefined) {
    counts.refusedLogins += 1;
    return unauthorised(profile.authErrors, 'Wrong username or password.', 'Basic');
  }
  const goodWait = attemptLimits.countGoodLogin(address, account.username, now);
  if (goodWait !== undefined) return tooManyRequests(TOO_MANY_LOGINS, goodWait);
  return okResponse({ token: tokens.issue(account.username, now) });
};

/** `GET /password`: a reset mail is sent. */
export const requestPasswordReset: PublicRoute = async ({ accounts, attemptLimits, profile }, request) => {
  const query = new QueryReader(request.query);
  const username = query.text('username');
  if (query.problems.length > 0) return unprocessable(profile, query.problems);
  const wait = attemptLimits.countStored(request.address, request.now);
  if (wait !== undefined) return tooManyRequests(TOO_MANY_STORED, wait);
  const account = accounts.findByName(username);
  if (account === undefined)
    return jsonResponse(400, { error: `There is no account named ${username.slice(0, MAX_FIELD_LENGTH)}.` });
  await accounts.mailReset(account, request.now);
  return okResponse({ ok: 'Please check your email for the password reset link' });
};
