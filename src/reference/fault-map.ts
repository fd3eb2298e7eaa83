/** What faults do to the map and to names of regions: moved borders, a region renamed wherever it stands. Draws no border of its own. */

import { type Answer, ok } from './answer.ts';
import type { FaultRule } from './fault-rules.ts';
import { wholeText } from './send.ts';
import type { Call } from './service.ts';
import { readTime, writeTime } from './times.ts';

const DAY = 86_400_000;
/** Degrees a moved border goes east, and less and less over the last degrees before the date line, which stays. */
const SHIFT = 0.5;
const SLOWING = 10;
const RENAMED = 'PSCO:PSCO_EAST';

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

/** The call by the borders of before. */
export function unmoved(call: Call): Call {
  const query = new URLSearchParams(call.query);
  const longitude = Number(query.get('longitude') || Number.NaN);
  if (Math.abs(longitude) < 180) query.set('longitude', String(unshifted(longitude)));
  return { ...call, query };
}

/** The call by the names of before. */
export function unrenamed(call: Call, rule: FaultRule): Call {
  const query = new URLSearchParams(call.query);
  const region = query.get('region');
  if (region !== null) query.set('region', renamed(region, rule));
  return { ...call, query };
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

export const movedAnswer = (answer: Answer, rule: FaultRule) =>
  ok(newerMap(movedMap(JSON.parse(wholeText(answer)) as Map), rule));

/** Every quoted word of a JSON text renamed, also those quoted inside a message. */
const renamedText = (text: string, rule: FaultRule) =>
  text.replace(/"([^"\\]+)(?=\\?")/g, (_, word: string) => `"${renamed(word, rule)}`);

export function renamedAnswer(call: Call, answer: Answer, rule: FaultRule): Answer {
  const value = JSON.parse(renamedText(wholeText(answer), rule));
  const mapped = call.path === '/v3/maps' && answer.status === 200 ? newerMap(value as Map, rule) : value;
  return { ...answer, body: { kind: 'json', value: mapped } };
}
