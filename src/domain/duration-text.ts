/** Reads lengths of time as people type them, such as `1h30m`, in the configuration, MQTT commands and flags; writes them so, and in words. */

import { type Duration, milliseconds, minutes } from './units.ts';

const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

export const DURATION_PATTERN =
  /^(?=\d)(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?$/;
/** `90s`, `1h30m`, `2d`; undefined when the text is no duration or too long to count. */
export function parseDuration(text: string): Duration | undefined {
  const parts = DURATION_PATTERN.exec(text);
  if (parts === null) return undefined;
  const total = DURATION_UNITS.reduce((sum, [, size], i) => sum + Number(parts[i + 1] ?? 0) * size, 0);
  return Number.isFinite(total) ? milliseconds(Math.round(total)) : undefined;
}

/** The shortest text of a duration: 5,400,000 ms is `1h30m`. */
export function formatDuration(length: Duration): string {
  let left: number = length;
  const parts = DURATION_UNITS.map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : `${count}${unit}`;
  });
  return parts.join('') || '0s';
}

/** `1 h 20 min`, rounded to the minute, never `0 min` of something. */
export function formatHoursMinutes(length: Duration): string {
  const total = Math.round(length / 60_000);
  if (total === 0) return length > 0 ? 'under 1 min' : '0 min';
  const [h, min] = [Math.floor(total / 60), total % 60];
  if (h === 0) return `${min} min`;
  return min === 0 ? `${h} h` : `${h} h ${min} min`;
}

/** How long a person waits, rounded up: in seconds up to two minutes, then as `1 h 20 min`. */
export function formatWait(wait: Duration): string {
  const count = Math.max(1, Math.ceil(wait / 1_000));
  return count < 120 ? `${count} s` : formatHoursMinutes(minutes(Math.ceil(count / 60)));
}
