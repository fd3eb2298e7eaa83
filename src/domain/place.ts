/** Reads a latitude and a longitude as a place, with the longitude brought into ±180. */

import { type Place, toLatitude, toLongitude } from './units.ts';

/** The one mistake everybody makes: the numbers would be a place the other way round. */
const hintIfSwapped = (north: number, east: number) =>
  toLatitude(east) !== undefined && toLongitude(north) !== undefined ? '; are latitude and longitude swapped?' : '';

/** A sentence when the numbers are no place. Longitudes up to ±360 are read as the same meridian within ±180. */
export function toPlace(north: number, east: number): Place | string {
  const lat = toLatitude(north);
  if (lat === undefined) return `latitude ${north} is not within -90 to 90${hintIfSwapped(north, east)}`;
  if (!(Math.abs(east) <= 360)) return `longitude ${east} is not within -360 to 360`;
  const lon = toLongitude(east > 180 ? east - 360 : east < -180 ? east + 360 : east);
  return lon === undefined ? `longitude ${east} is not within -360 to 360` : { latitude: lat, longitude: lon };
}
