/** Rows 62, 68 and 69 for the loads: however often the agent is killed or the power is cut, minimum times hold and no restart moves a line. */

import { describe, expect, it } from 'vitest';
import { minutes } from '../../src/domain/units.ts';
import { createCrashableAgent, type LineEdgeOfLife } from './crashable-agent.ts';
import { createTestRandom, readRepetitions } from './test-random.ts';

const KILLS = readRepetitions('GRIDTIDE_KILLS', 100);
const CUTS = readRepetitions('GRIDTIDE_POWER_CUTS', 25);

const MIN_ON = minutes(20);
const MIN_OFF = minutes(15);
/** Lines 22 and 24: relays with these least times; nothing but the signal moves them. */
const LOADS = `
loads:
  water: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, maxStartsPerHour: 60, maxStartsPerDay: 1000, failSafe: off, initialLevel: off, output: {kind: relay, pin: 22}}
  pump: {type: generic, powerKw: 1, onBelow: 30, offAbove: 40, minOn: 20m, minOff: 15m, maxStartsPerHour: 60, maxStartsPerDay: 1000, failSafe: off, initialLevel: off, output: {kind: relay, pin: 24}}
  heating: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [17, 27]}}
`;
const RELAYS = [22, 24];

/** Edges that came sooner after the one before than the load allows; a loss of power and a boot count as edges. */
function breaches(edges: readonly LineEdgeOfLife[], boots: readonly number[]): string[] {
  return RELAYS.flatMap((line) => {
    const own = edges.filter((edge) => edge.line === line);
    return own.flatMap((edge, n) => {
      if (edge.life === undefined) return [];
      const before = own[n - 1]?.at ?? 0;
      const boot = Math.max(...boots.filter((at) => at <= edge.at));
      const since = Math.max(before, edge.high ? boot : 0);
      // The first level of a boot is the line's, not the load's: it goes from nothing to off.
      if (!edge.high && before <= boot) return [];
      const least = edge.high ? MIN_OFF : MIN_ON;
      const duration = edge.at - since;
      return duration < least ? [`line ${line} went ${edge.high ? 'on' : 'off'} after ${duration / 60_000} min`] : [];
    });
  });
}

const madeAt = (edges: readonly LineEdgeOfLife[], at: number) =>
  edges.filter((edge) => edge.at === at && edge.life !== undefined);

describe('rows 62, 68, 69: lives of the agent', () => {
  it(`${KILLS} kills: 0 breaches of a least time, 0 edges by a restart`, async () => {
    const random = createTestRandom('restarts: kills');
    const house = await createCrashableAgent({ random, loads: LOADS });
    try {
      await house.start();
      for (let kill = 0; kill < KILLS; kill += 1) {
        await house.pass(minutes(random.fraction() * 20));
        const before = madeAt(house.edges, house.now()).length;
        await house.kill();
        await house.start();
        expect(madeAt(house.edges, house.now()).length, house.journal.slice(-25).join('\n')).toBe(before);
      }
      const switched = house.edges.filter(({ line }) => RELAYS.includes(line)).length;
      console.log(`${KILLS} kills, ${switched} edges of 2 relays, ${house.edges.length} in all`);
      expect(breaches(house.edges, house.boots)).toEqual([]);
      // A house in which nothing ever switches would pass as well.
      expect(switched).toBeGreaterThan(KILLS / 20);
    } finally {
      await house.close();
    }
  }, 600_000);

  it(`${CUTS} power cuts: 0 breaches of a least time, counted from the boot`, async () => {
    const random = createTestRandom('restarts: power cuts');
    const house = await createCrashableAgent({ random, loads: LOADS });
    try {
      await house.start();
      for (let cut = 0; cut < CUTS; cut += 1) {
        await house.pass(minutes(random.fraction() * 90));
        await house.cutPower();
        await house.start();
        expect(
          madeAt(house.edges, house.now()).filter(({ high }) => high),
          `cut ${cut}`,
        ).toEqual([]);
      }
      const switched = house.edges.filter(({ line, high }) => high && RELAYS.includes(line)).length;
      console.log(`${CUTS} power cuts, ${switched} starts of 2 relays`);
      expect(breaches(house.edges, house.boots)).toEqual([]);
      expect(switched).toBeGreaterThan(CUTS / 20);
    } finally {
      await house.close();
    }
  }, 600_000);

  it('the count sees a breach', () => {
    const at = (n: number) => (house0 + minutes(n)) as LineEdgeOfLife['at'];
    const house0 = 1_000_000;
    const edge = (n: number, high: boolean, by: 'agent' | 'power' = 'agent'): LineEdgeOfLife => {
      return { line: 22, high, at: at(n), life: by === 'agent' ? 1 : undefined };
    };
    expect(breaches([edge(20, true), edge(30, false)], [house0])).toEqual(['line 22 went off after 10 min']);
    expect(breaches([edge(10, true)], [house0])).toEqual(['line 22 went on after 10 min']);
    expect(breaches([edge(20, true), edge(41, false), edge(60, true)], [house0])).toEqual([]);
    expect(breaches([edge(20, true), edge(25, false, 'power'), edge(42, true)], [house0, at(30)])).toEqual([
      'line 22 went on after 12 min',
    ]);
  });
});
