/** `gridtide check` and `gridtide test` on a real kernel: what they say of lines that are free, held and not there, and what they do to them. */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeInMachine, formatSteps } from './emulated-machine.ts';

const HEADER = 520;
/** An expander comes first, so that the header's chip does not begin where one would guess; it ends before line 25. */
const START = `
chip expander raspberrypi-exp-gpio ${HEADER - 512} >/dev/null
outside=$(chip header pinctrl-bcm2835 24 7 "spi0 CS1")
node by-hand.mjs "$outside" || exit 1
cat /sys/kernel/tracing/trace`;

const prepare = () => ({
  start: START,
  sources: {
    gridtide: join(import.meta.dirname, '..', '..', 'src', 'main.ts'),
    'by-hand': join(import.meta.dirname, 'guest', 'by-hand.ts'),
  },
});

describeInMachine('the commands of one who tries it by hand, on a real kernel', ['check-and-test', prepare], (run) => {
  const driven = (name: string) => formatSteps(run.eventsOf(name), HEADER);

  it('check finds the free lines, names the holder and the missing one, and touches none', () => {
    const { said } = run.part('checked') as { said: { findings: { at: string; state: string; text: string }[] } };
    const found = said.findings.filter(({ at }) => at.startsWith('loads.'));
    expect(found.map(({ at, state }) => [at, state])).toEqual([
      ['loads.pump.output.pin', 'ok'],
      ['loads.heating.output.pins', 'ok'],
      ['loads.heating.output.pins', 'ok'],
      ['loads.held.output.pin', 'wrong'],
      ['loads.absent.output.pin', 'wrong'],
    ]);
    expect(found[0]?.text).toBe('GPIO 17 = header pin 11: exists and may be driven');
    const [gpio] = said.findings.filter(({ at }) => at === 'gpio');
    expect(gpio).toMatchObject({ state: 'ok', text: 'onoff, over /sys/class/gpio (chosen by probing as this user)' });
    expect(found[3]?.text).toBe('line 7 is in use by "spi0 CS1": end that, or wire the load to another line');
    expect(found[4]?.text).toMatch(/line 25 is not on pinctrl-bcm2835: it has 0 to 23/);
    expect(formatSteps(run.eventsOf('checked'))).toEqual([]);
  });

  //  load       level        left      on the wire afterwards   the steps of the kernel
  const rows = [
    ['pump', 'on', 'off', ['0'], ['17 0', '17 out', '17 1', '17 0']],
    ['heating', 'recommend', 'normal', ['1', '1'], ['23 1', '23 out', '22 1', '22 out', '23 0', '23 1']],
  ] as const;
  it.each(rows)('test %s: switched, read back, and put back, with no other step', (load, level, left, wire, steps) => {
    expect(run.part(`tried ${load}`)).toMatchObject({ status: 0, said: { by: 'direct', read: level, left }, wire });
    expect(driven(`tried ${load}`)).toEqual(steps);
  });

  it.each([
    ['held', /in use by "spi0 CS1"/],
    ['absent', /line 25 is not on pinctrl-bcm2835/],
  ])('test %s: refused with its cure, and nothing is driven', (load, words) => {
    const sentence = expect.stringMatching(words);
    expect(run.part(`tried ${load}`)).toMatchObject({ status: 1, said: { error: sentence }, errors: sentence });
    expect(driven(`tried ${load}`)).toEqual([]);
  });
});
