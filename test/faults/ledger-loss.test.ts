/** Rows 68 and 69 for the energy in the ledger: what a kill and a power cut may cost. */

import { expect, it } from 'vitest';
import { hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { listLedgerFiles, readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import { type CrashableAgent, createCrashableAgent } from './crashable-agent.ts';
import { createTestRandom, readRepetitions } from './test-random.ts';
import { sumTimeOn } from './virtual-agent.ts';

/** Runs nearly always. */
const OVEN = `
loads:
  oven: {type: generic, powerKw: 10, failSafe: "on", initialLevel: "on", onStop: hold, minOn: 0s, minOff: 0s, onBelow: 90, offAbove: 95, output: {kind: relay, pin: 17}}
`;
const OVEN_LINE = 17;
const LIVES = readRepetitions('GRIDTIDE_LIVES', 20);

/** Running time that the ledger has of the oven between two instants. */
async function readRunningTime({ disk }: CrashableAgent, from: Instant, to: Instant): Promise<number> {
  let sum = 0;
  for await (const { entries } of readLedgerMonths(disk(), listLedgerFiles(await disk().list())))
    for (const entry of entries) if (entry.kind === 'slot' && entry.at >= from && entry.at < to) sum += entry.for;
  return sum;
}

//  end of a life                      may be lost
const ends = [
  ['kill', minutes(1)],
  ['cutPower', minutes(15)],
] as const;

it.each(ends)(
  '%s: of the energy of each life at most %d ms are lost, and none is counted twice',
  async (end, most) => {
    const random = createTestRandom(`ledger-loss ${end}`);
    const house = await createCrashableAgent({ random, loads: OVEN });
    const lives: { readonly from: Instant; readonly to: Instant }[] = [];
    for (let life = 0; life < LIVES; life += 1) {
      await house.start();
      const from = house.now();
      await house.pass(seconds(Math.ceil(random.fraction() * (hours(1) / 1_000))));
      lives.push({ from, to: house.now() });
      await house[end]();
      await house.pass(seconds(1));
    }
    await house.start();
    await house.pass(seconds(1));
    for (const { from, to } of lives) {
      const lost = sumTimeOn(house.edges, OVEN_LINE, from, to) - (await readRunningTime(house, from, to));
      expect(lost).toBeLessThanOrEqual(most);
      expect(lost).toBeGreaterThanOrEqual(-1_000);
    }
    expect(sumTimeOn(house.edges, OVEN_LINE, 0, house.now())).toBeGreaterThan(hours(5));
    console.log(`${LIVES} lives ended by ${end}: no more of their energy lost than ${most / 1_000} s`);
    await house.close();
  },
  300_000 + LIVES * 3_000,
);
