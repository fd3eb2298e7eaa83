/** Checks the arguments of a command against its rows of options and reports all mistakes of the words and their values at once. */

import { parseArgs } from 'node:util';
import { findNearestWord } from '../../domain/did-you-mean.ts';
import { hintDecimalPoint, parseDecimal } from '../../domain/text-format.ts';
import {
  type Arguments,
  type CommandSpec,
  errorMessage,
  type NumberRange,
  type OptionRow,
  UsageError,
} from './command.ts';
import { parseDurationFlag, parseMomentFlag, parseTimeFlag, parseZoneFlag, splitList } from './flag-parsers.ts';

type Rows = CommandSpec['options'];
type Values = Readonly<Record<string, ReturnType<typeof parseArgs>['values'][string]>>;

/** `parseArgs` reads `-105` after an option as another option; joined with `=` it is a value. */
function joinNegativeNumbers(argv: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of argv) {
    const last = joined.at(-1);
    if (/^-\d*\.?\d/.test(word) && last?.startsWith('--') && !last.includes('='))
      joined[joined.length - 1] = `${last}=${word}`;
    else joined.push(word);
  }
  return joined;
}

/** The first word as one of the command's actions, and the words after it. Throws `UsageError`. */
function parseAction(
  { name, positionals }: CommandSpec,
  words: readonly string[],
): Pick<Arguments, 'action' | 'positionals'> {
  if (typeof positionals === 'string') {
    if (positionals === '' && words.length > 0)
      throw new UsageError(`"${words.join(' ')}" is not expected; gridtide ${name} takes options only`);
    return { action: '', positionals: words };
  }
  const [given, ...rest] = words;
  const actionWords = positionals.map((action) => action.split(' '));
  const found = actionWords.find(([action]) => action === given);
  if (found !== undefined && rest.length === found.length - 1) return { action: found[0] ?? '', positionals: rest };
  const names = actionWords.flatMap(([action]) => action ?? []);
  const suggestion = given === undefined || found !== undefined ? undefined : findNearestWord(given, names);
  const received = given === undefined ? '' : `"${words.join(' ')}": `;
  const hint = suggestion === undefined ? '' : ` (${suggestion}?)`;
  throw new UsageError(
    `${received}expected one of ${positionals.join(', ')}${hint}; gridtide ${name} --help describes each`,
  );
}

interface WordMistake {
  /** How the word at fault may have been typed. */
  readonly flags: readonly string[];
  readonly text: string;
}

/** Node's message names the option; the rest of it is for programmers. */
function explainParseError(error: unknown, rows: Rows): WordMistake {
  const message = errorMessage(error);
  const quoted = /'([^']*)'/.exec(message)?.[1] ?? '';
  const flags = quoted.split(/[\s,]+/).filter((word) => word.startsWith('-'));
  const given = flags.at(-1) ?? '';
  const bare = given.replace(/^--?/, '');
  if (message.startsWith('Unknown option')) {
    const suggestion = findNearestWord(bare, [...Object.keys(rows), 'help']);
    return { flags, text: `there is no option ${given}${suggestion === undefined ? '' : ` (--${suggestion}?)`}` };
  }
  const found = Object.entries(rows).find(([key, { short }]) => key === bare || short === bare);
  if (found === undefined) return { flags, text: message.split('. ')[0] ?? '' };
  const [name, { value }] = found;
  return { flags, text: value === undefined ? `--${name} takes no value` : `--${name} needs a value: ${value}` };
}

/** What `parseArgs` accepts of the words, and the mistakes of the others. */
function parseWords(rows: Rows, argv: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(rows).map(([name, row]) => [
      name,
      {
        type: row.value === undefined ? ('boolean' as const) : ('string' as const),
        // `parseArgs` would drop all but the last of an option that is given twice by mistake.
        multiple: row.value !== undefined,
        ...(row.short === undefined ? {} : { short: row.short }),
      },
    ]),
  );
  const mistakes = new Set<string>();
  let args = joinNegativeNumbers(argv);
  for (;;)
    try {
      return { ...parseArgs({ args, options, allowPositionals: true, strict: true }), mistakes: [...mistakes] };
    } catch (error) {
      const { flags, text } = explainParseError(error, rows);
      mistakes.add(text);
      const at = args.findIndex((word) => flags.some((flag) => word === flag || word.startsWith(`${flag}=`)));
      // A letter among others, as in `-fx`: what is beside it cannot be told apart.
      if (at < 0) return { values: {}, positionals: [], mistakes: [...mistakes] };
      args = args.toSpliced(at, 1);
    }
}

