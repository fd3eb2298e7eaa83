/** The board's lines on a real kernel: what a meter on the wire saw, and each step that the kernel traced. */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeInMachine, formatSteps, writtenLevels } from './emulated-machine.ts';
import { expectEdgesOfDay, recordDay } from './replayed-day.ts';

const guest = (name: string) => join(import.meta.dirname, 'guest', name);

/** An expander comes first, so that the header's chip does not begin where one would guess. */
const HEADER = 520;
const START = `
chip expander raspberrypi-exp-gpio ${HEADER - 512} >/dev/null
outside=$(chip header pinctrl-bcm2835 54 7 "spi0 CS1")
node pins.mjs "$outside" ${HEADER} || exit 1
node boards.mjs "$outside" || exit 1
node day.mjs onoff || exit 1
cat /sys/kernel/tracing/trace`;

const number = (line: number) => HEADER + line;
const HIGH = 1;
const LOW = 0;

const prepare = async () => ({
  start: START,
  files: { 'transcript.json': JSON.stringify(await recordDay()) },
  sources: {
    pins: guest('gpio-scenes.ts'),
    line: guest('hold-line.ts'),
    boards: guest('relay-boards.ts'),
    day: guest('play-transcript.ts'),
  },
});

describeInMachine('the lines of the header on a real kernel', ['gpio-lines', prepare], (run) => {
  it('the first level is right at once: one step sets level and direction, and the end of the program changes nothing', () => {
    expect(run.part('first level')).toMatchObject({ found: [false, '0', true, '1'] });
    expect(formatSteps(run.eventsOf('first level'))).toEqual([
      `${number(17)} ${LOW}`,
      `${number(17)} out`,
      `${number(18)} ${HIGH}`,
      `${number(18)} out`,
    ]);
  });

  it('each word is one level on the wire, read back from outside', () => {
    const { words, answers } = run.part('switched') as { words: string[]; answers: unknown[] };
    const levels = words.map((word) => (word === 'high' ? HIGH : LOW));
    expect(answers).toEqual(levels.flatMap((level) => [null, `${level}`]));
    expect(writtenLevels(run.eventsOf('switched'), number(17))).toEqual(levels);
  });

  it('a running relay does not notice a restart: 0 edges, and the level is told', () => {
    expect(writtenLevels(run.eventsOf('restart'), number(17))).toEqual([HIGH]);
    expect(run.part('restarted')).toMatchObject({ first: true, before: '1', after: '1' });
    expect(writtenLevels(run.eventsOf('restarted'), number(17))).toEqual([]);
    expect(run.eventsOf('restarted').filter(({ kind }) => kind === 'direction')).toEqual([]);
  });

  it('a killed program leaves the level as it was, and the next one finds it', () => {
    expect(run.part('killed')).toMatchObject({ after: '1', again: true });
    expect(writtenLevels(run.eventsOf('killed'), number(17))).toEqual([]);
  });

  it('a line that somebody made an input is driven again at the level told, in one step', () => {
    expect(run.part('meddled with')).toMatchObject({ said: null, direction: 'out', after: '1' });
    expect(writtenLevels(run.eventsOf('meddled with'), number(18))).toEqual([HIGH]);
  });

  it('levels are physical, whatever inversion somebody left on the line', () => {
    expect(run.part('inverted')).toMatchObject({ first: true, before: '1', said: null, after: '0' });
    expect(writtenLevels(run.eventsOf('inverted'), number(18))).toEqual([LOW]);
  });

  //  trouble                          kind         what is said
  const rows = [
    ['busy', 'busy', 'line 7 is in use by "spi0 CS1": end that, or wire the load to another line'],
    ['missing', 'missing', 'line 60 is not on pinctrl-bcm2835: it has 0 to 53; correct the pin (BCM numbers)'],
    [
      'forbidden',
      'forbidden',
      '/sys/class/gpio may not be written (EACCES), so the line cannot be switched: add the user',
    ],
    ['notOurs', 'forbidden', `/sys/class/gpio/gpio${number(17)} may not be written (EACCES), so the line cannot be`],
    ['bare', 'missing', 'the package onoff cannot be loaded'],
  ] as const;
  it.each(rows)('%s: the line is refused with its cure, and not touched', (name, kind, detail) => {
    const said = run.part('refused')[name] as { kind: string; detail: string };
    expect(said.kind).toBe(kind);
    expect(said.detail).toContain(detail);
    expect(formatSteps(run.eventsOf('refused'))).toEqual([]);
  });

  const driven = (name: string) => formatSteps(run.eventsOf(name), HEADER);

  //  board                        lines     first levels, each in one step      what "off" or "normal" is
  const boards = [
    ['relay-high', [8], ['8 0', '8 out'], 'off'],
    ['relay-low', [9], ['9 1', '9 out'], 'off'],
    ['sg-high', [10, 11], ['11 0', '11 out', '10 0', '10 out'], 'normal'],
    ['sg-low', [12, 13], ['13 1', '13 out', '12 1', '12 out'], 'normal'],
  ] as const;
  it.each(boards)('%s is right at the first level, and no other step was made', (name, _, steps, level) => {
    expect(driven(`${name} opens`)).toEqual(steps);
    expect(run.part(`${name} opens`)).toMatchObject({ found: { level } });
  });

  //  board         told, read back, and each contact on the wire           the steps of the kernel
  const switched = [
    [
      'relay-high',
      [8],
      [
        ['on', '1'],
        ['off', '0'],
        ['on', '1'],
      ],
      ['8 1', '8 0', '8 1'],
    ],
    [
      'relay-low',
      [9],
      [
        ['on', '0'],
        ['off', '1'],
        ['on', '0'],
      ],
      ['9 0', '9 1', '9 0'],
    ],
    [
      'sg-high',
      [10, 11],
      [
        ['recommend', '01'],
        ['block', '10'],
        ['force', '11'],
      ],
      ['11 1', '11 0', '10 1', '10 0', '11 1', '10 1'],
    ],
    [
      'sg-low',
      [12, 13],
      [
        ['recommend', '10'],
        ['block', '01'],
        ['force', '00'],
      ],
      ['13 0', '13 1', '12 0', '12 1', '13 0', '12 0'],
    ],
  ] as const;
  it.each(switched)('%s switches one contact at a time and reads back what it was told', (name, _, told, steps) => {
    const { told: found } = run.part(`${name} switches`) as { told: [string, string, string, string[]][] };
    expect(found.map(([level, done, back, wire]) => [level, done, back, wire.join('')])).toEqual(
      told.map(([level, wire]) => [level, 'done', level, wire]),
    );
    expect(driven(`${name} switches`)).toEqual(steps);
  });

  it.each(switched)('%s stays as it was when the program starts again: 0 edges', (name, _, told) => {
    expect(driven(`${name} restarts`)).toEqual([]);
    const [level, wire] = told.at(-1) ?? [];
    expect(run.part(`${name} restarts`)).toMatchObject({ found: { level }, wire: [...(wire ?? '')] });
  });

  it("the edges of a replayed day are the transcript's, no more and no fewer", async () =>
    expectEdgesOfDay(run, await recordDay(), HEADER));
});
