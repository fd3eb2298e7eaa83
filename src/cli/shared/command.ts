/** The shape of a command: rows of options, from which its help is printed and its arguments are checked. */

import { parseArgs } from 'node:util';
import { findNearestWord } from '../../domain/did-you-mean.ts';
import { hintDecimalPoint, parseDecimal } from '../../domain/text-format.ts';

/** What a command may use of the process; tests pass their own. */
export interface Terminal {
  out(text: string): void;
  /** Errors always; also text and progress for people when stdout is data. */
  err(text: string): void;
  readonly input: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal: only then are there colour, progress and pacing. */
  readonly interactive: boolean;
  /** The configuration and the state directory of the installed unit. */
  readonly installed?: { readonly config: string; readonly state: string };
  readonly columns: number;
  /** Aborted at SIGINT and SIGTERM. */
  readonly stop: AbortSignal;
  /** Calls `report` with an uncaught error right before the process ends with 1; absent: Node writes it to stderr. */
  readonly onCrash?: (report: (error: unknown) => void) => void;
}

export interface OptionRow {
  /** Name of the value in the help; absent: a flag without a value. */
  readonly value?: string;
  readonly help: string;
  readonly short?: string;
  readonly isRepeatable?: boolean;
  readonly default?: string;
  /** The actions that accept it; absent: all of them. */
  readonly actions?: readonly string[];
}

export interface CommandSpec<Row extends string = string> {
  readonly name: string;
  /** The words after the name, such as `[LOAD]`; empty: none. A list: one of these actions, such as `import FILE`. */
  readonly positionals: string | readonly string[];
  readonly options: Readonly<Record<Row, OptionRow>>;
  /** Lines of examples or notes under the options. */
  readonly notes?: readonly string[];
}

/** A command's arguments after the check; their values are text that the command parses. */
export interface Arguments<Row extends string = string> {
  /** One of the command's actions; empty where it has none. */
  readonly action: string;
  /** The words after the action, or after the name. */
  readonly positionals: readonly string[];
  /** The value of an option, its default, or undefined. */
  text(name: Row): string | undefined;
  /** All values of an option that may be given many times. */
  all(name: Row): readonly string[];
  flag(name: Row): boolean;
  /** Undefined when not given; throws `UsageError` when the text is no number or outside the range. */
  number(
    name: Row,
    range?: { readonly from?: number; readonly to?: number; readonly whole?: boolean },
  ): number | undefined;
}

/** Wrong use: one sentence per mistake; the process ends with 2. */
export class UsageError extends Error {
  readonly mistakes: readonly string[];
  constructor(...mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.name = 'UsageError';
    this.mistakes = mistakes;
  }
}

/** Why a file could not be read, for people. */
export function fileErrorText(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  return code === 'EACCES' ? 'this user may not read it' : 'it cannot be read';
}

export const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** A failed job: what failed, its cause and its fix; the process ends with 1. */
export class JobError extends Error {
  override readonly name = 'JobError';
  /** Further keys of the document that `--json` prints. */
  readonly details: Readonly<Record<string, unknown>>;
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.details = details;
  }
}

/** The exports of a command file. `run` resolves to the exit code. */
export interface CommandModule {
  readonly spec: CommandSpec;
  run(args: Arguments, terminal: Terminal): Promise<number>;
}

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

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

/** The function of the given action. */
export function selectAction<Act>(acts: Readonly<Record<string, Act>>, { action }: Pick<Arguments, 'action'>): Act {
  const act = acts[action];
  if (act === undefined) throw new Error(`the action ${action} is listed and has no function`);
  return act;
}

