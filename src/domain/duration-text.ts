/** Reads and writes lengths of time as people type them, such as `1h30m`: one grammar for the configuration, MQTT commands and flags. */

import { type Duration, milliseconds } from './units.ts';

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
