import { describe, expect, it } from 'vitest';
import { type CommandSpec, readArguments, UsageError } from '../../src/commands/command.ts';

const spec: CommandSpec = {
  name: 'try',
  summary: '',
  positionals: '',
  options: { output: { value: 'FILE', help: '', short: 'o' }, force: { help: '' } },
};

describe('a mistake in the options', () => {
  //  typed                        told
  const rows: readonly (readonly [readonly string[], string])[] = [
    [['--frobnicate'], 'there is no option --frobnicate'],
    [['--outptu', 'x'], 'there is no option --outptu (--output?)'],
    [['-x'], 'there is no option -x'],
    [['--output'], '--output wants a value: FILE'],
    [['-o'], '--output wants a value: FILE'],
    [['--output', '--force'], '--output wants a value: FILE'],
    [['--force=yes'], '--force takes no value'],
  ];
  it.each(rows)('%j', (argv, told) => {
    expect(() => readArguments(spec, argv)).toThrow(new UsageError(`${told}; gridtide try --help lists what it takes`));
  });
});
