import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findHeaderLine, findLineHolder } from '../../src/platform/gpio-chip.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gridtide-gpio-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

type ChipRow = readonly [label: string, base: number, lines: number];
const pi3: ChipRow = ['pinctrl-bcm2835', 512, 54];
const pi5: ChipRow = ['pinctrl-rp1', 571, 54];
const expander: ChipRow = ['raspberrypi-exp-gpio', 566, 8];

function withChips(chips: readonly ChipRow[]) {
  for (const [label, base, lines] of chips) {
    const chip = join(directory, `gpiochip${base}`);
    mkdirSync(chip);
    for (const [name, value] of Object.entries({ label, base, ngpio: lines }))
      writeFileSync(join(chip, name), `${value}\n`);
  }
}

describe('the line of the header', () => {
  //  chips                        line  number or what is said
  const rows: readonly (readonly [readonly ChipRow[], number, number | string])[] = [
    [[pi3], 17, 529],
    [[expander, pi3], 17, 529],
    [[['gpio-virt', 500, 8], expander, pi5], 27, 598],
    [[['pinctrl-bcm2711', 0, 58]], 4, 4], // before kernel 6.6
    [[pi3], 0, 512],
    [[pi3], 53, 565],
    [[pi3], 54, 'line 54 is not on pinctrl-bcm2835: it has 0 to 53'],
    [[pi3], 512, 'line 512 is not on pinctrl-bcm2835'], // a kernel number where a BCM number belongs
    [[pi3], -1, 'line -1 is not on'],
    [[pi3], 1.5, 'line 1.5 is not on'],
    [[expander], 17, 'found raspberrypi-exp-gpio'],
    [[], 17, 'found none'],
    [[pi3, pi5], 17, 'wanted exactly one of'],
  ];
  it.each(rows)('on %j: %d is %s', async (chips, line, wanted) => {
    withChips(chips);
    const found = await findHeaderLine(line, directory);
    if (typeof wanted === 'number') return expect(found).toMatchObject({ number: wanted, offset: line });
    expect(found).toMatchObject({ kind: 'missing' });
    expect(found).toHaveProperty('detail', expect.stringContaining(wanted));
  });

  it('says so where the kernel offers no GPIO', async () => {
    expect(await findHeaderLine(17, join(directory, 'none'))).toMatchObject({
      kind: 'missing',
      detail: expect.stringMatching(/ was not built, so no line can be switched: apt install gcc .* Debian package/),
    });
  });
});

describe('who holds a line', () => {
  const old = `gpiochip1: GPIOs 500-511, parent: platform/exp, raspberrypi-exp-gpio:
 gpio-500 (                    |camera              ) out lo

gpiochip0: GPIOs 512-565, parent: platform/3f200000.gpio, pinctrl-bcm2835:
 gpio-519 (GPIO7               |spi0 CS1            ) out hi ACTIVE LOW
 gpio-529 (GPIO17              |sysfs               ) out hi
 gpio-530 (                    |led0                ) out lo
 gpio-531 (GPIO19              )
`;
  const recent = `gpiochip0: 12 GPIOs, parent: platform/exp, raspberrypi-exp-gpio, can sleep:
 gpio-7   (camera) output-low

gpiochip1: 54 GPIOs, parent: platform/gpio, pinctrl-bcm2835, can sleep:
 gpio-6   (<unused>) input,pull-down
 gpio-7   (spi0 CS1) output-low,pull-down
 gpio-8   (GPIO8|sysfs) output-low
`;
  //  kernel  line  holder
  const rows: readonly (readonly ['old' | 'recent', number, string | undefined])[] = [
    ['old', 7, 'spi0 CS1'],
    ['old', 17, 'sysfs'],
    ['old', 18, 'led0'],
    ['old', 19, undefined],
    ['old', 40, undefined],
    ['recent', 6, undefined],
    ['recent', 7, 'spi0 CS1'],
    ['recent', 8, 'sysfs'],
  ];
  it.each(rows)('%s kernel, line %d: %s', async (kernel, offset, holder) => {
    const path = join(directory, 'gpio');
    writeFileSync(path, kernel === 'old' ? old : recent);
    expect(await findLineHolder({ offset, number: 512 + offset, chip: 'pinctrl-bcm2835' }, path)).toBe(holder);
  });

  it('is unknown where it may not be read', async () => {
    expect(await findLineHolder({ offset: 7, number: 519, chip: 'x' }, join(directory, 'none'))).toBeUndefined();
  });
});
