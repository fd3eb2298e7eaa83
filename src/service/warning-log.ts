/** Logs each warning of the service once a day, because every answer repeats them (specification 2.6). */

import type { Clock, Log } from '../domain/ports.ts';
import { days, durationBetween, type Uptime } from '../domain/units.ts';
import type { Envelope } from './api/response-types.ts';

/** A service that makes up new warnings with every answer must not fill a memory card. */
const MAX_WARNINGS_PER_DAY = 100;

interface LoggedDay {
  readonly since: Uptime;
  readonly logged: Set<string>;
  isFull: boolean;
}

export function createWarningLog(log: Log, clock: Clock) {
  let day: LoggedDay | undefined;

  return ({ region, warnings }: Pick<Envelope, 'region' | 'warnings'>): void => {
    const { uptime } = clock.now();
    if (day === undefined || durationBetween(day.since, uptime) >= days(1))
      day = { since: uptime, logged: new Set(), isFull: false };
    for (const { type, message } of warnings) {
      const line = `${region}: ${type === '' ? '' : `${type}: `}${message}`;
      if (day.logged.has(line) || day.isFull) continue;
      if (day.logged.size < MAX_WARNINGS_PER_DAY) {
        day.logged.add(line);
        log('warn', `the service warns about ${line}`);
      } else {
        day.isFull = true;
        log(
          'warn',
          `the service gave more than ${MAX_WARNINGS_PER_DAY} different warnings; further ones are not logged for a day`,
        );
      }
    }
  };
}
