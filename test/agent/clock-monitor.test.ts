/** What the agent says of its clock: by how much the service's time corrects it, and when its own counts again. */

import { expect, it } from 'vitest';
import { createAgentClock } from '../../src/agent/agent-clock.ts';
import { createClockMonitor } from '../../src/agent/clock-monitor.ts';
import { createProblems } from '../../src/agent/problems.ts';
import { type Duration, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';

it('says how far it is from the time of the service, and when that is over', () => {
  const clock = createAgentClock(createVirtualClock(Date.parse('2026-03-01T12:00:00Z') as Instant));
  const lines: string[] = [];
  const log = (_level: string, text: string) => void lines.push(text);
  let skew: Duration | undefined;
  const problems = createProblems(clock, log, () => {});
  const monitor = createClockMonitor({ clock, service: { skew: () => skew }, problems, log, onChange() {} });
  for (skew of [undefined, minutes(5), minutes(-5), seconds(0)]) monitor.checkSkew();
  expect(lines).toEqual([
    "going by the service's time, 5m ahead of this machine's clock",
    "going by the service's time, 5m behind this machine's clock",
    "going by this machine's own clock again",
  ]);
  monitor.stop();
});