function parseNumber(name: string, given: string, { from = -Infinity, to = Infinity, whole = false }: NumberRange) {
  const n = parseDecimal(given);
  if (n !== undefined && n >= from && n <= to && (!whole || Number.isInteger(n))) return n;
  const kind = whole ? 'a whole number' : 'a number';
  const range = to !== Infinity ? ` within ${from} to ${to}` : from === -Infinity ? '' : ` of at least ${from}`;
  const spelling =
    n === undefined ? `, written in digits such as ${whole ? '16' : '-38.5'}${hintDecimalPoint(given)}` : '';
  throw new UsageError(`--${name} ${given}: expected ${kind}${range}${spelling}`);
}

function requireChoices(name: string, { value, choices = [] }: OptionRow, given: string): void {
  const isList = value === 'A,B';
  const words = isList ? splitList(given) : [given];
  const expected = `expected ${isList ? 'some' : 'one'} of ${choices.join(', ')}`;
  if (words.length === 0) throw new UsageError(`--${name} "${given}" names nothing; ${expected}`);
  const mistakes = words
    .filter((word) => !choices.includes(word))
    .map((word) => {
      const suggestion = findNearestWord(word, choices);
      return `--${name} ${word}: ${expected}${suggestion === undefined ? '' : ` (${suggestion}?)`}`;
    });
  if (mistakes.length > 0) throw new UsageError(...mistakes);
}

/** The check of a value by its name in the help. */
const VALUE_CHECKS: Readonly<Record<string, (args: Arguments, name: string) => unknown>> = {
  TIME: parseTimeFlag,
  'TIME|HH:MM': parseMomentFlag,
  LENGTH: parseDurationFlag,
  ZONE: parseZoneFlag,
};

/** What is wrong with a value as such; what it means for others is the command's to check. */
function checkValue(args: Arguments, name: string, row: OptionRow): void {
  if (args.text(name) === '' && (row.value === 'FILE' || row.value === 'DIR'))
    throw new UsageError(`--${name} is empty: expected ${row.value === 'DIR' ? 'a directory' : 'a file'}`);
  if (row.range !== undefined) args.number(name);
  if (row.choices !== undefined)
    for (const given of row.isRepeatable ? args.all(name) : [args.text(name) ?? '']) requireChoices(name, row, given);
  VALUE_CHECKS[row.value ?? '']?.(args, name);
}

const listValues = (value: Values[string]): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function createArguments(rows: Rows, values: Values, given: Pick<Arguments, 'action' | 'positionals'>): Arguments {
  const all = (name: string) => listValues(values[name]);
  const text = (name: string) => all(name)[0] ?? rows[name]?.default;
  return {
    ...given,
    text,
    all,
    flag: (name) => values[name] === true,
    number: (name) => {
      const range = rows[name]?.range;
      if (range === undefined) throw new Error(`the option ${name} has no range, so it is no number`);
      const value = text(name);
      return value === undefined ? undefined : parseNumber(name, value, range);
    },
  };
}

/** The mistakes that a check throws. */
function listMistakes(check: () => void): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof UsageError) return error.mistakes;
    throw error;
  }
}

function checkOption(args: Arguments, name: string, { name: command, options }: CommandSpec): readonly string[] {
  const row = options[name] ?? { help: '' };
  const { action } = args;
  const given = args.all(name);
  if (given.length > 1 && row.isRepeatable !== true)
    return [`--${name} is given ${given.length} times (${given.join(', ')}); give it once`];
  if (action === '' || row.actions === undefined || row.actions.includes(action))
    return listMistakes(() => checkValue(args, name, row));
  return [`--${name} is an option of ${row.actions.join(', ')}; ${command} ${action} does not use it`];
}

/** Checks `argv` (what follows the command's name) against the rows. Throws `UsageError` with all mistakes. */
export function parseArguments(spec: CommandSpec, argv: readonly string[]): Arguments {
  const { values, positionals, mistakes } = parseWords(spec.options, argv);
  const given: Pick<Arguments, 'action' | 'positionals'> = { action: '', positionals: [] };
  if (mistakes.length > 0) mistakes.push(`${mistakes.pop()}; gridtide ${spec.name} --help lists its options`);
  // A word after an option that does not exist may be its value, so it is judged only where all options do.
  else mistakes.push(...listMistakes(() => Object.assign(given, parseAction(spec, positionals))));
  const args = createArguments(spec.options, values, given);
  // A word that was mistyped may be what a check misses.
  if (mistakes.length === 0) mistakes.push(...(spec.check?.(args) ?? []));
  mistakes.push(...Object.keys(values).flatMap((name) => checkOption(args, name, spec)));
  if (values.json === true && values.csv === true) mistakes.push('--json and --csv: expected one of them');
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return args;
}
