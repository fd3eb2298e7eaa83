/** The shape of a command: rows of options, from which its help is printed and its arguments are checked. */

/** What a command may use of the process; tests pass their own. */
export interface Terminal {
  out(text: string): void;
  /** Errors always; also text and progress for people when stdout is data. */
  err(text: string): void;
  readonly input: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether stdout is a terminal: only then are there colour and pacing. */
  readonly interactive: boolean;
  /** Whether stderr is a terminal: only then is progress shown. */
  readonly showsProgress: boolean;
  /** The configuration and the state directory of the installed unit. */
  readonly installed?: { readonly config: string; readonly state: string };
  readonly columns: number;
  /** Aborted at SIGINT, at SIGTERM, and at SIGHUP: a terminal that closes ends an agent in order. */
  readonly stop: AbortSignal;
  /** Calls `report` with an uncaught error right before the process ends with 1; absent: Node writes it to stderr. */
  readonly onCrash?: (report: (error: unknown) => void) => void;
  /** Called with the code of the error that lost a part of the output: the process then ends with 1. */
  readonly onOutputLost?: (code: string) => void;
}

export interface NumberRange {
  readonly from?: number;
  readonly to?: number;
  readonly whole?: boolean;
}

export interface OptionRow {
  /** Name of the value in the help; absent: a flag without a value. */
  readonly value?: string;
  readonly help: string;
  readonly short?: string;
  readonly isRepeatable?: boolean;
  readonly default?: string;
  /** The value is a number within these bounds. */
  readonly range?: NumberRange;
  /** The only values; of an option with the value `A,B`, those of its list. */
  readonly choices?: readonly string[];
  /** The actions that accept it; absent: all of them. */
  readonly actions?: readonly string[];
}

export interface CommandSpec<Row extends string = string> {
  readonly name: string;
  /** The words after the name, such as `[LOAD]`; empty: none. A list: one of these actions, such as `import FILE`. */
  readonly positionals: string | readonly string[];
  readonly options: Readonly<Record<Row, OptionRow>>;
  /** Mistakes between the options; absent: none that is told before the command runs. */
  readonly check?: (args: Arguments) => readonly string[];
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
  /** Undefined when not given. */
  number(name: Row): number | undefined;
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

export const readErrorCode = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** Why a file could not be read, for people. */
export function explainReadError(error: unknown): string {
  const code = readErrorCode(error);
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  return code === 'EACCES' ? 'this user may not read it' : 'it cannot be read';
}

const WRITE_CAUSES: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'its directory is a file',
  EISDIR: 'it is a directory',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is mounted read-only',
  ENOSPC: 'no space is left',
};

/** Why a file could not be written, for people. */
export const explainWriteError = (error: unknown): string => WRITE_CAUSES[readErrorCode(error)] ?? errorMessage(error);

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

/** The function of the given action. */
export function selectAction<Act>(acts: Readonly<Record<string, Act>>, { action }: Pick<Arguments, 'action'>): Act {
  const act = acts[action];
  if (act === undefined) throw new Error(`the action ${action} is listed and has no function`);
  return act;
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
    const choices = row.choices === undefined ? '' : `: ${row.choices.join(', ')}`;
    return `  ${(flagColumns[i] ?? '').padEnd(width)}  ${only}${row.help}${choices}${fallback}`;
  });
  const after = typeof spec.positionals === 'string' ? spec.positionals : spec.positionals.join('|');
  const usage = `gridtide ${spec.name}${after === '' ? '' : ` ${after}`} [options]`;
  return [`${usage}\n  ${summary}`, '', ...lines, ...(spec.notes === undefined ? [] : ['', ...spec.notes]), ''].join(
    '\n',
  );
}
