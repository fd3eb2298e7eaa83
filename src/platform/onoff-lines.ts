/** GPIO lines through onoff: the first level is set without a glitch, and a line that is driven already is not touched. Levels are physical. */

import { constants } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BinaryValue, Gpio } from 'onoff';
import type { GpioFailure, GpioInput, GpioLine, GpioLines, InputOptions } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import {
  buildBusyFailure,
  buildForbiddenFailure,
  FORBIDDEN_CODES,
  findHeaderLine,
  findLineHolder,
  type GpioPaths,
  getLineErrorCode,
  type HeaderLine,
  SYSFS_PATHS,
} from './gpio-chip.ts';

/** udev hands a new line to the group a moment after it appears. */
const PERMISSION_TIMEOUT = seconds(3);
const PERMISSION_POLL_MS = 20;

async function toPinFailure(error: unknown, found: HeaderLine, { gpio, holders }: GpioPaths): Promise<GpioFailure> {
  const code = getLineErrorCode(error) ?? 'unknown';
  if (FORBIDDEN_CODES.includes(code)) return buildForbiddenFailure(gpio, code);
  if (code === 'EBUSY') return buildBusyFailure(found.offset, await findLineHolder(found, holders));
  if (code === 'EINVAL' || code === 'ENODEV' || code === 'ENOENT')
    return {
      kind: 'missing',
      detail: `line ${found.offset} is not there (${code}): check the pin, or whether its chip is missing`,
    };
  const cause = error instanceof Error ? error.message : `${error}`;
  return { kind: 'io', detail: `line ${found.offset} does not answer (${cause}): check the wiring and the board` };
}

type Onoff = typeof import('onoff');

export function loadOnoff(): Onoff | GpioFailure {
  try {
    // An `import` of CommonJS starts Node's WebAssembly lexer of exports: 4 MB that stay, and none under `--lite-mode`.
    return createRequire(import.meta.url)('onoff');
  } catch (error) {
    const [cause] = `${error instanceof Error ? error.message : error}`.split('\n');
    return {
      kind: 'missing',
      detail: `the package onoff cannot be loaded (${cause}), so no line can be switched: apt install build-essential python3, then npm rebuild epoll`,
    };
  }
}

/** Asks the kernel for the line where that has not happened yet; its level and direction stay. */
async function exportLine(number: number, gpio: string): Promise<void> {
  const path = join(gpio, `gpio${number}`);
  const isThere = () =>
    access(path).then(
      () => true,
      () => false,
    );
  if (await isThere()) return;
  try {
    await writeFile(join(gpio, 'export'), `${number}`);
  } catch (error) {
    if (getLineErrorCode(error) === 'EBUSY' && (await isThere())) return; // another process exported it at the same moment
    throw error;
  }
}

/** onoff tries a file that it may not open ten thousand times without a pause: better to wait here, and at most so long. */
async function awaitPermission(
  number: number,
  gpio: string,
  names: readonly string[],
): Promise<GpioFailure | undefined> {
  const files = names.map((name) => join(gpio, `gpio${number}`, name));
  const deadline = performance.now() + PERMISSION_TIMEOUT;
  for (;;) {
    try {
      await Promise.all(files.map((file) => access(file, constants.R_OK | constants.W_OK)));
      return undefined;
    } catch (error) {
      if (performance.now() > deadline)
        return buildForbiddenFailure(join(gpio, `gpio${number}`), getLineErrorCode(error) ?? 'unknown');
      await new Promise((resume) => setTimeout(resume, PERMISSION_POLL_MS));
    }
  }
}

/** A driven line with the level it has, or one that goes from input to `initiallyHigh` in a single step of the kernel's. */
async function openLine(onoff: Onoff, number: number, gpio: string, initiallyHigh: boolean): Promise<Gpio> {
  const line = new onoff.Gpio(number, initiallyHigh ? 'high' : 'low', 'none', {
    // An output is left as it is: setting the direction anew would drop a running relay for a moment.
    reconfigureDirection: false,
    activeLow: false,
  });
  // onoff reports no error when it cannot set a line that it found.
  const [direction, inverted] = await Promise.all(
    ['direction', 'active_low'].map((name) => readFile(join(gpio, `gpio${number}`, name), 'utf8')),
  );
  if (direction?.trim() !== 'out' || inverted?.trim() !== '0')
    throw new Error(`it stayed direction ${direction?.trim()}, active_low ${inverted?.trim()}`);
  return line;
}

const toBit = (high: boolean): BinaryValue => (high ? 1 : 0);

/** Somebody made the line an input: back to an output at the level in one step, as at the start. */
async function writeAsOutput(gpio: Gpio, high: boolean): Promise<void> {
  try {
    await gpio.write(toBit(high));
  } catch (error) {
    if (getLineErrorCode(error) !== 'EPERM') throw error;
    gpio.setDirection(high ? 'high' : 'low');
  }
}

/** The header's lines. onoff and its compiled part are loaded at the first `open`, and may be absent. */
export function createOnoffLines(paths: GpioPaths = SYSFS_PATHS): GpioLines {
  /** Exports the line, waits for the right to its files and hands it to `use`. */
  const openExported = async <Opened>(
    line: number,
    files: readonly string[],
    use: (onoff: Onoff, number: number, toFailure: ToFailure) => Promise<Opened>,
  ): Promise<Opened | GpioFailure> => {
    const found = await findHeaderLine(line, paths.gpio);
    if ('kind' in found) return found;
    const onoff = loadOnoff();
    if ('kind' in onoff) return onoff;
    const toFailure = (error: unknown) => toPinFailure(error, found, paths);
    try {
      await exportLine(found.number, paths.gpio);
      return (await awaitPermission(found.number, paths.gpio, files)) ?? (await use(onoff, found.number, toFailure));
    } catch (error) {
      return toFailure(error);
    }
  };
  return {
    open: (line, { initiallyHigh }) =>
      openExported(line, ['direction', 'value', 'active_low'], async (onoff, number, toFailure) =>
        createPin(await openLine(onoff, number, paths.gpio, initiallyHigh), toFailure),
      ),
    watch: (line, options) =>
      openExported(line, ['direction', 'value', 'active_low', 'edge'], async (onoff, number, toFailure) =>
        createInput(openInput(onoff, number, options), toFailure),
      ),
  };
}

type ToFailure = (error: unknown) => Promise<GpioFailure>;

function createPin(gpio: Gpio, toFailure: ToFailure): GpioLine {
  return {
    write: (high) => writeAsOutput(gpio, high).then(() => undefined, toFailure),
    read: () => gpio.read().then((value) => value === 1, toFailure),
    // Giving the line back would make it an input on some boards: it stays exported, with its level.
    close: async () => gpio.unwatchAll(),
  };
}

/** The pull of the line stays as the boot set it: this interface of the kernel cannot change it. */
function openInput(onoff: Onoff, number: number, { debounce, onLevel }: InputOptions): Gpio {
  const gpio = new onoff.Gpio(number, 'in', 'both', { debounceTimeout: debounce, activeLow: false });
  gpio.watch((error, value) => {
    if (!error) onLevel(value === 1);
  });
  return gpio;
}

const createInput = (gpio: Gpio, toFailure: ToFailure): GpioInput => ({
  read: () => gpio.read().then((value) => value === 1, toFailure),
  close: async () => gpio.unexport(),
});
