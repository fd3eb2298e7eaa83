/** `gridtide install-service`: it has the options of the script that it runs, and says what to run where there is no script. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as installService from '../../src/cli/agent/install-service.ts';
import { runCommand } from '../doubles/run-command.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'install');

describe('install-service', () => {
  it('has the options of the script', () => {
    const head = readFileSync(SCRIPT, 'utf8').matchAll(/^# {3}(?=--|scripts)(.*)$/gm);
    const named = [...head].flatMap(([line]) => [...line.matchAll(/--([a-z-]+)/g)].map(([, name]) => name));
    expect(Object.keys(installService.spec.options).sort()).toEqual([...new Set(named)].sort());
  });

  it('is refused where there is no script beside the program', async () => {
    const { code, err } = await runCommand(installService, ['--page']);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/because this program is an installed one; run this command of the npm package/),
    });
  });
});
