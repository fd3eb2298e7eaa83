/** `gridtide completion`: prints the completion script of a shell, made from the list of commands and their options. */

import {
  type Arguments,
  type CommandEntry,
  type CommandModule,
  type CommandSpec,
  type OptionRow,
  selectAction,
  type Terminal,
} from '../shared/command.ts';

const spec: CommandSpec = {
  name: 'completion',
  positionals: ['bash', 'zsh', 'fish'],
  options: {},
  notes: [
    'bash: gridtide completion bash > /etc/bash_completion.d/gridtide',
    `zsh:  gridtide completion zsh > "\${fpath[1]}/_gridtide"`,
    'fish: gridtide completion fish > ~/.config/fish/completions/gridtide.fish',
  ],
};

interface CompletedOption {
  readonly name: string;
  readonly help: string;
  /** Undefined: a flag without a value. */
  readonly value: string | undefined;
  /** The values that are offered; empty where they are not known. */
  readonly choices: readonly string[];
}

interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly actions: readonly string[];
  readonly options: readonly CompletedOption[];
}

type CommandList = Readonly<Record<string, CommandEntry>>;

async function describeCommands(commands: CommandList): Promise<CompletedCommand[]> {
  const described = Object.entries(commands).map(async ([name, { summary, load }]) => {
    const { positionals, options } = (await load()).spec;
    const actions = typeof positionals === 'string' ? [] : positionals.map((action) => action.split(' ')[0] ?? '');
    const rows: readonly (readonly [string, OptionRow])[] = [
      ...Object.entries(options),
      ['help', { help: 'describes the command' }],
    ];
    return {
      name,
      summary,
      actions,
      options: rows.map(([option, { help, value, choices }]) => ({
        ...{ name: option, help, value },
        choices: choices ?? (value === 'ZONE' ? Intl.supportedValuesOf('timeZone') : []),
      })),
    };
  });
  return Promise.all(described);
}

const takesFile = ({ value }: CompletedOption) => value === 'FILE' || value === 'DIR';
/** Values with commas between them: each is completed after the last comma. */
const isList = ({ value, choices }: CompletedOption) => value === 'A,B' && choices.length > 0;
const takesOther = (option: CompletedOption) => option.value !== undefined && !takesFile(option);

function formatBash(all: readonly CompletedCommand[]): string {
  const cases = all.map(({ name, actions, options }) => {
    const words = [...actions, ...options.map((option) => `--${option.name}`)].join(' ');
    return `    ${name}) words="${words}" ;;`;
  });
  const choiceCases = all.flatMap(({ name, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map((option) => {
        const lead = isList(option) ? ` lead=\${word%"\${word##*,}"}` : '';
        return `    "${name} --${option.name}") values="${option.choices.join(' ')}"${lead} ;;`;
      }),
  );
  const fileOptions = [
    ...new Set(all.flatMap(({ options }) => options.filter(takesFile)).map(({ name }) => `--${name}`)),
  ];
  return [
    '# bash completion of gridtide',
    '_gridtide() {',
    `  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words values lead`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${all.map(({ name }) => name).join(' ')} help" -- "$word"))`,
    '    return',
    '  fi',
    '  case $before in',
    `    ${fileOptions.join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;`,
    '  esac',
    `  case "\${COMP_WORDS[1]} $before" in`,
    ...choiceCases,
    '  esac',
    '  if [ -n "$values" ]; then',
    `    COMPREPLY=($(compgen -P "$lead" -W "$values" -- "\${word#"$lead"}"))`,
    '    return',
    '  fi',
    `  case \${COMP_WORDS[1]} in`,
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))',
    '}',
    'complete -o filenames -F _gridtide gridtide',
    '',
  ].join('\n');
}

/** A text between single quotes of zsh and fish. */
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function formatZsh(all: readonly CompletedCommand[]): string {
  // Brackets and colons have a meaning in the specifications of _arguments.
  const escapeMarks = (text: string) => text.replace(/[[\]:\\]/g, '\\$&');
  const formatChoices = (one: CompletedOption) =>
    isList(one) ? `_values -s , value ${one.choices.join(' ')}` : `(${one.choices.join(' ')})`;
  const formatValue = (one: CompletedOption) =>
    `:${one.value}:${/FILE|DIR/.test(one.value ?? '') ? '_files' : one.choices.length > 0 ? formatChoices(one) : ''}`;
  const option = (one: CompletedOption) =>
    quote(`--${one.name}[${escapeMarks(one.help)}]${one.value === undefined ? '' : formatValue(one)}`);
  const cases = all.map(({ name, actions, options }) => {
    const first =
      actions.length === 0
        ? quote('*:file:_files')
        : `${quote(`1:action:(${actions.join(' ')})`)} ${quote('*:file:_files')}`;
    return `    ${name}) _arguments ${options.map(option).join(' ')} ${first} ;;`;
  });
  return [
    '#compdef gridtide',
    '_gridtide() {',
    '  if (( CURRENT == 2 )); then',
    '    local -a names=(',
    ...all.map(({ name, summary }) => `      ${quote(`${name}:${summary}`)}`),
    '    )',
    "    _describe 'command' names",
    '    return',
    '  fi',
    '  local name=$words[2]',
    '  shift words; (( CURRENT-- ))',
    '  case $name in',
    ...cases,
    '  esac',
    '}',
    '_gridtide "$@"',
    '',
  ].join('\n');
}

function formatFish(all: readonly CompletedCommand[]): string {
  const lines = all.flatMap(({ name, summary, actions, options }) => [
    `complete -c gridtide -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
    ...actions.map((action) => `complete -c gridtide -n '__fish_seen_subcommand_from ${name}' -a ${action}`),
    ...options.map((option) => {
      const words = isList(option)
        ? `(__fish_complete_list , "string split , ${option.choices.join(',')}")`
        : option.choices.join(' ');
      const choices = option.choices.length > 0 ? ` -a ${quote(words)}` : '';
      const value = takesFile(option) ? ' -r -F' : takesOther(option) ? ` -x${choices}` : '';
      return `complete -c gridtide -n '__fish_seen_subcommand_from ${name}' -l ${option.name}${value} -d ${quote(option.help)}`;
    }),
  ]);
  return `${['# fish completion of gridtide', ...lines].join('\n')}\n`;
}

const FORMATS = { bash: formatBash, zsh: formatZsh, fish: formatFish };

/** The command over the list that it is an entry of. */
export const createCompletion = (commands: CommandList): CommandModule => ({
  spec,
  async run(args: Arguments, { out }: Terminal) {
    const format = selectAction(FORMATS, args);
    out(format(await describeCommands(commands)));
    return 0;
  },
});
