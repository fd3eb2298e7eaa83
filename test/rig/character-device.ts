/** The board's lines through the character device on a real kernel without /sys/class/gpio: each step that the kernel traced. */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeInMachine, formatSteps, writtenLevels } from './emulated-machine.ts';
import { expectEdgesOfDay, recordDay } from './replayed-day.ts';

const guest = (name: string) => join(import.meta.dirname, 'guest', name);

const HEADER = 520;
const START = `
chip expander raspberrypi-exp-gpio ${HEADER - 512} >/dev/null
outside=$(chip header pinctrl-bcm2835 54 7 "spi0 CS1")
mount -t tmpfs none /sys/class/gpio
timeout 120 node scenes.mjs "$outside" || exit 1
timeout 120 node day.mjs character-device || exit 1
cat /sys/kernel/tracing/trace`;

const prepare = async () => ({
  start: START,
  sources: {
    line: guest('hold-line.ts'),
    scenes: guest('character-device-scenes.ts'),
    day: guest('play-transcript.ts'),
  },
  files: { 'transcript.json': JSON.stringify(await recordDay()) },
});

describeInMachine('lines of the character device, without /sys/class/gpio', ['character-device', prepare], (run) => {
  const driven = (name: string) => formatSteps(run.eventsOf(name), HEADER);

  it('the first level is right at once: one step sets level and direction', () => {
    expect(run.part('character-device first level')).toMatchObject({ found: [false, '0', true, '1'] });
    expect(driven('character-device first level')).toEqual(['22 0', '22 out', '23 1', '23 out', '22 1']);
  });

  it('a running relay does not notice a restart, nor a kill that has left no safe level: 0 edges', () => {
    expect(run.part('character-device restarted')).toMatchObject({ first: true, second: true, wire: '1' });
    expect(driven('character-device restarted')).toEqual(['22 0']); // the last one left without taking its safe level back
  });

  it('killed, a line is at its safe level within 2 s, without Node', () => {
    expect(run.part('character-device killed')).toMatchObject({ before: '1', after: '0' });
    expect(driven('character-device killed')).toEqual(['23 0']);
    const [event] = run.eventsOf('character-device killed').filter((one) => one.kind === 'value' && one.set);
    const after = (event?.at ?? Number.POSITIVE_INFINITY) - run.markedAt('character-device kill');
    console.log(`killed: the line of the character device was safe after ${(after * 1000).toFixed(0)} ms`);
    expect(after).toBeLessThan(2);
  });

  //  trouble       kind         what is said
  const refused = [
    ['busy', 'busy', /^line 7 is in use by "spi0 CS1": end that, or wire the load to another line$/],
    ['missing', 'missing', /^line 60 is not on pinctrl-bcm2835: it has 0 to 53; correct the pin/],
    ['forbidden', 'forbidden', /^\/dev\/gpiochip\d may not be written \(EACCES\), so the line cannot be switched: add/],
  ] as const;
  it.each(refused)('%s: the line is refused with its cure, and not touched', (name, kind, detail) => {
    const answer = run.part('character-device refused')[name] as { kind: string; detail: string };
    expect(answer.kind).toBe(kind);
    expect(answer.detail).toMatch(detail);
    expect(driven('character-device refused')).toEqual([]);
  });

  it('a welded contact is trouble within 2 s and is not switched again; a press of the button is told', () => {
    const part = run.part('character-device contact');
    expect(part).toMatchObject({ found: { level: 'off' }, on: null, level: 'on', again: 'unconfirmed', wire: '0' });
    expect(part.welded).toMatch(/^the relay on GPIO 27 was switched off and its contact \(GPIO 24\) is closed/);
    expect(part.seconds).toBeLessThan(2);
    expect(part.presses).toEqual(['off']);
    expect(writtenLevels(run.eventsOf('character-device contact'), HEADER + 27)).toEqual([0, 1, 0]);
  });

  it("the edges of a replayed day are the transcript's, no more and no fewer", async () =>
    expectEdgesOfDay(run, await recordDay(), HEADER));
});
