/** An output that only logs its levels and remembers them. */

import type { Level } from '../domain/load-types.ts';
import type { Log } from '../domain/ports.ts';
import type { Output } from './output.ts';

export interface DryRunOutputParts {
  readonly load: string;
  readonly log: Log;
}

export function createDryRunOutput({ load, log }: DryRunOutputParts): Output {
  let level: Level | undefined;
  return {
    open: async () => (level === undefined ? {} : { level }),
    async apply(next) {
      if (next !== level) log('info', `dry run: "${load}" would be switched ${next}`, { load, next });
      level = next;
      return undefined;
    },
    read: async () => level,
    watch() {},
    release: async () => false,
    async close() {},
  };
}
