/** Finds the kernel's number of a header line by the chip's label, names the program that uses a line, and words what is wrong with one. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GpioFailure } from '../domain/ports.ts';
import { findLineProgram, PROGRAM_CURE } from './line-program.ts';

/** The header's chip on the boards known: Raspberry Pi 0 to 3, 4, 5. */
export const HEADER_CHIPS: readonly string[] = ['pinctrl-bcm2835', 'pinctrl-bcm2711', 'pinctrl-rp1'];

export interface GpioPaths {
  /** `/sys/class/gpio` */
  readonly gpio: string;
  /** `/sys/kernel/debug/gpio`, readable for the superuser only. */
  readonly holders: string;
}

export const SYSFS_PATHS: GpioPaths = { gpio: '/sys/class/gpio', holders: '/sys/kernel/debug/gpio' };

interface Chip {
  readonly label: string;
  readonly base: number;
  readonly lines: number;
}

export interface HeaderLine {
  /** The kernel's number of the line: base plus offset. */
  readonly number: number;
  readonly offset: number;
  /** Label of its chip. */
  readonly chip: string;
}

const readSysfs = async (...path: readonly string[]) => (await readFile(join(...path), 'utf8')).trim();

async function readChip(directory: string): Promise<Chip | undefined> {
  try {
    const [label, base, lines] = await Promise.all(
      ['label', 'base', 'ngpio'].map((name) => readSysfs(directory, name)),
    );
    const chip = { label: label ?? '', base: Number(base), lines: Number(lines) };
    return Number.isSafeInteger(chip.base) && Number.isSafeInteger(chip.lines) ? chip : undefined;
  } catch {
    return undefined; // it disappeared during the search
  }
}

const buildMissingFailure = (detail: string): GpioFailure => ({ kind: 'missing', detail });

export const buildNoChipFailure = (found: string): GpioFailure =>
  buildMissingFailure(
    `the header's GPIO chip is not found: wanted exactly one of ${HEADER_CHIPS.join(', ')}, found ${found}; use a Raspberry Pi, or an mqtt output`,
  );

export const buildNoLineFailure = (line: number, chip: string, lines: number): GpioFailure =>
  buildMissingFailure(`line ${line} is not on ${chip}: it has 0 to ${lines - 1}; correct the pin (BCM numbers)`);

export const buildBusyFailure = (line: number, holder: string | undefined): GpioFailure => {
  const by = holder === undefined ? 'by another program or driver (gpioinfo names it)' : `by "${holder}"`;
  return { kind: 'busy', detail: `line ${line} is in use ${by}: end that, or wire the load to another line` };
};

export const buildForbiddenFailure = (path: string, code: string): GpioFailure => ({
  kind: 'forbidden',
  detail: `${path} may not be written (${code}), so the line cannot be switched: add the user to the group "gpio" and install the udev rule, or run the shipped systemd unit`,
});

export const FORBIDDEN_CODES: readonly string[] = ['EACCES', 'EPERM', 'EROFS'];

export const getLineErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/**
 * `line` of the header. The base of its chip differs from kernel to kernel (512 since 6.6), and other chips stand
 * beside the header's: a bare number never names a line.
 */
export async function findHeaderLine(line: number, gpio: string): Promise<HeaderLine | GpioFailure> {
  let entries: readonly string[];
  try {
    entries = await readdir(gpio);
  } catch {
    return buildMissingFailure(
      findLineProgram() === undefined
        ? `there is no ${gpio} (CONFIG_GPIO_SYSFS), and gridtide-lines, the program for the character device, was not built, so no line can be switched: ${PROGRAM_CURE}`
        : `there is no ${gpio} (CONFIG_GPIO_SYSFS), so no line can be switched through onoff: write gpio: auto, which takes the character device`,
    );
  }
  const names = entries.filter((name) => name.startsWith('gpiochip')).sort();
  const chips = (await Promise.all(names.map((name) => readChip(join(gpio, name))))).flatMap((chip) => chip ?? []);
  const headerChips = chips.filter(({ label }) => HEADER_CHIPS.includes(label));
  const [chip, ...others] = headerChips;
  if (chip === undefined || others.length > 0)
    return buildNoChipFailure(chips.map(({ label }) => label).join(', ') || 'none');
  if (!Number.isInteger(line) || line < 0 || line >= chip.lines)
    return buildNoLineFailure(line, chip.label, chip.lines);
  return { number: chip.base + line, offset: line, chip: chip.label };
}

/** The part of the kernel's list that is about one chip. */
const findChipSection = (text: string, chip: string) =>
  text.split(/^(?=gpiochip)/m).find((section) => section.split('\n', 1)[0]?.includes(chip)) ?? '';

/** The kernel's name for the user of a line, such as `spi0 CS0`; undefined where it may not be read. */
export async function findLineHolder(
  { number, offset, chip }: HeaderLine,
  holders: string,
): Promise<string | undefined> {
  const section = findChipSection(await readSysfs(holders).catch(() => ''), chip);
  // Older kernels list the numbers and `(name |holder)`, newer ones the offsets and `(holder)`.
  const hasOldFormat = /^gpiochip\d+: GPIOs \d/.test(section);
  const found = new RegExp(`^ *gpio-${hasOldFormat ? number : offset} *\\(([^)]*)\\)`, 'm').exec(section)?.[1];
  const parts = found?.split('|') ?? [];
  const holder = (hasOldFormat ? parts[1] : parts.at(-1))?.trim();
  return holder === undefined || ['', '<unused>'].includes(holder) ? undefined : holder;
}
