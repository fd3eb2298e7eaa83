/** Checks that a header line exists, is free and is permitted, without driving it. */

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { GpioFailure } from '../domain/ports.ts';
import { findHeaderLine, findLineHolder, type GpioPaths } from './gpio-chip.ts';

const PROBE_PATHS: GpioPaths = { gpio: '/sys/class/gpio', holders: '/sys/kernel/debug/gpio' };

const hasAccess = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** Undefined when `line` can probably be opened, judged without opening it. */
export async function probeLine(line: number, paths: GpioPaths = PROBE_PATHS): Promise<GpioFailure | undefined> {
  const found = await findHeaderLine(line, paths.gpio);
  if ('kind' in found) return found;
  const exported = join(paths.gpio, `gpio${found.number}`);
  const isExported = await hasAccess(exported, constants.F_OK);
  if (!isExported) {
    const holder = await findLineHolder(found, paths.holders);
    if (holder !== undefined)
      return {
        kind: 'busy',
        detail: `line ${line} is in use by "${holder}": end that, or wire the load to another line`,
      };
  }
  const wanted = isExported ? ['direction', 'value'].map((name) => join(exported, name)) : [join(paths.gpio, 'export')];
  for (const path of wanted)
    if (!(await hasAccess(path, constants.W_OK)))
      return {
        kind: 'forbidden',
        detail: `${path} may not be written, so line ${line} cannot be switched: add the user to the group "gpio" and install the udev rule, or run as the shipped systemd unit does`,
      };
  return undefined;
}
