/** Proposes the time zone of a place: that of the nearest city in the system's table of zones. */

import { readFile } from 'node:fs/promises';
import { getZoneOffset } from '../../domain/time-zone.ts';

const ZONE_TABLE = '/usr/share/zoneinfo/zone.tab';
/** Country, latitude and longitude of the zone's city in degrees and minutes, with seconds where the digits are more, and the zone. */
const ZONE_ROW = /^[A-Z]{2}\t([+-])(\d{2})(\d{2})(?:\d{2})?([+-])(\d{3})(\d{2})(?:\d{2})?\t([^\t\n]+)/gm;

const toDegrees = (sign = '', degrees = '', minutes = '') =>
  (sign === '-' ? -1 : 1) * (Number(degrees) + Number(minutes) / 60);

/** The cosine of the angle between two places on the sphere: the greater, the nearer. */
function computeNearness(latitude: number, longitude: number, otherLatitude: number, otherLongitude: number): number {
  const [a, b, c] = [latitude, otherLatitude, longitude - otherLongitude].map((degrees) => (degrees * Math.PI) / 180);
  if (a === undefined || b === undefined || c === undefined) return -1;
  return Math.sin(a) * Math.sin(b) + Math.cos(a) * Math.cos(b) * Math.cos(c);
}

/** Times of a year at which zones are compared: Munich is nearer to Vaduz than to Berlin, and has the time of both. */
const SAMPLES = [0, 3, 6, 9].map((month) => Date.UTC(2026, month, 20));
const isSameTime = (a: string, b: string) => SAMPLES.every((at) => getZoneOffset(a, at) === getZoneOffset(b, at));

/** This machine's zone where its clock shows the same time all year; undefined where the system has no such table. */
export async function findNearestZone(
  latitude: number,
  longitude: number,
  ownZone?: string,
): Promise<string | undefined> {
  const table = await readFile(ZONE_TABLE, 'utf8').catch(() => '');
  let nearest: { readonly zone: string; readonly nearness: number } | undefined;
  for (const [, north, degrees, minutes, east, eastDegrees, eastMinutes, zone = ''] of table.matchAll(ZONE_ROW)) {
    const city = [toDegrees(north, degrees, minutes), toDegrees(east, eastDegrees, eastMinutes)] as const;
    const nearness = computeNearness(latitude, longitude, ...city);
    if (nearest === undefined || nearness > nearest.nearness) nearest = { zone, nearness };
  }
  if (nearest === undefined || ownZone === undefined) return nearest?.zone;
  return isSameTime(nearest.zone, ownZone) ? ownZone : nearest.zone;
}
