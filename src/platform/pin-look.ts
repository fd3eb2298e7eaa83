/** Looks whether a line of the header is there, free and permitted; drives none and changes nothing. */

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { PinFailure } from '../world.ts';
import { type GpioPaths, headerLine, holderOf } from './gpio-chip.ts';

const PATHS: GpioPaths = { gpio: '/sys/class/gpio', holders: '/sys/kernel/debug/gpio' };

const isThere = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** Undefined when `line` could be opened as far as can be told without asking the kernel for it. */
export async function lookAtLine(line: number, paths: GpioPaths = PATHS): Promise<PinFailure | undefined> {
  const found = await headerLine(line, paths.gpio);
  if ('kind' in found) return found;
  const exported = join(paths.gpio, `gpio${found.number}`);
  const isExported = await isThere(exported, constants.F_OK);
  if (!isExported) {
    const holder = await holderOf(found, paths.holders);
    if (holder !== undefined)
      return {
        kind: 'busy',
        detail: `line ${line} is held by "${holder}": end that, or wire the load to another line`,
      };
  }
  const wanted = isExported ? ['direction', 'value'].map((name) => join(exported, name)) : [join(paths.gpio, 'export')];
  for (const path of wanted)
    if (!(await isThere(path, constants.W_OK)))
      return {
        kind: 'forbidden',
        detail: `${path} may not be written, so line ${line} cannot be switched: add the user to the group "gpio" and install the udev rule, or run as the shipped systemd unit does`,
      };
  return undefined;
}
