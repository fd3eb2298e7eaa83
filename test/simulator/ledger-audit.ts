/** Compares what the ledger of a simulated house counts with what ran at its wires. */

import type { Entry } from '../../src/ledger/entries.ts';
import type { RunPiece } from './auditor.ts';
import type { Scenario } from './scenario.ts';

const MINUTE = 60_000;
/** What an end of the agent may take from the ledger. */
const LOST_BY_KILL = MINUTE;
const LOST_BY_POWER_CUT = 15 * MINUTE;
/** A stop counts no load from its last level on, a start none before its first decision: with a slow disk some seconds each. */
const LOST_BY_RESTART = 20_000;
/** Of each piece: a slot's rounding, and the time between a command and its confirmation. */
const TOLERANCE = 2_000;

/** One sentence a load whose running time is not within what its incidents allow. */
export function checkLedger(
  { loads, incidents, hasScratch }: Scenario,
  entries: readonly Entry[],
  pieces: readonly RunPiece[],
): readonly string[] {
  const countOf = (kind: string) => incidents.filter((one) => one.kind === kind).length;
  // Lines that do not follow and clocks that jump make another sum: they are looked at elsewhere.
  if (['line', 'clock', 'untrusted', 'service-clock', 'disk'].some((kind) => countOf(kind) > 0)) return [];
  if (incidents.some((one) => one.kind === 'power-cut' && one.clockLost)) return [];
  const [kills, cuts] = [countOf('kill'), countOf('power-cut')];
  const lost =
    kills * (hasScratch ? LOST_BY_KILL : LOST_BY_POWER_CUT) +
    cuts * LOST_BY_POWER_CUT +
    countOf('restart') * LOST_BY_RESTART;
  return loads
    .filter(({ yaml }) => yaml.includes('kind: relay'))
    .flatMap(({ name }) => {
      const own = pieces.filter(({ load }) => load === name);
      const sum = (some: readonly RunPiece[]) => some.reduce((total, { from, to }) => total + to - from, 0);
      const counted = entries.reduce(
        (total, entry) => total + (entry.kind === 'slot' && entry.load === name ? entry.for : 0),
        0,
      );
      const slack = TOLERANCE * (own.length + 1);
      const least = sum(own.filter(({ hasAgent }) => hasAgent)) - lost - slack;
      const most = sum(own) + slack;
      if (counted >= least && counted <= most) return [];
      const minutes = (length: number) => (length / MINUTE).toFixed(1);
      return [
        `${name}: the ledger counts ${minutes(counted)} min; the wires say ${minutes(least)} to ${minutes(most)} min`,
      ];
    });
}
