/** The fail-safe physical level of every GPIO line, in the order of setting. */

import type { LoadConfig } from '../domain/load-types.ts';
import type { FailsafeLine } from '../domain/ports.ts';
import { CONTACTS, isSgReadyState } from './sg-ready-output.ts';

/** The lines of observe-only loads are not set. */
export const buildFailsafeLines = (loads: readonly LoadConfig[]): readonly FailsafeLine[] =>
  loads.filter(({ observeOnly }) => !observeOnly).flatMap(buildLoadFailsafeLines);

function buildLoadFailsafeLines({ name, output, failSafe }: LoadConfig): readonly FailsafeLine[] {
  switch (output.kind) {
    case 'mqtt':
    case 'http':
    case 'home-assistant':
    case 'dry-run':
      return [];
    case 'relay':
      return [{ line: output.pin, high: (failSafe === 'on') !== output.activeLow }];
    case 'sg-ready': {
      if ('switches' in output) return [];
      if (!isSgReadyState(failSafe)) throw new Error(`load ${name}: SG-Ready has no state "${failSafe}"`);
      const [a, b] = CONTACTS[failSafe];
      const lineA = { line: output.pins[0], high: a !== output.activeLow };
      const lineB = { line: output.pins[1], high: b !== output.activeLow };
      // A contact A that opens does so first, one that closes last: no state but the two and those between is passed.
      return a ? [lineB, lineA] : [lineA, lineB];
    }
  }
}
