/** What faults do to a call and to an answer's content: refusals, pages, broken values, moved maps. The wire is another file's. */

import { type Answer, htmlPage, ok, refusal, unauthorised } from './answer.ts';
import { amount, type FaultRule, onData } from './fault-rules.ts';
import { isPlan } from './plans.ts';
import { wholeText } from './send.ts';
import type { Call, Service } from './service.ts';
import { readTime, writeTime } from './times.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Degrees a moved border goes east, and less and less over the last degrees before the date line, which stays. */
const SHIFT = 0.5;
const SLOWING = 10;
const RENAMED = 'PSCO:PSCO_EAST';

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

/** The two names of a rule change places, so that the old one is as unknown as the new one was. */
function renamed(name: string, rule: FaultRule): string {
  const [from = '', to = ''] = String(rule.value ?? RENAMED).split(':');
  return name === from ? to : name === to ? from : name;
}

const shifted = (longitude: number) => longitude + SHIFT * Math.min(1, (180 - Math.abs(longitude)) / SLOWING);

/** Where a point of the moved map lay before. */
function unshifted(longitude: number): number {
  const slope = SHIFT / SLOWING;
  if (longitude > 180 - SLOWING + SHIFT) return (longitude - 180 * slope) / (1 - slope);
  if (longitude < SLOWING - 180 + SHIFT) return (longitude - 180 * slope) / (1 + slope);
  return longitude - SHIFT;
}

/** The call as the service shall see it. */
export function changedCall(call: Call, rule: FaultRule): Call {
  if (rule.fault === 'clock-skew') return { ...call, now: call.now + amount(rule, 600) * 1_000 };
  if (rule.fault === 'plan-change') {
    const plan = String(rule.value ?? 'free');
    return isPlan(plan) ? { ...call, plan } : call;
  }
  const query = new URLSearchParams(call.query);
  const region = query.get('region');
  if (rule.fault === 'map-rename' && region !== null) {
    query.set('region', renamed(region, rule));
    return { ...call, query };
  }
  const longitude = Number.parseFloat(query.get('longitude') ?? '');
  if (rule.fault === 'map-border' && Math.abs(longitude) < 180) {
    query.set('longitude', String(unshifted(longitude)));
    return { ...call, query };
  }
  return call;
}

interface Point {
  point_time: string;
  value: unknown;
}
interface Envelope {
  data: (Point & { forecast?: Point[]; generated_at?: string })[];
  meta: Record<string, unknown>;
}

/** Applies a change to every list of points of an envelope. */
function onPoints(envelope: Envelope, change: (points: Point[]) => Point[]): Envelope {
  const nested = envelope.data.some(({ forecast }) => forecast !== undefined);
  const data = nested
    ? envelope.data.map((entry) => ({ ...entry, forecast: change(entry.forecast ?? []) }))
    : change(envelope.data);
  return { ...envelope, data: data as Envelope['data'] };
}

const eachTenth = (change: (point: Point) => Point) => (points: Point[]) =>
  points.map((point, i) => (i % 10 === 0 ? change(point) : point));

/** A fixed shuffle: each block of seven turned round. */
const unsorted = (points: Point[]) => points.flatMap((_, i) => (i % 7 === 0 ? points.slice(i, i + 7).reverse() : []));

function nextLabel(meta: Record<string, unknown>): Record<string, unknown> {
  const model = meta.model as { date?: string } | undefined;
  const [year = '2000', ...rest] = String(model?.date ?? '').split('-');
  return { ...meta, model: { ...model, date: [Number(year) + 1, ...rest].join('-') } };
}

/** The envelope as a rule leaves it. */
function changedEnvelope(envelope: Envelope, rule: FaultRule): Envelope {
  const { meta } = envelope;
  switch (rule.fault) {
    case 'text-values':
      return onPoints(
        envelope,
        eachTenth((point) => ({ ...point, value: String(rule.value ?? 'n/a') })),
      );
    case 'nulls':
      return onPoints(
        envelope,
        eachTenth((point) => ({ ...point, value: null })),
      );
    case 'repeated-points':
      return onPoints(envelope, (points) => points.flatMap((point, i) => (i % 10 === 0 ? [point, point] : [point])));
    case 'unsorted-points':
      return onPoints(envelope, unsorted);
    case 'missing-points':
      return onPoints(envelope, (points) => points.filter((_, i) => i % 12 < 9));
    case 'older-generated-at': {
      const issued = readTime(String(meta.generated_at)) ?? 0;
      const older = issued - amount(rule, 60) * MINUTE;
      return { ...envelope, meta: { ...meta, generated_at: writeTime(older) } };
    }
    case 'model-switch':
      return { ...envelope, meta: nextLabel(meta) };
    case 'wrong-units':
      return { ...envelope, meta: { ...meta, units: String(rule.value ?? 'kg_co2_per_mwh') } };
    case 'wrong-region':
      return { ...envelope, meta: { ...meta, region: String(rule.value ?? 'ELSEWHERE') } };
    case 'no-warnings-field': {
      const { warnings, ...rest } = meta;
      return { ...envelope, meta: rest };
    }
    case 'warnings':
      return {
        ...envelope,
        meta: {
          ...meta,
          warnings: [{ message: String(rule.value ?? 'Some inputs were late.'), type: 'data_quality' }],
        },
      };
    default:
      return envelope;
  }
}

interface Map {
  features: { geometry: { coordinates: number[][][][] } }[];
  meta: { last_updated: string };
}

/** Another map than before: its date is that of the change. */
function newerMap({ meta, ...map }: Map, rule: FaultRule): Map {
  const before = readTime(meta.last_updated) ?? 0;
  return { ...map, meta: { ...meta, last_updated: writeTime(rule.from ?? before + DAY) } };
}

function movedMap(map: Map): Map {
  const moved = (x: number) => Math.round(shifted(x) * 1e5) / 1e5;
  const features = map.features.map((feature) => ({
    ...feature,
    geometry: {
      ...feature.geometry,
      coordinates: feature.geometry.coordinates.map((polygon) =>
        polygon.map((ring) => ring.map(([x = 0, y = 0]) => [moved(x), y])),
      ),
    },
  }));
  return { ...map, features };
}

/** Every quoted word of a JSON text renamed, also those quoted inside a message. */
const renamedText = (text: string, rule: FaultRule) =>
  text.replace(/"([^"\\]+)(?=\\?")/g, (_, word: string) => `"${renamed(word, rule)}`);

function renamedAnswer(call: Call, answer: Answer, rule: FaultRule): Answer {
  const value = JSON.parse(renamedText(wholeText(answer), rule));
  const mapped = call.path === '/v3/maps' && answer.status === 200 ? newerMap(value as Map, rule) : value;
  return { ...answer, body: { kind: 'json', value: mapped } };
}

/** The answer as a rule leaves it; but for names, only good answers are worth breaking. */
export function changedAnswer(call: Call, answer: Answer, rule: FaultRule): Answer {
  if (answer.body.kind === 'text') return answer;
  if (rule.fault === 'map-rename') return renamedAnswer(call, answer, rule);
  if (answer.status !== 200) return answer;
  if (rule.fault === 'map-border' && call.path === '/v3/maps')
    return ok(newerMap(movedMap(JSON.parse(wholeText(answer)) as Map), rule));
  return onData(call.path) ? ok(changedEnvelope(JSON.parse(wholeText(answer)) as Envelope, rule)) : answer;
}
