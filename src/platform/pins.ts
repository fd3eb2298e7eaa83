/** Output lines of the board through onoff: the first level comes without a glitch, a line that is driven already is left alone. Levels are physical. */

import { constants } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BinaryValue, Gpio } from 'onoff';
import { seconds } from '../units.ts';
import type { Pin, PinFailure, Pins } from '../world.ts';
import { type GpioPaths, type HeaderLine, headerLine, holderOf } from './gpio-chip.ts';

const PATHS: GpioPaths = { gpio: '/sys/class/gpio', holders: '/sys/kernel/debug/gpio' };

/** udev hands a new line to the group a moment after it appears. */
const HANDED_OVER_WITHIN = seconds(3);
const LOOK_AGAIN = 20;

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';

const REFUSED = ['EACCES', 'EPERM', 'EROFS'];

const CURE = 'add the user to the group "gpio" and install the udev rule, or run the shipped systemd unit';

const forbidden = (path: string, code: string): PinFailure => ({
  kind: 'forbidden',
  detail: `${path} may not be written (${code}), so the line cannot be switched: ${CURE}`,
});

async function failureOf(error: unknown, found: HeaderLine, { gpio, holders }: GpioPaths): Promise<PinFailure> {
  const code = codeOf(error);
  if (REFUSED.includes(code)) return forbidden(gpio, code);
  if (code === 'EBUSY') {
    const holder = await holderOf(found, holders);
    const by = holder === undefined ? 'by another program or driver (gpioinfo names it)' : `by "${holder}"`;
    return { kind: 'busy', detail: `line ${found.offset} is held ${by}: end that, or wire the load to another line` };
  }
  if (code === 'EINVAL' || code === 'ENODEV' || code === 'ENOENT')
    return {
      kind: 'missing',
      detail: `line ${found.offset} is not there (${code}): check the pin, or whether its chip is gone`,
    };
  const said = error instanceof Error ? error.message : `${error}`;
  return { kind: 'io', detail: `line ${found.offset} does not answer (${said}): check the wiring and the board` };
}

type Onoff = typeof import('onoff');

async function loadOnoff(): Promise<Onoff | PinFailure> {
  try {
    return await import('onoff');
  } catch (error) {
    const [said] = `${error instanceof Error ? error.message : error}`.split('\n');
    return {
      kind: 'missing',
      detail: `the package onoff cannot be loaded (${said}), so no line can be switched: apt install build-essential python3, then npm rebuild epoll`,
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
    if (codeOf(error) === 'EBUSY' && (await isThere())) return; // another asked at the same moment
    throw error;
  }
}

/** onoff tries a file that it may not open ten thousand times without a pause: better to wait here, and at most so long. */
async function whenHandedOver(number: number, gpio: string): Promise<PinFailure | undefined> {
  const files = ['direction', 'value', 'active_low'].map((name) => join(gpio, `gpio${number}`, name));
  const deadline = performance.now() + HANDED_OVER_WITHIN;
  for (;;) {
    try {
      await Promise.all(files.map((file) => access(file, constants.R_OK | constants.W_OK)));
      return undefined;
    } catch (error) {
      if (performance.now() > deadline) return forbidden(join(gpio, `gpio${number}`), codeOf(error));
      await new Promise((resume) => setTimeout(resume, LOOK_AGAIN));
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
  // onoff keeps quiet about what it could not set on a line that it found.
  const [direction, inverted] = await Promise.all(
    ['direction', 'active_low'].map((name) => readFile(join(gpio, `gpio${number}`, name), 'utf8')),
  );
  if (direction?.trim() !== 'out' || inverted?.trim() !== '0')
    throw new Error(`it stayed direction ${direction?.trim()}, active_low ${inverted?.trim()}`);
  return line;
}

const bit = (high: boolean): BinaryValue => (high ? 1 : 0);

/** Somebody made the line an input: back to an output at the level in one step, as at the start. */
async function writeAsOutput(gpio: Gpio, high: boolean): Promise<void> {
  try {
    await gpio.write(bit(high));
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error;
    gpio.setDirection(high ? 'high' : 'low');
  }
}

/** The header's lines. onoff and its compiled part are loaded at the first `open`, and may be absent. */
export function createPins(paths: GpioPaths = PATHS): Pins {
  return {
    async open(line, { initiallyHigh }) {
      const found = await headerLine(line, paths.gpio);
      if ('kind' in found) return found;
      const { number } = found;
      const onoff = await loadOnoff();
      if ('kind' in onoff) return onoff;

      const failed = (error: unknown) => failureOf(error, found, paths);
      try {
        await exportLine(number, paths.gpio);
        const refused = await whenHandedOver(number, paths.gpio);
        if (refused !== undefined) return refused;
        const gpio = await openLine(onoff, number, paths.gpio, initiallyHigh);
        return pinOver(gpio, failed);
      } catch (error) {
        return failed(error);
      }
    },
  };
}

function pinOver(gpio: Gpio, failed: (error: unknown) => Promise<PinFailure>): Pin {
  return {
    write: (high) => writeAsOutput(gpio, high).then(() => undefined, failed),
    read: () => gpio.read().then((value) => value === 1, failed),
    // Giving the line back would make it an input on some boards: it stays exported, with its level.
    close: async () => gpio.unwatchAll(),
  };
}
