/** Applies a fault to a request or to the content of its answer, or gives another answer in its place. */

import { isPlanName } from '../accounts/plans.ts';
import { type ApiResponse, errorResponse, htmlPage, okResponse, unauthorised } from '../http/response.ts';
import type { ApiRequest, ServiceParts } from '../http/route-types.ts';
import { formatBody } from '../http/send-response.ts';
import { moveMapResponse, renameInResponse, restoreBorders, restoreNames } from './fault-map.ts';
import { changeDataDocument, type DataDocument } from './fault-points.ts';
import { type FaultRule, isDataPath, readAmount } from './fault-rules.ts';

const MINUTE = 60_000;

const readBearerToken = (request: ApiRequest) => String(request.headers.authorization ?? '').replace(/^bearer +/i, '');

/** A token dies at this age when a fault shortens its life. */
const expireEarly = ({ tokens }: ServiceParts, request: ApiRequest, rule: FaultRule) => {
  const token = readBearerToken(request);
  const age = tokens.findAge(token, request.now);
  if (age === undefined || age < readAmount(rule, 10) * MINUTE) return false;
  tokens.revoke(token);
  return true;
};

/** The answer given instead of the service's own, if the rule has one. */
export function findReplacement(service: ServiceParts, request: ApiRequest, rule: FaultRule): ApiResponse | undefined {
  switch (rule.fault) {
    case '401':
      return unauthorised('json', 'The access token is not valid here.', 'Bearer');
    case '401-mid-life':
      return expireEarly(service, request, rule)
        ? unauthorised('json', 'The access token is no longer valid.', 'Bearer')
        : undefined;
    case 'html-401':
      return expireEarly(service, request, rule) ? htmlPage(401, 'Authorization Required') : undefined;
    case 'html-403':
      return expireEarly(service, request, rule) ? htmlPage(403, 'Forbidden') : undefined;
    case '429':
      return errorResponse(429, 'too_many_requests', 'Too many requests.', { 'retry-after': String(rule.value ?? 30) });
    case '429-bare':
      return errorResponse(429, 'too_many_requests', 'Too many requests.');
    case '500':
      return errorResponse(500, 'internal_error', 'Something went wrong.');
    case '502-html':
      return htmlPage(502, 'Bad Gateway');
    case '503':
      return errorResponse(503, 'unavailable', 'The service is down for maintenance.');
    case 'redirect':
      return {
        status: 302,
        headers: { location: String(rule.value ?? 'https://elsewhere.invalid/') },
        body: { kind: 'text', text: '', type: 'text/html' },
      };
    case 'empty':
      return { status: 200, body: { kind: 'text', text: String(rule.value ?? ''), type: 'application/json' } };
    case 'captive-portal':
      return htmlPage(200, 'Welcome to our guest network');
    default:
      return undefined;
  }
}

/** The request as the service shall read it. */
export function changeRequest(request: ApiRequest, rule: FaultRule): ApiRequest {
  if (rule.fault === 'clock-skew') return { ...request, now: request.now + readAmount(rule, 600) * 1_000 };
  if (rule.fault === 'plan-change') {
    const plan = String(rule.value ?? 'free');
    return isPlanName(plan) ? { ...request, plan } : request;
  }
  if (rule.fault === 'map-rename') return restoreNames(request, rule);
  if (rule.fault === 'map-border') return restoreBorders(request);
  return request;
}

/** The answer as a rule leaves it. Apart from renaming, only good answers are changed. */
export function changeResponse(request: ApiRequest, answer: ApiResponse, rule: FaultRule): ApiResponse {
  if (answer.body.kind === 'text') return answer;
  if (rule.fault === 'map-rename') return renameInResponse(request, answer, rule);
  if (answer.status !== 200) return answer;
  if (rule.fault === 'map-border' && request.path === '/v3/maps') return moveMapResponse(answer, rule);
  return isDataPath(request.path)
    ? okResponse(changeDataDocument(JSON.parse(formatBody(answer)) as DataDocument, rule))
    : answer;
}
