/** Turns changes of the health into events: a part of the agent that fails, and one that works again. */

import { HEALTH_PARTS, type Health, type PartName } from './health.ts';

export interface ProblemEvent {
  readonly event: 'problem' | 'resolved';
  readonly part: PartName;
  readonly text: string;
}

/** Of the first health nothing is an event: a start begins without a signal. */
export function createProblemEvents(onEvent: (event: ProblemEvent) => void): (health: Health) => void {
  let failing: ReadonlySet<PartName> | undefined;
  const announced = new Set<PartName>();
  return ({ parts }) => {
    for (const name of HEALTH_PARTS) {
      const part = parts[name];
      if (part.ok) {
        if (announced.delete(name)) onEvent({ event: 'resolved', part: name, text: `${name}: works again` });
      } else if (failing?.has(name) === false) {
        announced.add(name);
        onEvent({ event: 'problem', part: name, text: `${name}: ${part.problem}` });
      }
    }
    failing = new Set(HEALTH_PARTS.filter((name) => !parts[name].ok));
  };
}
