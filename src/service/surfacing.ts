/** Says each warning of the service once, for they repeat in every answer (specification 2.6); keeps none of them. */

import type { Log } from '../world.ts';
import type { Envelope } from './answers.ts';

/** A service that makes up new warnings for ever is not followed for ever. */
const MOST = 100;

export function createSurfacing(log: Log) {
  const said = new Set<string>();
  return ({ region, warnings }: Pick<Envelope, 'region' | 'warnings'>): void => {
    for (const { type, message } of warnings) {
      const words = `${region}: ${type === '' ? '' : `${type}: `}${message}`;
      if (said.has(words) || said.size >= MOST) continue;
      said.add(words);
      log('warn', `the service warns about ${words}`);
    }
  };
}
