/** Says each warning of the service once a day, for they repeat in every answer (specification 2.6); decides nothing by them. */

import { between, days, type Uptime } from '../units.ts';
import type { Clock, Log } from '../world.ts';
import type { Envelope } from './answers.ts';

/** A service that makes up new warnings with every answer must not fill a memory card. */
const MOST_A_DAY = 100;

interface Day {
  readonly since: Uptime;
  readonly said: Set<string>;
  isFull: boolean;
}

export function createSurfacing(log: Log, clock: Clock) {
  let day: Day | undefined;

  return ({ region, warnings }: Pick<Envelope, 'region' | 'warnings'>): void => {
    const { uptime } = clock.now();
    if (day === undefined || between(day.since, uptime) >= days(1))
      day = { since: uptime, said: new Set(), isFull: false };
    for (const { type, message } of warnings) {
      const words = `${region}: ${type === '' ? '' : `${type}: `}${message}`;
      if (day.said.has(words) || day.isFull) continue;
      if (day.said.size < MOST_A_DAY) {
        day.said.add(words);
        log('warn', `the service warns about ${words}`);
      } else {
        day.isFull = true;
        log('warn', `the service gave more than ${MOST_A_DAY} different warnings; further ones are not said for a day`);
      }
    }
  };
}
