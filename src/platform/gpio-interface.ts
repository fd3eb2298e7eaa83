/** Chooses between the two interfaces to GPIO lines, and checks that a line exists, is free and is permitted, without driving it. */

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Failsafe, GpioFailure, GpioLines } from '../domain/ports.ts';
import {
  createCharacterDeviceLines,
  NO_PROGRAM_FAILURE,
  SERVICE_SOCKET,
  toLineFailure,
} from './character-device-lines.ts';
import {
  buildBusyFailure,
  buildForbiddenFailure,
  findHeaderLine,
  findLineHolder,
  type GpioPaths,
  SYSFS_PATHS,
} from './gpio-chip.ts';
import { findLineProgram, probeByProgram } from './line-program.ts';
import { createOnoffLines, loadOnoff } from './onoff-lines.ts';

export type GpioInterface = 'onoff' | 'character-device';

const hasAccess = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** Any line of the header: this asks for the chip. */
const SOME_LINE = 2;

/** onoff where it works; else the character device, where its program was built. */
async function probeInterface({ gpio }: GpioPaths): Promise<GpioInterface> {
  if (findLineProgram() === undefined) return 'onoff';
  const found = await findHeaderLine(SOME_LINE, gpio);
  const isUsable =
    !('kind' in found) && (await hasAccess(join(gpio, 'export'), constants.W_OK)) && !('kind' in loadOnoff());
  return isUsable ? 'onoff' : 'character-device';
}

export const chooseGpioInterface = async (wanted: 'auto' | GpioInterface): Promise<GpioInterface> =>
  wanted === 'auto' ? probeInterface(SYSFS_PATHS) : wanted;

export interface Gpio {
  readonly pins: GpioLines;
  /** Where the interface itself sets the safe levels after this process. */
  readonly failsafe?: Failsafe;
}

/** Opens nothing. `socket`: where the holder of the lines listens when no service runs it. */
export function createGpio(chosen: GpioInterface, socket: string): Gpio {
  if (chosen === 'onoff') return { pins: createOnoffLines() };
  const lines = createCharacterDeviceLines({
    program: findLineProgram(),
    serviceSocket: SERVICE_SOCKET,
    ownSocket: socket,
  });
  return { pins: lines, failsafe: lines.failsafe };
}

/** For each line undefined when it can probably be opened, judged without opening it. */
export async function probeLines(
  lines: readonly number[],
  chosen: GpioInterface,
): Promise<readonly (GpioFailure | undefined)[]> {
  if (chosen === 'onoff') return Promise.all(lines.map((line) => probeSysfsLine(line, SYSFS_PATHS)));
  const program = findLineProgram();
  if (program === undefined) return lines.map(() => NO_PROGRAM_FAILURE);
  const answers = await probeByProgram(program, lines);
  return answers.map((answer, i) => {
    // The holder of an agent that runs, or has run.
    if (answer === 'ok' || answer === 'no EBUSY gridtide') return undefined;
    return toLineFailure(lines[i] ?? 0, answer);
  });
}

async function probeSysfsLine(line: number, paths: GpioPaths): Promise<GpioFailure | undefined> {
  const found = await findHeaderLine(line, paths.gpio);
  if ('kind' in found) return found;
  const exported = join(paths.gpio, `gpio${found.number}`);
  const isExported = await hasAccess(exported, constants.F_OK);
  if (!isExported) {
    const holder = await findLineHolder(found, paths.holders);
    if (holder !== undefined) return buildBusyFailure(line, holder);
  }
  const wanted = isExported ? ['direction', 'value'].map((name) => join(exported, name)) : [join(paths.gpio, 'export')];
  for (const path of wanted) if (!(await hasAccess(path, constants.W_OK))) return buildForbiddenFailure(path, 'EACCES');
  return undefined;
}
