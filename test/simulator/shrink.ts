/** Makes a scenario that breaks an invariant short: fewer incidents, fewer loads, fewer hours, as long as the same one breaks. */

import { liveScenario } from './live-scenario.ts';
import type { Scenario } from './scenario.ts';

const HOUR = 3_600_000;

export interface ShrinkOptions {
  readonly invariant: string;
  /** When it broke. */
  readonly at: number;
  /** Asked before each try. */
  readonly isTimeLeft: () => boolean;
}

/** Removes halves, quarters and so on of a list for as long as `stillBreaks` without them. */
async function shrinkList<Item>(
  items: readonly Item[],
  stillBreaks: (fewer: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let left = items;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = left.length - size; from > -size; from -= size) {
      const fewer = [...left.slice(0, Math.max(0, from)), ...left.slice(Math.max(0, from) + size)];
      if (fewer.length < left.length && (await stillBreaks(fewer))) left = fewer;
    }
  return left;
}

export async function shrinkScenario(
  scenario: Scenario,
  { invariant, at, isTimeLeft }: ShrinkOptions,
): Promise<Scenario> {
  let best: Scenario = { ...scenario, incidents: scenario.incidents.filter((incident) => incident.at <= at) };
  const tryScenario = async (other: Scenario): Promise<boolean> => {
    if (!isTimeLeft()) return false;
    const { violations } = await liveScenario(other);
    const [first] = violations;
    if (first?.invariant !== invariant) return false;
    best = { ...other, hours: Math.min(other.hours, Math.ceil((first.at / HOUR) * 1_000 + 1) / 1_000) };
    return true;
  };
  await tryScenario({ ...best, hours: Math.min(scenario.hours, Math.ceil((at / HOUR) * 1_000 + 1) / 1_000) });
  await shrinkList(best.incidents, (incidents) => tryScenario({ ...best, incidents }));
  await shrinkList(best.loads, async (loads) => loads.length > 0 && (await tryScenario({ ...best, loads })));
  await shrinkList(best.incidents, (incidents) => tryScenario({ ...best, incidents }));
  return best;
}
