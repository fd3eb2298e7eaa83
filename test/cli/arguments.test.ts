import { describe, expect, it } from 'vitest';
import { type CommandSpec, parseArguments, UsageError } from '../../src/cli/shared/command.ts';

const spec: CommandSpec = {
  name: 'try',
  positionals: '',
  options: { output: { value: 'FILE', help: '', short: 'o' }, force: { help: '' }, degrees: { value: 'N', help: '' } },
};

describe('a mistake in the options', () => {
  //  typed                        told
  const rows: readonly (readonly [readonly string[], string])[] = [
    [['--frobnicate'], 'there is no option --frobnicate'],
    [['--outptu', 'x'], 'there is no option --outptu (--output?)'],
    [['-x'], 'there is no option -x'],
    [['--output'], '--output needs a value: FILE'],
    [['-o'], '--output needs a value: FILE'],
    [['--output', '--force'], '--output needs a value: FILE'],
    [['--force=yes'], '--force takes no value'],
  ];
  it.each(rows)('%j', (argv, expected) => {
    expect(() => parseArguments(spec, argv)).toThrow(
      new UsageError(`${expected}; gridtide try --help lists its options`),
    );
  });
});

describe('a number', () => {
  const read = (text: string, range = {}) => parseArguments(spec, ['--degrees', text]).number('degrees', range);

  //  typed   read as
  const accepted: readonly (readonly [string, number])[] = [
    ['5', 5],
    ['-122', -122],
    ['-122.25', -122.25],
    ['+5', 5],
    ['007', 7],
    ['.5', 0.5],
    ['-.5', -0.5],
    ['5.', 5],
  ];
  it.each(accepted)('%j', (text, n) => expect(read(text)).toBe(n));

  const refused = ['', ' ', ' 5', '5 ', '0x10', '0b1', '0o7', '1e1', '-1E-5', '1_000', '1,5', 'Infinity', 'NaN', '--5'];
  it.each([...refused, '9'.repeat(400)])('%j is none', (text) =>
    expect(() => parseArguments(spec, [`--degrees=${text}`]).number('degrees')).toThrow(
      `--degrees ${text}: expected a number, written in digits such as -38.5`,
    ),
  );

  it('outside of its range is told with the range alone', () => {
    expect(() => read('7', { from: 1, to: 6 })).toThrow(/^--degrees 7: expected a number within 1 to 6$/);
    expect(() => read('1.5', { from: 1, whole: true })).toThrow(
      /^--degrees 1.5: expected a whole number of at least 1$/,
    );
    expect(() => read('1e1', { from: 1, whole: true })).toThrow(/of at least 1, written in digits such as 16$/);
  });
});
