/** `gridtide init`: asks questions, then writes a commented configuration and the files with the credentials. */

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { buildExampleConfig, formatCommentedConfig } from '../../config/example-config.ts';
import { buildConfigSchema } from '../../config/json-schema.ts';
import { buildOptionReference } from '../../config/option-reference.ts';
import { parseConfig } from '../../config/parse-config.ts';
import { formatTopicReference } from '../../mqtt/topics.ts';
import { failureText } from '../../service/failure-text.ts';
import {
  type Arguments,
  type CommandSpec,
  explainWriteError,
  JobError,
  readErrorCode,
  type Terminal,
  UsageError,
} from '../shared/command.ts';
import { locateProgramFile } from '../shared/program-files.ts';
import { interview } from '../shared/prompt.ts';
import { askHouse, fileExists, type Interview, type SecretFile } from './interview.ts';

export const spec = {
  name: 'init',
  positionals: '',
  options: {
    output: { value: 'FILE', help: 'where to write', short: 'o', default: 'gridtide.yaml' },
    force: { help: 'overwrite an existing file' },
    yes: { help: 'ask nothing: write an example to edit' },
    'dry-run': { help: 'with --yes: simulated outputs and no broker, to start with' },
    schema: { help: 'print the JSON schema of the configuration, for editors' },
    options: { help: 'print a table of all options, in Markdown' },
    topics: { help: 'print a table of all MQTT topics, in Markdown' },
  },
  notes: [
    'The configuration names the files with the credentials. Those that are not there it writes with mode 600, where you give their content.',
    'An answer of < goes back one question.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

const buildFileExistsError = (file: string) =>
  new UsageError(`${file} exists; choose another --output, or overwrite it with --force`);

async function writeConfigFile(file: string, text: string, overwrite: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: overwrite ? 'w' : 'wx' });
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') throw buildFileExistsError(file);
    throw new JobError(`${file} cannot be written: ${explainWriteError(error)}; choose another file with --output`);
  }
}

/** Names the schema of the installed program, for editors that read such a line; the build puts it beside the program. */
async function formatSchemaLine(): Promise<string> {
  const schema = locateProgramFile('gridtide.schema.json');
  return (await fileExists(schema)) ? `# yaml-language-server: $schema=${schema}\n` : '';
}

/** Throws `JobError` for a file that cannot be written; one that is there stays. */
async function writeSecrets(secrets: readonly SecretFile[], directory: string, { out }: Terminal): Promise<void> {
  for (const { path, content } of secrets) {
    if (content === undefined) continue;
    const file = resolve(directory, path);
    try {
      await writeFile(file, `${content}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      throw new JobError(`${file} cannot be written: ${explainWriteError(error)}; write it yourself, with mode 600`);
    }
    out(`wrote ${file}\n`);
  }
}

/** Such as the service accepts: with a letter, a digit and a special character. */
const makePassword = () => `${randomBytes(18).toString('base64url')}-a1`;

/** The password is written before the account has it, so that it cannot be lost. */
async function register(
  { config: { service }, registration, secrets }: Interview,
  file: string,
  terminal: Terminal,
): Promise<void> {
  const [, passwordFile] = secrets;
  if (registration === undefined || passwordFile === undefined) return;
  const password = makePassword();
  await writeSecrets([{ ...passwordFile, content: password }], dirname(resolve(file)), terminal);
  const url = typeof service === 'object' && 'url' in service ? String(service.url) : '';
  const { openServiceLink } = await import('../shared/service-access.ts');
  const link = openServiceLink({ url, fleet: 1, credentials: async () => undefined, log: () => {} }, terminal.stop);
  try {
    const answer = await link.service.register({ ...registration, password });
    if (!answer.ok)
      throw new JobError(
        `the account was not registered: ${failureText(answer.failure)}; then gridtide account register --config ${file} --email ${registration.email}`,
      );
    terminal.out(`registered ${registration.username}\n`);
  } finally {
    await link.close();
  }
}

/** Whether the account is there, so that the configuration can be checked next. */
async function writeAnswers(file: string, overwrite: boolean, terminal: Terminal): Promise<boolean> {
  const directory = dirname(resolve(file));
  const answers = await interview(terminal, (prompt) => askHouse(prompt, directory));
  await writeHouse(file, formatCommentedConfig(answers.config), overwrite, terminal);
  await writeSecrets(answers.secrets, directory, terminal);
  await register(answers, file, terminal);
  const { usernameFile, passwordFile } = answers.config.service as Readonly<Record<string, string>>;
  const found = await Promise.all(
    [usernameFile, passwordFile].map((path) => fileExists(resolve(directory, path ?? ''))),
  );
  return !found.includes(false);
}

async function writeHouse(file: string, text: string, overwrite: boolean, terminal: Terminal): Promise<void> {
  const read = parseConfig(text);
  if (!read.ok)
    throw new JobError(`the answers contradict each other: ${read.mistakes.join('; ')}; nothing was written`);
  await writeConfigFile(file, `${await formatSchemaLine()}${text}`, overwrite);
  terminal.out(`wrote ${file}\n`);
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  if (args.flag('schema')) terminal.out(`${JSON.stringify(buildConfigSchema(), null, 2)}\n`);
  if (args.flag('options')) terminal.out(buildOptionReference());
  if (args.flag('topics')) terminal.out(formatTopicReference());
  if (args.flag('schema') || args.flag('options') || args.flag('topics')) return 0;
  const isDry = args.flag('dry-run');
  if (isDry && !args.flag('yes')) throw new UsageError('--dry-run goes with --yes; else answer dry-run for each load');
  const file = args.text('output') ?? 'gridtide.yaml';
  const overwrite = args.flag('force');
  if (!overwrite && (await fileExists(file))) throw buildFileExistsError(file);

  const asksNothing = args.flag('yes');
  if (asksNothing) await writeHouse(file, buildExampleConfig({ isDry }), overwrite, terminal);
  const hasAccount = !asksNothing && (await writeAnswers(file, overwrite, terminal));
  terminal.out(formatNextStep(file, hasAccount, terminal));
  return 0;
}

/** Without an account a check would find it missing; a trial needs none. */
function formatNextStep(file: string, hasAccount: boolean, { installed }: Terminal): string {
  if (resolve(file) === installed?.config) return 'next: gridtide check, then systemctl restart gridtide\n';
  if (hasAccount) return `next: gridtide check --config ${file}\n`;
  return [
    `next: gridtide try --config ${file} --speed 600, which needs no account and switches nothing;`,
    `then set service.url, write user name and password into their files (gridtide account register --config ${file} makes them a new account) and run gridtide check --config ${file}\n`,
  ].join('\n');
}
