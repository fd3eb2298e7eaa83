/** The paths of v1: tokens, throttle, error bodies (specification 4.5, 5, 7). */

import type { Account } from '../accounts/account-store.ts';
import { hasMarginalAccess } from '../accounts/plans.ts';
import { answerOtherMethod, V1_PREFIX } from '../http/methods.ts';
import { findRepeatedNames } from '../http/query-parameters.ts';
import { type ApiResponse, jsonResponse, okResponse, redirectTo, v1Error } from '../http/response.ts';
import type { ApiRequest, PublicRoute, ServiceParts } from '../http/route-types.ts';
import { authorities } from './v1-authorities.ts';
import { buildPage, describeDataPoint, describeMarginalPoint } from './v1-points.ts';

function parseFields(request: ApiRequest): Readonly<Record<string, unknown>> | undefined {
  const text = request.body.toString('utf8');
  const type = String(request.headers['content-type'] ?? '').toLowerCase();
  if (!type.includes('json')) return Object.fromEntries(new URLSearchParams(text));
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const readFilledText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** `POST /api/v1/obtain-token-auth/`: answers the account's token and never changes it. */
const obtainToken: PublicRoute = async ({ accounts, attemptLimits }, request) => {
  const fields = parseFields(request);
  if (fields === undefined) return v1Error(400, 'The body is not valid JSON.');
  const username = readFilledText(fields.username);
  const password = readFilledText(fields.password);
  if (username === undefined || password === undefined) {
    const required = ['This field is required.'];
    const missing = [...(username === undefined ? ['username'] : []), ...(password === undefined ? ['password'] : [])];
    return jsonResponse(400, Object.fromEntries(missing.map((name) => [name, required])));
  }
  const { address, now } = request;
  const wait = attemptLimits.countLogin(address, username, now);
  if (wait !== undefined) return throttledResponse(wait);
  const account = await accounts.verify(username, password);
  if (account === undefined)
    return jsonResponse(400, { non_field_errors: ['Unable to login with provided credentials.'] });
  const goodWait = attemptLimits.countGoodLogin(address, username, now);
  if (goodWait !== undefined) return throttledResponse(goodWait);
  return okResponse({ token: account.apiToken });
};

/** The holder of the token, undefined for a visitor, or the refusal of a bad header. */
function findHolder({ accounts }: ServiceParts, request: ApiRequest): Account | undefined | ApiResponse {
  const header = request.headers.authorization;
  const words = typeof header === 'string' ? header.trim().split(/\s+/) : [];
  // Without the word the client counts as a visitor, with a bare key too.
  if (words[0]?.toLowerCase() !== 'token') return undefined;
  const refuse = (text: string) => v1Error(401, text, { 'www-authenticate': 'Token' });
  if (words[1] === undefined) return refuse('Invalid token header. No credentials provided.');
  if (words.length > 2) return refuse('Invalid token header. Token string should not contain spaces.');
  return accounts.findByApiToken(words[1]) ?? refuse('Invalid token');
}

function throttledResponse(wait: number): ApiResponse {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return v1Error(
    429,
    `Request was throttled.Expected available in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    {
      'retry-after': `${seconds}`,
      'x-throttle-wait-seconds': `${seconds}`,
    },
  );
}

const answerMarginal = (service: ServiceParts, request: ApiRequest, account: Account | undefined) =>
  account !== undefined && hasMarginalAccess(request.plan ?? account.plan)
    ? buildPage(service, request, describeMarginalPoint)
    : v1Error(403, 'You do not have permission to perform this action.');

type V1Route = (
  service: ServiceParts,
  request: ApiRequest,
  account: Account | undefined,
) => ApiResponse | Promise<ApiResponse>;
const TOKEN_PATH = 'obtain-token-auth/';
const v1Routes: Readonly<Record<string, V1Route>> = {
  'balancing_authorities/': authorities,
  'datapoints/': (service, request) => buildPage(service, request, describeDataPoint),
  'marginal/': answerMarginal,
};

/** Answers a request under `/api/v1/`; every path ends in a slash, and one without it is sent to the one with it. */
export async function answerV1Request(service: ServiceParts, request: ApiRequest): Promise<ApiResponse> {
  const name = request.path.slice(V1_PREFIX.length);
  const isRoute = (path: string) => path === TOKEN_PATH || Object.hasOwn(v1Routes, path);
  if (!isRoute(name)) {
    if (!isRoute(`${name}/`)) return v1Error(404, 'Not found.');
    return redirectTo(`${request.path}/${request.query.size === 0 ? '' : `?${request.query}`}`);
  }
  const handler = v1Routes[name];
  const other = answerOtherMethod(request, handler === undefined ? 'POST' : 'GET');
  if (other !== undefined) return other;
  if (handler === undefined) return obtainToken(service, request);
  const repeated = [...findRepeatedNames(request.query)];
  if (repeated.length > 0)
    return jsonResponse(400, Object.fromEntries(repeated.map((each) => [each, ['Given more than once.']])));

  const holder = findHolder(service, request);
  if (holder !== undefined && 'status' in holder) return holder;
  const wait = holder === undefined ? service.anonymousLimits.countOrWait(request.address, request.now) : undefined;
  return wait === undefined ? handler(service, request, holder) : throttledResponse(wait);
}