/** Node's message names the option; the rest of it is for programmers. */
function explainParseError(error: unknown, rows: CommandSpec['options']): string {
  const message = error instanceof Error ? error.message : String(error);
  const name = /'(?:-\w, )?--?([\w-]+)/.exec(message)?.[1] ?? '';
  const row = Object.entries(rows).find(([key, { short }]) => key === name || short === name)?.[1];
  if (message.startsWith('Unknown option')) {
    const suggestion = findNearestWord(name, [...Object.keys(rows), 'help']);
    const flag = /'(-[^']*)'/.exec(message)?.[1] ?? name;
    return `there is no option ${flag}${suggestion === undefined ? '' : ` (--${suggestion}?)`}`;
  }
  if (row === undefined) return message.split('. ')[0] ?? '';
  return row.value === undefined ? `--${name} takes no value` : `--${name} needs a value: ${row.value}`;
}

/** Checks `argv` (what follows the command's name) against the rows. Throws `UsageError`. */
export function parseArguments(spec: CommandSpec, argv: readonly string[]): Arguments {
  const rows = spec.options;
  const options = Object.fromEntries(
    Object.entries(rows).map(([name, row]) => [
      name,
      {
        type: row.value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: row.isRepeatable ?? false,
        ...(row.short === undefined ? {} : { short: row.short }),
      },
    ]),
  );
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: joinNegativeNumbers(argv), options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${explainParseError(error, rows)}; gridtide ${spec.name} --help lists its options`);
  }
  const { action, positionals } = parseAction(spec, parsed.positionals);
  const unusedFlags = Object.keys(parsed.values).filter((name) => rows[name]?.actions?.includes(action) === false);
  if (unusedFlags.length > 0)
    throw new UsageError(
      ...unusedFlags.map(
        (name) =>
          `--${name} is an option of ${rows[name]?.actions?.join(', ')}; ${spec.name} ${action} does not use it`,
      ),
    );

  if (parsed.values.json === true && parsed.values.csv === true)
    throw new UsageError('--json and --csv: expected one of them');
  const values = parsed.values as Record<string, string | boolean | readonly string[] | undefined>;
  const text = (name: string) => {
    const value = values[name];
    return typeof value === 'string' ? value : rows[name]?.default;
  };
  return {
    action,
    positionals,
    text,
    all: (name) => {
      const value = values[name];
      return Array.isArray(value) ? value : [];
    },
    flag: (name) => values[name] === true,
    number: (name, { from = -Infinity, to = Infinity, whole = false } = {}) => {
      const given = text(name);
      if (given === undefined) return undefined;
      const n = parseDecimal(given);
      if (n !== undefined && n >= from && n <= to && (!whole || Number.isInteger(n))) return n;
      const kind = whole ? 'a whole number' : 'a number';
      const range = to !== Infinity ? ` within ${from} to ${to}` : from === -Infinity ? '' : ` of at least ${from}`;
      const spelling =
        n === undefined ? `, written in digits such as ${whole ? '16' : '-38.5'}${hintDecimalPoint(given)}` : '';
      throw new UsageError(`--${name} ${given}: expected ${kind}${range}${spelling}`);
    },
  };
}

/** The text of `gridtide NAME --help`. */
export function formatHelp(spec: CommandSpec, summary: string): string {
  const rows = Object.entries({ ...spec.options, help: { help: 'this text' } as OptionRow });
  const flagColumns = rows.map(
    ([name, row]) => `--${name}${row.value === undefined ? '' : ` ${row.value}`}${row.isRepeatable ? ' …' : ''}`,
  );
  const width = Math.min(34, Math.max(...flagColumns.map((head) => head.length)));
  const lines = rows.map(([, row], i) => {
    const fallback = row.default === undefined ? '' : ` (${row.default})`;
    const only = row.actions === undefined ? '' : `${row.actions.join(', ')}: `;
    return `  ${(flagColumns[i] ?? '').padEnd(width)}  ${only}${row.help}${fallback}`;
  });
  const after = typeof spec.positionals === 'string' ? spec.positionals : spec.positionals.join('|');
  const usage = `gridtide ${spec.name}${after === '' ? '' : ` ${after}`} [options]`;
  return [`${usage}\n  ${summary}`, '', ...lines, ...(spec.notes === undefined ? [] : ['', ...spec.notes]), ''].join(
    '\n',
  );
}
