/** The examples of docs/reference.md, run as their readers run them: with the built program, in Python where it is and in JavaScript. */

import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultNames } from '../../src/reference/faults/fault-rules.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'docs', 'examples', 'reference');
const main = join(root, 'dist', 'main.js');
const hasPython = spawnSync('python3', ['-c', 'import unittest']).status === 0;

let bin: string;
beforeAll(() => {
  bin = mkdtempSync(join(tmpdir(), 'bin-'));
  symlinkSync(main, join(bin, 'gridtide'));
});
afterAll(() => rmSync(bin, { recursive: true }));

/** The command in the PATH, as an installation has it, or named by GRIDTIDE. */
const inPath = () => ({ PATH: `${bin}:${process.env.PATH}`, GRIDTIDE: undefined });
const byName = { GRIDTIDE: `${process.execPath} ${main}` };
const start = (command: string, args: readonly string[], env: NodeJS.ProcessEnv) =>
  run(command, args, { cwd: folder, env: { ...process.env, ...env } });

describe('the examples of docs/reference.md', () => {
  it.skipIf(!hasPython)('a Python project tests against the reference service', async () => {
    const { stderr } = await start('python3', ['-B', '-m', 'unittest', '-v', 'test_signal.py'], inPath());
    expect(stderr).toMatch(/Ran 4 tests in [\d.]+s\s+OK/);
  });

  it('a JavaScript project tests against the reference service', async () => {
    const { stdout } = await start(process.execPath, ['--test', '--test-reporter=tap', 'signal.test.mjs'], {
      ...byName,
      NODE_TEST_CONTEXT: undefined,
      NODE_OPTIONS: undefined,
    });
    expect(stdout).toMatch(/# pass 4\n# fail 0/);
  });

  it('name faults and files that are there', () => {
    const page = readFileSync(join(root, 'docs', 'reference.md'), 'utf8');
    const [, script = '[]'] = /```json\n([^`]*)```/.exec(page) ?? [];
    const scripted = (JSON.parse(script) as readonly { readonly fault: string }[]).map(({ fault }) => fault);
    const [, listed = ''] = /lists the names, among them\n([^.]*)\./.exec(page) ?? [];
    const names = [...scripted, ...[...listed.matchAll(/`([^`]*)`/g)].map(([, name = '']) => name)];
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((name) => !(faultNames as readonly string[]).includes(name))).toEqual([]);
    for (const [, path = ''] of page.matchAll(/\]\((examples\/[^)]*)\)/g))
      expect(readFileSync(join(root, 'docs', path), 'utf8').length).toBeGreaterThan(0);
  });
});
