/** `gridtide completion`: every command, action and option is offered, by a real bash too. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/command-list.ts';
import { createCompletion } from '../../src/cli/lab/completion.ts';
import { runCommand } from '../doubles/run-command.ts';

const completion = createCompletion(commands);
const readScript = async (shell: string) => (await runCommand(completion, [shell])).out;

/** What bash offers after these words, the last of them unfinished. */
async function completeInBash(...words: string[]): Promise<string[]> {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const program = `${await readScript('bash')}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _gridtide; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', program], { cwd: import.meta.dirname });
  return stdout.split('\n').filter(Boolean);
}

describe('gridtide completion', () => {
  //  words                                          offered
  const rows = [
    [
      ['gridtide', 're'],
      ['region', 'report', 'relay', 'reference'],
    ],
    [['gridtide', 'signal', 'pa'], ['past-forecasts']],
    [['gridtide', 'map', 'import', '--fo'], ['--force']],
    [['gridtide', 'why', '--config', 'comple'], ['completion.test.ts']],
    [['gridtide', 'why', '--j'], ['--json']],
    [['gridtide', 'tune', '--units', 'kg_co2_per_k'], ['kg_co2_per_kwh']],
    [['gridtide', 'report', '--baseline', 'a'], ['at-once']],
    [['gridtide', 'backtest', '--policy', 'thr'], ['threshold']],
    [['gridtide', 'backtest', '--policy', 'threshold,hin'], ['threshold,hindsight']],
    [['gridtide', 'report', '--timezone', 'Europe/Berl'], ['Europe/Berlin']],
  ] as const;
  it.each(rows)('bash offers for %j: %j', async (words, offered) =>
    expect((await completeInBash(...words)).sort()).toEqual([...offered].sort()),
  );

  it.each(['bash', 'zsh', 'fish'])('%s is given every command and an option of each', async (shell) => {
    const script = await readScript(shell);
    for (const word of [
      'demo',
      'forget',
      'reference',
      'past-forecasts',
      'signal-type',
      'auth-errors',
      'health_damage',
      'Europe/Berlin',
    ])
      expect(script).toContain(word);
  });
  it('another shell is wrong use', async () =>
    expect(await runCommand(completion, ['tcsh'])).toMatchObject({
      code: 2,
      err: '"tcsh": expected one of bash, zsh, fish; gridtide completion --help describes each',
    }));
});
