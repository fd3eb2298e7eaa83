/** Faults of the map and of region names: moved borders, and a region renamed wherever it stands. */

import { type ApiResponse, jsonResponse, okResponse } from '../http/response.ts';
import type { ApiRequest } from '../http/route-types.ts';
import { formatBody } from '../http/send-response.ts';
import { formatServiceTime, parseServiceTime, readZone } from '../http/service-times.ts';
import type { FaultRule } from './fault-rules.ts';

const DAY = 86_400_000;
/** Degrees a moved border goes east, and less and less over the last degrees before the date line, which stays. */
const BORDER_SHIFT = 0.5;
const SHIFT_FADE = 10;
const DEFAULT_RENAME = 'PSCO:PSCO_EAST';

/** The two names of a rule change places: the old one is then as unknown as the new one was. */
function swapName(name: string, rule: FaultRule): string {
  const [from = '', to = ''] = String(rule.value ?? DEFAULT_RENAME).split(':');
  return name === from ? to : name === to ? from : name;
}

const shiftLongitude = (longitude: number) =>
  longitude + BORDER_SHIFT * Math.min(1, (180 - Math.abs(longitude)) / SHIFT_FADE);

/** Where a point of the moved map lay before. */
function unshiftLongitude(longitude: number): number {
  const slope = BORDER_SHIFT / SHIFT_FADE;
  if (longitude > 180 - SHIFT_FADE + BORDER_SHIFT) return (longitude - 180 * slope) / (1 - slope);
  if (longitude < SHIFT_FADE - 180 + BORDER_SHIFT) return (longitude - 180 * slope) / (1 + slope);
  return longitude - BORDER_SHIFT;
}

/** The request by the borders of before. */
export function restoreBorders(request: ApiRequest): ApiRequest {
  const query = new URLSearchParams(request.query);
  const longitude = Number(query.get('longitude') || Number.NaN);
  if (Math.abs(longitude) < 180) query.set('longitude', String(unshiftLongitude(longitude)));
  return { ...request, query };
}

/** The request by the names of before. */
export function restoreNames(request: ApiRequest, rule: FaultRule): ApiRequest {
  const query = new URLSearchParams(request.query);
  const region = query.get('region');
  if (region !== null) query.set('region', swapName(region, rule));
  return { ...request, query };
}

interface MapDocument {
  features: { geometry: { coordinates: number[][][][] } }[];
  meta: { last_updated: string };
}

/** A changed map has the date of the change. */
function renewMapDate({ meta, ...map }: MapDocument, rule: FaultRule): MapDocument {
  const before = parseServiceTime(meta.last_updated) ?? 0;
  const date = formatServiceTime(rule.from ?? before + DAY, readZone(meta.last_updated));
  return { ...map, meta: { ...meta, last_updated: date } };
}

function moveBorders(map: MapDocument): MapDocument {
  const moveLongitude = (x: number) => Math.round(shiftLongitude(x) * 1e5) / 1e5;
  const features = map.features.map((feature) => ({
    ...feature,
    geometry: {
      ...feature.geometry,
      coordinates: feature.geometry.coordinates.map((polygon) =>
        polygon.map((ring) => ring.map(([x = 0, y = 0]) => [moveLongitude(x), y])),
      ),
    },
  }));
  return { ...map, features };
}

export const moveMapResponse = (answer: ApiResponse, rule: FaultRule) =>
  okResponse(renewMapDate(moveBorders(JSON.parse(formatBody(answer)) as MapDocument), rule));

/** Every quoted word of a JSON text renamed, also those quoted inside a message. */
const renameInText = (text: string, rule: FaultRule) =>
  text.replace(/"([^"\\]+)(?=\\?")/g, (_, word: string) => `"${swapName(word, rule)}`);

export function renameInResponse(request: ApiRequest, answer: ApiResponse, rule: FaultRule): ApiResponse {
  const value = JSON.parse(renameInText(formatBody(answer), rule));
  const mapped =
    request.path === '/v3/maps' && answer.status === 200 ? renewMapDate(value as MapDocument, rule) : value;
  // It is another map than the one that the tag names.
  const headers = Object.entries(answer.headers ?? {}).filter(([name]) => name !== 'etag');
  return jsonResponse(answer.status, mapped, Object.fromEntries(headers));
}
