/** The file that the agent leaves and the shell program that reads it, over a directory laid out as the kernel's. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFailsafeFile, formatFailsafe } from '../../src/platform/failsafe-file.ts';
import { HEADER_CHIPS } from '../../src/platform/gpio-chip.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'systemd', 'failsafe');

let base: string;
let gpio: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'gridtide-failsafe-'));
  gpio = join(base, 'gpio');
});
afterEach(() => rmSync(base, { recursive: true }));

function layOut(label: string, exported: readonly number[]) {
  for (const [name, first] of [
    ['raspberrypi-exp-gpio', 500],
    [label, 512],
  ] as const) {
    mkdirSync(join(gpio, `gpiochip${first}`), { recursive: true });
    writeFileSync(join(gpio, `gpiochip${first}`, 'label'), `${name}\n`);
    writeFileSync(join(gpio, `gpiochip${first}`, 'base'), `${first}\n`);
  }
  for (const line of exported) {
    mkdirSync(join(gpio, `gpio${512 + line}`));
    writeFileSync(join(gpio, `gpio${512 + line}`, 'direction'), 'out\n');
  }
}

const written = (line: number) => readFileSync(join(gpio, `gpio${512 + line}`, 'direction'), 'utf8').trim();

function run(text: string, shell = 'sh') {
  const file = join(base, 'failsafe');
  writeFileSync(file, text);
  return spawnSync(shell, [PROGRAM, file, gpio], { encoding: 'utf8' });
}

describe('the fail-safe program', () => {
  it.each(HEADER_CHIPS)('sets each line of the file on %s', (label) => {
    layOut(label, [17, 22, 27]);
    const text = formatFailsafe([
      { line: 17, high: true },
      { line: 27, high: false },
    ]);
    const { status, stderr } = run(text);
    expect(status, stderr).toBe(0);
    expect([written(17), written(22), written(27)]).toEqual(['high', 'out', 'low']);
  });

  //  a file with                  exit  said
  const rows: readonly (readonly [string, string, number, string])[] = [
    ['a word that is no level', '17 on\n', 1, 'neither high nor low'],
    ['a name for a line', 'GPIO17 high\n', 1, 'not understood'],
    ['a line with a leading zero', '017 high\n', 1, 'not understood'],
    ['more than two words', '17 high low\n', 1, ''],
    ['shell in it', '17 `touch`\n', 1, ''],
    ['comments and empty lines', '# 17 high\n\n', 0, ''],
  ];
  it.each(rows)('%s: says so, and still sets the others', (_, text, code, printed) => {
    layOut('pinctrl-bcm2835', [17, 27]);
    const { status, stderr } = run(`${text}27 low\n`);
    expect(stderr).toContain(printed);
    expect(status).toBe(code);
    expect([written(17), written(27)]).toEqual(['out', 'low']);
  });

  it('goes on to the other lines when one cannot be set', () => {
    layOut('pinctrl-bcm2835', [27]);
    const { status, stderr } = run('17 high\n27 low\n');
    expect(status).toBe(1);
    expect(stderr).toContain('line 17 could not be set high');
    expect(written(27)).toBe('low');
    // It was asked for by the kernel's number.
    expect(readFileSync(join(gpio, 'export'), 'utf8').trim()).toBe('529');
  });

  it('without the header chip it says so', () => {
    layOut('some-other-chip', [17]);
    const { status, stderr } = run('17 high\n');
    expect(status).toBe(1);
    expect(stderr).toContain('not found; no line was set');
    expect(written(17)).toBe('out');
  });

  it('without a file there is nothing to do', () => {
    expect(spawnSync('sh', [PROGRAM, join(base, 'none'), gpio]).status).toBe(0);
  });
});

describe('the file left for it', () => {
  it('stands whole under its name until it is cleared', async () => {
    const file = createFailsafeFile(base);
    expect(await file.save([{ line: 17, high: true }])).toBe(true);
    expect(await file.save([{ line: 17, high: false }])).toBe(true);
    expect(readdirSync(base)).toEqual(['failsafe']);
    layOut('pinctrl-bcm2835', [17]);
    expect(spawnSync('sh', [PROGRAM, join(base, 'failsafe'), gpio]).status).toBe(0);
    expect(written(17)).toBe('low');
    await file.clear();
    await file.clear();
    expect(existsSync(join(base, 'failsafe'))).toBe(false);
  });

  it('is not written where nobody would read it, and says when it cannot be', async () => {
    expect(await createFailsafeFile(undefined).save([])).toBe(false);
    expect(await createFailsafeFile(join(base, 'none')).save([])).toBe(false);
  });
});
