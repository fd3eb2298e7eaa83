/** How the service reads and writes times: every accepted spelling in, the profile's spelling out. */

import type { ZoneText } from './profile.ts';

const DAY = 86_400_000;
const TIME_PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:Z|([+\- ])(\d{2}):?(\d{2}))$/i;
const DATE_PATTERN = /^(\d{4})-(\d{2})-(\d{2})$/;

/** Midnight UTC of a calendar date, or undefined for a date that does not exist. */
function computeMidnight(year: number, month: number, day: number): number | undefined {
  const at = Date.UTC(year, month - 1, day);
  const roundTrip = new Date(at);
  const exists =
    roundTrip.getUTCFullYear() === year && roundTrip.getUTCMonth() === month - 1 && roundTrip.getUTCDate() === day;
  return exists ? at : undefined;
}

/**
 * Milliseconds since 1970 of a time with a zone, or undefined. A space before the offset is a `+` that a client did
 * not encode.
 */
export function parseServiceTime(text: string): number | undefined {
  const parts = TIME_PATTERN.exec(text.trim());
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const midnight = computeMidnight(year ?? 0, month ?? 0, day ?? 0);
  if (midnight === undefined || (hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59) return undefined;
  const [zoneHour, zoneMinute] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  if (zoneHour > 23 || zoneMinute > 59) return undefined;
  const zone = (zoneHour * 60 + zoneMinute) * (parts[8] === '-' ? -1 : 1);
  const secondsOfDay = ((hour ?? 0) * 60 + (minute ?? 0) - zone) * 60 + (second ?? 0);
  return midnight + secondsOfDay * 1_000 + Math.floor(Number(`0.${parts[7] ?? 0}`) * 1_000);
}

/** Midnight UTC of a bare date such as `2019-01-01`, or undefined. */
export function parseServiceDate(text: string): number | undefined {
  const parts = DATE_PATTERN.exec(text.trim());
  return parts === null ? undefined : computeMidnight(Number(parts[1]), Number(parts[2]), Number(parts[3]));
}

const minutesOfDay = Array.from({ length: 1_440 }, (_, m) => {
  const two = (n: number) => String(n).padStart(2, '0');
  return `T${two(Math.floor(m / 60))}:${two(m % 60)}:`;
});
let lastDay = Number.NaN;
let lastDate = '';

/** `2026-03-01`. */
export function formatServiceDate(at: number): string {
  const day = Math.floor(at / DAY);
  if (day !== lastDay) {
    lastDate = new Date(day * DAY).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastDate;
}

/** `2026-03-01T07:05:00+00:00`, or with `Z`; fractions of a second are dropped. */
export function formatServiceTime(at: number, zone: ZoneText = '+00:00'): string {
  const date = formatServiceDate(at);
  const within = at - lastDay * DAY;
  const second = Math.floor(within / 1_000) % 60;
  return `${date}${minutesOfDay[Math.floor(within / 60_000)]}${second < 10 ? '0' : ''}${second}${zone}`;
}

/** How a time the service wrote ends. */
export const readZone = (text: string): ZoneText => (text.endsWith('Z') ? 'Z' : '+00:00');
