/** GPIO output lines through onoff: the first level is set without a glitch, and a line that is driven already is not touched. Levels are physical. */

import { constants } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BinaryValue, Gpio } from 'onoff';
import type { GpioFailure, GpioLine, GpioLines } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import { findHeaderLine, findLineHolder, type GpioPaths, type HeaderLine } from './gpio-chip.ts';

const GPIO_PATHS: GpioPaths = { gpio: '/sys/class/gpio', holders: '/sys/kernel/debug/gpio' };

/** udev hands a new line to the group a moment after it appears. */
const PERMISSION_TIMEOUT = seconds(3);
const PERMISSION_POLL_MS = 20;

const getLineErrorCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';

const FORBIDDEN_CODES = ['EACCES', 'EPERM', 'EROFS'];

const PERMISSION_CURE = 'add the user to the group "gpio" and install the udev rule, or run the shipped systemd unit';

const buildForbiddenFailure = (path: string, code: string): GpioFailure => ({
  kind: 'forbidden',
  detail: `${path} may not be written (${code}), so the line cannot be switched: ${PERMISSION_CURE}`,
});

async function toPinFailure(error: unknown, found: HeaderLine, { gpio, holders }: GpioPaths): Promise<GpioFailure> {
  const code = getLineErrorCode(error);
  if (FORBIDDEN_CODES.includes(code)) return buildForbiddenFailure(gpio, code);
  if (code === 'EBUSY') {
    const holder = await findLineHolder(found, holders);
    const by = holder === undefined ? 'by another program or driver (gpioinfo names it)' : `by "${holder}"`;
    return { kind: 'busy', detail: `line ${found.offset} is in use ${by}: end that, or wire the load to another line` };
  }
  if (code === 'EINVAL' || code === 'ENODEV' || code === 'ENOENT')
    return {
      kind: 'missing',
      detail: `line ${found.offset} is not there (${code}): check the pin, or whether its chip is missing`,
    };
  const cause = error instanceof Error ? error.message : `${error}`;
  return { kind: 'io', detail: `line ${found.offset} does not answer (${cause}): check the wiring and the board` };
}

type Onoff = typeof import('onoff');

function loadOnoff(): Onoff | GpioFailure {
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
async function awaitPermission(number: number, gpio: string): Promise<GpioFailure | undefined> {
  const files = ['direction', 'value', 'active_low'].map((name) => join(gpio, `gpio${number}`, name));
  const deadline = performance.now() + PERMISSION_TIMEOUT;
  for (;;) {
    try {
      await Promise.all(files.map((file) => access(file, constants.R_OK | constants.W_OK)));
      return undefined;
    } catch (error) {
      if (performance.now() > deadline)
        return buildForbiddenFailure(join(gpio, `gpio${number}`), getLineErrorCode(error));
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
export function createPins(paths: GpioPaths = GPIO_PATHS): GpioLines {
  return {
    async open(line, { initiallyHigh }) {
      const found = await findHeaderLine(line, paths.gpio);
      if ('kind' in found) return found;
      const { number } = found;
      const onoff = loadOnoff();
      if ('kind' in onoff) return onoff;

      const toFailure = (error: unknown) => toPinFailure(error, found, paths);
      try {
        await exportLine(number, paths.gpio);
        const refused = await awaitPermission(number, paths.gpio);
        if (refused !== undefined) return refused;
        const gpio = await openLine(onoff, number, paths.gpio, initiallyHigh);
        return createPin(gpio, toFailure);
      } catch (error) {
        return toFailure(error);
      }
    },
  };
}

function createPin(gpio: Gpio, toFailure: (error: unknown) => Promise<GpioFailure>): GpioLine {
  return {
    write: (high) => writeAsOutput(gpio, high).then(() => undefined, toFailure),
    read: () => gpio.read().then((value) => value === 1, toFailure),
    // Giving the line back would make it an input on some boards: it stays exported, with its level.
    close: async () => gpio.unwatchAll(),
  };
}
