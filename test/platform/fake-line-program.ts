/** Builds gridtide-lines over a directory in place of the kernel's GPIO lines, and looks at those lines from outside. */

import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { endianness, tmpdir } from 'node:os';
import { join } from 'node:path';

const PROJECT = join(import.meta.dirname, '..', '..');

/** struct gpio_v2_line_event: the kind of the edge after a time of 64 bits. */
const EVENT_BYTES = 48;
const RISING = 1;
const FALLING = 2;

export interface FakeBoard {
  readonly program: string;
  readonly directory: string;
  /** Changes as the kernel traces them, since the last call. */
  takeEvents(): readonly string[];
  level(line: number): string;
  /** Another program or driver uses the line. */
  setHolder(line: number, holder: string): void;
  /** Connected to the line from outside. */
  setInput(line: number, high: boolean): void;
  setChips(chips: Readonly<Record<string, string>>, links?: Readonly<Record<string, string>>): void;
  remove(): void;
}

/** Undefined, loudly, where there is no C compiler. */
export function buildFakeLineProgram(project = PROJECT): string | undefined {
  const program = join(mkdtempSync(join(tmpdir(), 'gridtide-lines-')), 'gridtide-lines');
  const flags = ['-Werror', '-Wall', '-Wextra', '-Dioctl=fake_ioctl', '-DDEVICES=getenv("FAKE_GPIO")', '-o', program];
  const sources = [join(project, 'src/native/gridtide-lines.c'), join(project, 'test/doubles/fake-gpio.c')];
  const { status, stderr, error } = spawnSync('cc', [...flags, ...sources], { encoding: 'utf8' });
  if (status === 0) return program;
  if (error === undefined || process.env.CI === 'true') throw new Error(`gridtide-lines: ${error?.message ?? stderr}`);
  console.warn('\n  SKIPPED: the holder of GPIO lines; there is no C compiler\n');
  return undefined;
}

/** Programs started from here on see this board. */
export function createFakeBoard(program: string): FakeBoard {
  const directory = mkdtempSync(join(tmpdir(), 'gridtide-board-'));
  process.env.FAKE_GPIO = directory;
  const read = (name: string) =>
    existsSync(join(directory, name)) ? readFileSync(join(directory, name), 'utf8').trim() : '';
  const board: FakeBoard = {
    program,
    directory,
    takeEvents() {
      const events = read('events');
      rmSync(join(directory, 'events'), { force: true });
      return events === '' ? [] : events.split('\n');
    },
    level: (line) => read(`line${line}`),
    setHolder: (line, holder) => writeFileSync(join(directory, `line${line}`), `out 0 ${holder}\n`),
    setInput(line, high) {
      writeFileSync(join(directory, `line${line}`), `in ${high ? 1 : 0}\n`);
      const event = Buffer.alloc(EVENT_BYTES);
      const kind = high ? RISING : FALLING;
      if (endianness() === 'LE') event.writeUInt32LE(kind, 8);
      else event.writeUInt32BE(kind, 8);
      appendFileSync(join(directory, `edges${line}`), event);
    },
    setChips(chips, links = {}) {
      for (const [name, text] of Object.entries(chips)) writeFileSync(join(directory, name), `${text}\n`);
      for (const [name, to] of Object.entries(links)) symlinkSync(to, join(directory, name));
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
  board.setChips({ gpiochip0: 'raspberrypi-exp-gpio 8', gpiochip1: 'pinctrl-bcm2835 54' }, { gpiochip4: 'gpiochip1' });
  return board;
}
