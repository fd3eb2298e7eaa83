import { describe, expect, it } from 'vitest';
import { type CommandSpec, UsageError } from '../../src/cli/shared/command.ts';
import { parseArguments } from '../../src/cli/shared/parse-arguments.ts';

const spec: CommandSpec = {
  name: 'try',
  positionals: '',
  options: {
    output: { value: 'FILE', help: '', short: 'o' },
    force: { help: '' },
    degrees: { value: 'N', help: '', range: {} },
    hours: { value: 'N', help: '', range: { from: 1, to: 6 } },
    starts: { value: 'N', help: '', range: { from: 1, whole: true } },
    at: { value: 'TIME', help: '' },
    need: { value: 'LENGTH', help: '' },
    timezone: { value: 'ZONE', help: '' },
    unit: { value: 'UNIT', help: '', choices: ['lb', 'kg'] },
    policy: { value: 'A,B', help: '', choices: ['window', 'timer'] },
  },
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

describe('several mistakes are told at once', () => {
  const help = '; gridtide try --help lists its options';
  const rows: readonly (readonly [string, readonly string[]])[] = [
    [
      '--frob --outptu x --force=1',
      ['there is no option --frob', 'there is no option --outptu (--output?)', `--force takes no value${help}`],
    ],
    [
      '--frob 3 --hours 9 --at noon',
      [
        `there is no option --frob${help}`,
        '--hours 9: expected a number within 1 to 6',
        '--at noon: expected a time with a zone, such as 2026-03-01T07:05:00Z, or a date',
      ],
    ],
    [
      'stray --need 4 --unit gk',
      [
        '"stray" is not expected; gridtide try takes options only',
        '--need 4: expected a duration such as 10s, 90m, 4h or 1h30m',
        '--unit gk: expected one of lb, kg (kg?)',
      ],
    ],
    [
      '--timezone Europe/Berln --policy windw,x',
      [
        '--timezone Europe/Berln: expected a zone such as Europe/Berlin (Europe/Berlin?)',
        '--policy windw: expected some of window, timer (window?)',
        '--policy x: expected some of window, timer',
      ],
    ],
    [
      '--policy , --output',
      [`--output needs a value: FILE${help}`, '--policy "," names nothing; expected some of window, timer'],
    ],
    ['--output ', ['--output is empty: expected a file']],
    [
      '--hours 2 -o a --hours 9 --output b',
      ['--hours is given 2 times (2, 9); give it once', '--output is given 2 times (a, b); give it once'],
    ],
    ['--frob --frob', [`there is no option --frob${help}`]],
    ['-qz', [`there is no option -q${help}`]],
  ];
  it.each(rows)('%s', (argv, mistakes) =>
    expect(() => parseArguments(spec, argv.split(' '))).toThrow(new UsageError(...mistakes)),
  );
});

describe('a number', () => {
  const read = (text: string, name: 'degrees' | 'hours' | 'starts' = 'degrees') =>
    parseArguments(spec, [`--${name}`, text]).number(name);

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
    expect(() => read('7', 'hours')).toThrow(/^--hours 7: expected a number within 1 to 6$/);
    expect(() => read('1.5', 'starts')).toThrow(/^--starts 1.5: expected a whole number of at least 1$/);
    expect(() => read('1e1', 'starts')).toThrow(/of at least 1, written in digits such as 16$/);
  });
});
