/** A scenario as a day that a person can read, and back: title, house and loads, then a line an incident; below `=` what was seen. */

import { formatIncident, parseIncident } from './incidents.ts';
import type { LoadDraft, Scenario } from './scenario.ts';

export function formatScenarioDay(title: string, scenario: Scenario, seen: readonly string[]): string {
  const { loads, incidents, ...house } = scenario;
  return [
    title,
    `house ${JSON.stringify(house)}`,
    ...loads.map((load) => `load ${JSON.stringify(load)}`),
    ...incidents.map(formatIncident),
    '=',
    ...seen,
  ].join('\n');
}

export function parseScenarioDay(text: string): Scenario {
  const [, ...lines] = (text.split('\n=\n')[0] ?? '').split('\n').filter((line) => line.trim() !== '');
  const rest = (word: string) =>
    lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
  const [house] = rest('house');
  if (house === undefined) throw new Error('the day has no line "house"');
  return {
    ...(JSON.parse(house) as Omit<Scenario, 'loads' | 'incidents'>),
    loads: rest('load').map((line) => JSON.parse(line) as LoadDraft),
    incidents: lines.filter((line) => /^\d/.test(line)).map(parseIncident),
  };
}
