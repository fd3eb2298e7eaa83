import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { globalNumber, holderOf } from '../../src/platform/gpio-chip.ts';

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
    const found = await globalNumber(line, directory);
    if (typeof wanted === 'number') return expect(found).toBe(wanted);
    expect(found).toMatchObject({ kind: 'missing' });
    expect(found).toHaveProperty('detail', expect.stringContaining(wanted));
  });

  it('says so where the kernel offers no GPIO', async () => {
    expect(await globalNumber(17, join(directory, 'none'))).toMatchObject({ kind: 'missing' });
  });
});

describe('who holds a line', () => {
  const text = `gpiochip0: GPIOs 512-565, parent: platform/3f200000.gpio, pinctrl-bcm2835:
 gpio-519 (GPIO7               |spi0 CS1            ) out hi ACTIVE LOW
 gpio-529 (GPIO17              |sysfs               ) out hi
 gpio-530 (                    |led0                ) out lo
 gpio-531 (GPIO19)
`;
  const rows: readonly (readonly [number, string | undefined])[] = [
    [519, 'spi0 CS1'],
    [529, 'sysfs'],
    [530, 'led0'],
    [52, undefined],
    [600, undefined],
  ];
  it.each(rows)('%d: %s', async (number, holder) => {
    writeFileSync(join(directory, 'gpio'), text);
    expect(await holderOf(number, join(directory, 'gpio'))).toBe(holder);
  });

  it('is unknown where it may not be read', async () => {
    expect(await holderOf(519, join(directory, 'none'))).toBeUndefined();
  });
});
