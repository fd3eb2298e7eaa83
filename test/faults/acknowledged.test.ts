/**
 * Rows 68 and 69 for the whole agent: its life ends while the answer to a command is being sent, or at any other moment; the next
 * one knows every command that was answered `ok`, and no minimum time is broken.
 */

import { expect, it } from 'vitest';
import type { Level } from '../../src/domain/load-types.ts';
import {
  addDuration,
  type Duration,
  formatInstant,
  hours,
  type Instant,
  minutes,
  seconds,
} from '../../src/domain/units.ts';
import { type CrashableAgent, createCrashableAgent } from './crashable-agent.ts';
import { createTestRandom, readRepetitions } from './test-random.ts';
import { findShortCycles } from './virtual-agent.ts';

const LIVES = readRepetitions('GRIDTIDE_LIVES', 20);
const LOADS = `
loads:
  tank: {type: tank, powerKw: 3, onBelow: 45, offAbove: 55, minOn: 20m, minOff: 15m, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
  lamp: {type: generic, powerKw: 1, onBelow: 45, offAbove: 55, minOn: 0s, minOff: 0s, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 22}}
  car: {type: ev, powerKw: 7, failSafe: off, initialLevel: off, onStop: hold, goal: {need: 2h, armedBy: command}, output: {kind: relay, pin: 27}}
`;
const TANK_LINE = 17;

/** A level of the lamp, or a job of the car by an instant. */
type Command = { readonly load: 'lamp'; readonly level: Level } | { readonly load: 'car'; readonly by: Instant };

it.each(['kill', 'cutPower'] as const)(
  `%s ${LIVES} times: every command that was answered is known to the next life`,
  async (end) => {
    const random = createTestRandom(`acknowledged ${end}`);
    /** Of each load the command answered last, and those after it that no answer came to: they may count or not. */
    const promised = new Map<
      Command['load'],
      { readonly at: Instant; readonly answered: Command; readonly open: Command[] }
    >();
    let given: Command | undefined;
    let answers = 0;
    let endsAtAnswer = false;
    let ended: Promise<void> | undefined;
    const house: CrashableAgent = await createCrashableAgent({
      random,
      loads: LOADS,
      onAnswer(_, { ok }) {
        expect(ok).toBe(true);
        if (given !== undefined) promised.set(given.load, { at: house.now(), answered: given, open: [] });
        answers += 1;
        if (endsAtAnswer) ended = house[end]();
      },
    });
    const pickTime = (most: Duration) => seconds(Math.ceil((random.fraction() * most) / 1_000));
    const give = (command: Command) => {
      given = command;
      promised.get(command.load)?.open.push(command);
      if (command.load === 'lamp') house.sendCommand('lamp', { command: 'override', level: command.level, for: '12h' });
      else house.sendCommand('car', { command: 'arm', need: '2h', by: formatInstant(command.by) });
    };

    const checkPromises = () => {
      for (const [load, { at, answered, open }] of promised) {
        const decision = house.decisions().find((one) => one.load === load);
        const known = [answered, ...open];
        if (load === 'lamp') {
          // A guard, such as the starts of a day, may still delay it.
          expect(decision?.wantedWhy ?? decision?.why).toBe('remote-override');
          expect(known.map((one) => 'level' in one && one.level)).toContain(decision?.wanted);
        } else if (house.now() < at + hours(1))
          expect(known.map((one) => 'by' in one && one.by)).toContain(decision?.job?.by);
      }
    };

    for (let life = 0; life < LIVES; life += 1) {
      await house.start();
      checkPromises();
      await house.pass(pickTime(minutes(20)));
      endsAtAnswer = random.fraction() < 0.6;
      ended = undefined;
      const by = addDuration(house.now(), hours(10 + Math.floor(random.fraction() * 10)));
      const level = random.fraction() < 0.5 ? 'on' : 'off';
      give(random.fraction() < 0.7 ? { load: 'lamp', level } : { load: 'car', by });
      // Some lives end before the answer: then nothing was promised.
      if (random.fraction() > 0.2) await house.pass(pickTime(minutes(10)));
      await (ended ?? house[end]());
      await house.pass(seconds(1));
    }
    await house.start();
    checkPromises();
    expect(answers).toBeGreaterThan(LIVES / 3);
    expect(house.journal.filter((line) => /damaged|cannot be read|another version/.test(line))).toEqual([]);
    const ownEdges = house.edges.filter(({ life }) => life !== undefined);
    if (end === 'kill') expect(findShortCycles(ownEdges, TANK_LINE, { on: minutes(20), off: minutes(15) })).toEqual([]);
    console.log(`${LIVES} lives ended by ${end}: ${answers} commands answered, 0 forgotten`);
    await house.close();
  },
  300_000 + LIVES * 3_000,
);
