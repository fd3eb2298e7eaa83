/** Finds the kernel's number of a line on the board's header by the chip's label, and names who holds one; opens nothing. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PinFailure } from '../world.ts';

/** The header's chip on the boards known: Raspberry Pi 0 to 3, 4, 5. */
export const HEADER_CHIPS: readonly string[] = ['pinctrl-bcm2835', 'pinctrl-bcm2711', 'pinctrl-rp1'];

export interface GpioPaths {
  /** `/sys/class/gpio` */
  readonly gpio: string;
  /** `/sys/kernel/debug/gpio`, readable for the superuser only. */
  readonly holders: string;
}

interface Chip {
  readonly label: string;
  readonly base: number;
  readonly lines: number;
}

const textOf = async (...path: readonly string[]) => (await readFile(join(...path), 'utf8')).trim();

async function chipAt(directory: string): Promise<Chip | undefined> {
  try {
    const [label, base, lines] = await Promise.all(['label', 'base', 'ngpio'].map((name) => textOf(directory, name)));
    const chip = { label: label ?? '', base: Number(base), lines: Number(lines) };
    return Number.isSafeInteger(chip.base) && Number.isSafeInteger(chip.lines) ? chip : undefined;
  } catch {
    return undefined; // it went while it was looked at
  }
}

const missing = (detail: string): PinFailure => ({ kind: 'missing', detail });

/**
 * The number by which the kernel knows `line` of the header: base plus offset. The base differs from kernel to kernel
 * (512 since 6.6), and on the Raspberry Pi other chips come beside the header's.
 */
export async function globalNumber(line: number, gpio: string): Promise<number | PinFailure> {
  let entries: readonly string[];
  try {
    entries = await readdir(gpio);
  } catch {
    return missing(`there is no ${gpio}, so no line can be switched: this kernel offers no GPIO (CONFIG_GPIO_SYSFS)`);
  }
  const names = entries.filter((name) => name.startsWith('gpiochip')).sort();
  const chips = (await Promise.all(names.map((name) => chipAt(join(gpio, name))))).flatMap((chip) => chip ?? []);
  const fitting = chips.filter(({ label }) => HEADER_CHIPS.includes(label));
  const [chip, ...others] = fitting;
  if (chip === undefined || others.length > 0) {
    const found = chips.map(({ label }) => label).join(', ') || 'none';
    const wanted = HEADER_CHIPS.join(', ');
    return missing(
      `the header's GPIO chip is not found: wanted exactly one of ${wanted}, found ${found}; use a Raspberry Pi, or an mqtt output`,
    );
  }
  if (!Number.isInteger(line) || line < 0 || line >= chip.lines)
    return missing(
      `line ${line} is not on ${chip.label}: it has 0 to ${chip.lines - 1}; correct the pin (BCM numbers)`,
    );
  return chip.base + line;
}

/** The word the kernel keeps with a line that is taken, such as `spi0 CS0`; undefined where it may not be read. */
export async function holderOf(number: number, holders: string): Promise<string | undefined> {
  try {
    const found = new RegExp(`^\\s*gpio-${number}\\s*\\(([^)]*)\\)`, 'm').exec(await textOf(holders))?.[1] ?? '';
    return found.split('|')[1]?.trim() || undefined;
  } catch {
    return undefined;
  }
}
