import { expect, it } from 'vitest';
import { hours } from '../../src/domain/units.ts';
import { createCrashableAgent } from './crashable-agent.ts';

it('a load in shadow decides and says so for a day, and its line never moves', async () => {
  const tank = (pin: number) => `type: tank, output: {kind: relay, pin: ${pin}}, startSpread: 0m`;
  const house = await createCrashableAgent({
    random: { fraction: () => 0.5 },
    loads: `loads:
  shown: {${tank(22)}, observeOnly: true}
  switched: {${tank(23)}}
`,
  });
  await house.start();
  await house.pass(hours(24));
  const readLogged = (load: string) =>
    house.journal.filter((line) => / info /.test(line) && line.includes(` ${load} o`));
  expect(readLogged('shown').some((line) => line.includes('shown on'))).toBe(true);
  expect(readLogged('shown').some((line) => line.includes('shown off'))).toBe(true);
  expect(house.edges.filter(({ line }) => line === 23).length).toBeGreaterThan(1);
  const moved = house.edges.filter(({ line, high }) => line === 22 && high);
  expect(moved).toEqual([]);
  await house.close();
});
