/** What a fault does to a call and to its answer's content, or which answer stands in its place. The wire is another file's. */

import { type Answer, htmlPage, ok, refusal, unauthorised } from './answer.ts';
import { movedAnswer, renamedAnswer, unmoved, unrenamed } from './fault-map.ts';
import { changedEnvelope, type Envelope } from './fault-points.ts';
import { amount, type FaultRule, onData } from './fault-rules.ts';
import { isPlan } from './plans.ts';
import { wholeText } from './send.ts';
import type { Call, Service } from './service.ts';

const MINUTE = 60_000;

const bearerIn = (call: Call) => String(call.headers.authorization ?? '').replace(/^bearer +/i, '');

/** A token dies at this age when a fault shortens its life. */
const diesEarly = ({ tokens }: Service, call: Call, rule: FaultRule) => {
  const token = bearerIn(call);
  const age = tokens.age(token, call.now);
  if (age === undefined || age < amount(rule, 10) * MINUTE) return false;
  tokens.revoke(token);
  return true;
};

/** The answer given instead of the service's own, if the rule has one. */
export function insteadOf(service: Service, call: Call, rule: FaultRule): Answer | undefined {
  switch (rule.fault) {
    case '401-mid-life':
      return diesEarly(service, call, rule)
        ? unauthorised('json', 'The access token is no longer valid.', 'Bearer')
        : undefined;
    case 'html-401':
      return diesEarly(service, call, rule) ? htmlPage(401, 'Authorization Required') : undefined;
    case 'html-403':
      return diesEarly(service, call, rule) ? htmlPage(403, 'Forbidden') : undefined;
    case '429':
      return refusal(429, 'too_many_requests', 'Too many requests.', { 'retry-after': String(rule.value ?? 30) });
    case '429-bare':
      return refusal(429, 'too_many_requests', 'Too many requests.');
    case '500':
      return refusal(500, 'internal_error', 'Something went wrong.');
    case '502-html':
      return htmlPage(502, 'Bad Gateway');
    case '503':
      return refusal(503, 'unavailable', 'The service is down for maintenance.');
    case 'redirect':
      return {
        status: 302,
        headers: { location: String(rule.value ?? 'https://elsewhere.invalid/') },
        body: { kind: 'text', text: '', type: 'text/html' },
      };
    case 'captive-portal':
      return htmlPage(200, 'Welcome to our guest network');
    default:
      return undefined;
  }
}

/** The call as the service shall see it. */
export function changedCall(call: Call, rule: FaultRule): Call {
  if (rule.fault === 'clock-skew') return { ...call, now: call.now + amount(rule, 600) * 1_000 };
  if (rule.fault === 'plan-change') {
    const plan = String(rule.value ?? 'free');
    return isPlan(plan) ? { ...call, plan } : call;
  }
  if (rule.fault === 'map-rename') return unrenamed(call, rule);
  if (rule.fault === 'map-border') return unmoved(call);
  return call;
}

/** The answer as a rule leaves it; but for names, only good answers are worth breaking. */
export function changedAnswer(call: Call, answer: Answer, rule: FaultRule): Answer {
  if (answer.body.kind === 'text') return answer;
  if (rule.fault === 'map-rename') return renamedAnswer(call, answer, rule);
  if (answer.status !== 200) return answer;
  if (rule.fault === 'map-border' && call.path === '/v3/maps') return movedAnswer(answer, rule);
  return onData(call.path) ? ok(changedEnvelope(JSON.parse(wholeText(answer)) as Envelope, rule)) : answer;
}
