/** `gridtide reference`: reads the flags, starts the reference service, and runs until a signal ends it. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { waitForAbort } from '../../domain/abortable-wait.ts';
import { isLoopback } from '../../domain/loopback.ts';
import { AccountsError } from '../../reference/accounts/account-store.ts';
import { isPlanName, planNames } from '../../reference/accounts/plans.ts';
import { createRule, type FaultRule, faultNames, parseFaultScript } from '../../reference/faults/fault-rules.ts';
import { profileNames } from '../../reference/http/profile.ts';
import { parseServiceDate, parseServiceTime } from '../../reference/http/service-times.ts';
import { createReferenceService, type ReferenceOptions } from '../../reference/reference-service.ts';
import { SeriesError, seriesUnits } from '../../reference/world/recorded-signal.ts';
import {
  type Arguments,
  type CommandModule,
  type CommandSpec,
  errorMessage,
  JobError,
  type Terminal,
  UsageError,
} from '../shared/command.ts';

const STYLES = ['json', 'html'] as const;

const options = {
  port: { value: 'N', range: { from: 0, to: 65_535, whole: true }, help: 'port, 0 for any free one', default: '0' },
  host: { value: 'HOST', help: 'address; off loopback only with a certificate', default: '127.0.0.1' },
  seed: { value: 'N', range: { whole: true }, help: 'everything seeded follows from it', default: '1' },
  now: { value: 'TIME', help: "the service's clock at the start; the present, or 9 days into --series" },
  speed: { value: 'X', range: { from: 0.001, to: 1e6 }, help: 'service seconds to one real second', default: '1' },
  data: { value: 'DIR', help: 'where accounts and the outbox survive; memory only without' },
  account: { value: 'USER:PASSWORD:PLAN', help: 'an account that exists from the start', isRepeatable: true },
  'new-plan': { value: 'PLAN', choices: planNames, help: 'what register makes', default: 'free' },
  'tls-cert': { value: 'FILE', help: 'certificate, PEM' },
  'tls-key': { value: 'FILE', help: 'its key, PEM' },
  series: { value: 'FILE', help: 'recorded signal (time,moer,f1,…,f36 or time,value; .gz too)', isRepeatable: true },
  region: { value: 'R', help: 'the region whose co2_moer the series is; CAISO_NORTH by default' },
  units: { value: 'UNIT', choices: Object.keys(seriesUnits), help: 'of a series of two columns' },
  profile: {
    value: 'NAME',
    choices: profileNames,
    help: 'how it answers, by the letter or as deployments do',
    default: 'specification',
  },
  'auth-errors': {
    value: 'STYLE',
    choices: STYLES,
    help: 'body of authentication errors, in place of what the profile sets',
  },
  faults: { value: 'NAME|FILE', help: 'a fault by name, or a script of them (JSON)', isRepeatable: true },
  extras: { help: 'also what real clients ask beyond the interface; always with --profile published' },
} satisfies CommandSpec<string>['options'];
type Row = keyof typeof options;

export const spec: CommandSpec<Row> = {
  name: 'reference',
  positionals: '[FILE…]',
  options,
  notes: [
    'The first line on stdout is {"listening":"http://127.0.0.1:N"}. Ends at SIGINT or SIGTERM.',
    'FILE…: more files of the series.',
    `Faults: ${faultNames.join(', ')}.`,
  ],
};

/** Arguments being read, with what was wrong so far. */
interface FlagReading {
  readonly args: Arguments<Row>;
  readonly mistakes: string[];
}

/** The given one of `words`, else the first: the row of the option allows no other. */
const getChoice = <Word extends string>(args: Arguments<Row>, name: Row, words: readonly [Word, ...Word[]]): Word =>
  words.find((word) => word === args.text(name)) ?? words[0];

function parseAccountFlags({ args, mistakes }: FlagReading) {
  const named = new Set<string>();
  return args.all('account').flatMap((given) => {
    const [first, last] = [given.indexOf(':'), given.lastIndexOf(':')];
    const [username, password, plan] = [given.slice(0, first), given.slice(first + 1, last), given.slice(last + 1)];
    // What was typed may be a password: it is not repeated.
    if (first <= 0 || last <= first + 1) mistakes.push('--account: expected USER:PASSWORD:PLAN');
    else if (!isPlanName(plan)) mistakes.push(`--account ${username}: the plan is not one of ${planNames.join(', ')}`);
    else if (named.has(username)) mistakes.push(`--account ${username}: the same name is given twice`);
    else {
      named.add(username);
      return [{ username, password, plan }];
    }
    return [];
  });
}

/** Rules of each `--faults`: a name, else a file. */
async function parseFaultFlags({ args, mistakes }: FlagReading): Promise<readonly FaultRule[]> {
  const rules: FaultRule[] = [];
  for (const given of args.all('faults')) {
    const named = createRule(given);
    const text = named === undefined ? await readFile(given, 'utf8').catch(() => undefined) : undefined;
    const script = text === undefined ? [] : parseFaultScript(text);
    if (named !== undefined) rules.push(named);
    else if (text === undefined)
      mistakes.push(
        `--faults ${given}: neither the name of a fault nor a file that can be read; --help lists the names`,
      );
    else if ('mistakes' in script) mistakes.push(...script.mistakes.map((mistake) => `--faults ${given}: ${mistake}`));
    else rules.push(...script);
  }
  return rules;
}

function parseNowFlag({ args, mistakes }: FlagReading): number | undefined {
  const given = args.text('now');
  const now = given === undefined ? undefined : (parseServiceTime(given) ?? parseServiceDate(given));
  if (given !== undefined && now === undefined)
    mistakes.push(`--now ${given}: expected a time with a zone, such as 2026-03-01T00:00:00Z`);
  return now;
}

function parseSeriesFlags({ args, mistakes }: FlagReading): Pick<ReferenceOptions, 'series'> {
  const more = args.positionals;
  const files = [...args.all('series'), ...more];
  const [region, units] = [args.text('region'), args.text('units')];
  if (args.all('series').length === 0) {
    if (more.length > 0) mistakes.push(`"${more.join(' ')}" is not expected without --series`);
    if (region !== undefined)
      mistakes.push(`--region ${region}: names the region of a series; --series FILE is missing`);
    if (units !== undefined) mistakes.push(`--units ${units}: names the unit of a series; --series FILE is missing`);
    return {};
  }
  return {
    series: { files, ...(region === undefined ? {} : { region }), ...(units === undefined ? {} : { units }) },
  };
}

interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

function parseCertificateFlags({ args, mistakes }: FlagReading, host: string): CertificateFiles | undefined {
  const [cert, key] = [args.text('tls-cert'), args.text('tls-key')];
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert !== key) mistakes.push('--tls-cert and --tls-key are given together or not at all');
  if (!isLoopback(host)) mistakes.push(`--host ${host}: only loopback is served without --tls-cert and --tls-key`);
  return undefined;
}

interface ReferenceSettings {
  readonly options: Omit<ReferenceOptions, 'clock' | 'tls'>;
  readonly host: string;
  readonly port: number;
  readonly now: number | undefined;
  readonly speed: number;
  readonly certificate: CertificateFiles | undefined;
}

/** All settings, or all mistakes at once. */
async function parseReferenceFlags(args: Arguments<Row>): Promise<ReferenceSettings> {
  const reading: FlagReading = { args, mistakes: [] };
  const host = args.text('host') ?? '127.0.0.1';
  const data = args.text('data');
  const settings: ReferenceSettings = {
    host,
    port: args.number('port') ?? 0,
    now: parseNowFlag(reading),
    speed: args.number('speed') ?? 1,
    certificate: parseCertificateFlags(reading, host),
    options: {
      seed: args.number('seed') ?? 1,
      accounts: parseAccountFlags(reading),
      newPlan: getChoice(args, 'new-plan', planNames),
      profile: getChoice(args, 'profile', profileNames),
      faults: await parseFaultFlags(reading),
      ...(args.text('auth-errors') === undefined ? {} : { authErrors: getChoice(args, 'auth-errors', STYLES) }),
      ...(args.flag('extras') ? { extras: true } : {}),
      ...(data === undefined ? {} : { data }),
      ...parseSeriesFlags(reading),
    },
  };
  if (reading.mistakes.length > 0) throw new UsageError(...reading.mistakes);
  return settings;
}

const DAY = 86_400_000;
/** A series without --now starts this far into it: the agent learns from the days before. */
const TEACHING_DAYS = 9;

async function readCertificate({ cert, key }: CertificateFiles) {
  const read = (flag: string, file: string) =>
    readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${flag} ${file}: cannot be read (${error.code})`);
    });
  const tls = { cert: await read('--tls-cert', cert), key: await read('--tls-key', key) };
  try {
    // A secure context takes empty files for none, and no client could connect.
    new X509Certificate(tls.cert);
    createPrivateKey(tls.key);
    createSecureContext(tls);
  } catch {
    throw new UsageError(`--tls-cert ${cert}, --tls-key ${key}: not a PEM certificate and its key`);
  }
  return tls;
}

/** Why a port cannot be listened on, with the cure where there is one. */
function explainListenError(error: unknown, host: string, port: number): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new JobError(
        `port ${port} of ${host} is in use by another program; choose another with --port, or --port 0 for any free one`,
      );
    case 'EACCES':
      return new JobError(`port ${port} of ${host} may not be opened by this user; name one above 1023 with --port`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new UsageError(`--host ${host}: is not an address of this machine`);
    default:
      return error;
  }
}

async function startReference({ options, host, port, now, speed, certificate }: ReferenceSettings, terminal: Terminal) {
  const tls = certificate === undefined ? undefined : await readCertificate(certificate);
  let start = now ?? Date.now();
  let startedAt = performance.now();
  const clock = () => Math.floor(start + (performance.now() - startedAt) * speed);
  const onError = (error: unknown) =>
    terminal.err(`gridtide reference: ${errorMessage(error)}; the client was answered with 500\n`);
  const reference = await createReferenceService({ ...options, clock, onError, ...(tls === undefined ? {} : { tls }) });
  const { recordedSpan: recorded } = reference;
  if (now === undefined && recorded !== undefined) start = Math.min(recorded.to, recorded.from + TEACHING_DAYS * DAY);
  // Reading a long series needs time; the clock starts when the service does.
  startedAt = performance.now();
  const { url } = await reference.listen({ host, port }).catch((error: unknown) => {
    throw explainListenError(error, host, port);
  });
  return { reference, url };
}

export const run: CommandModule['run'] = async (args: Arguments<Row>, terminal: Terminal) => {
  const settings = await parseReferenceFlags(args);
  const { reference, url } = await startReference(settings, terminal).catch((error: unknown) => {
    if (error instanceof UsageError || error instanceof JobError) throw error;
    if (error instanceof SeriesError) throw new UsageError(`--series: ${error.message}`);
    if (error instanceof AccountsError) throw new JobError(`--data: ${error.message}`);
    throw new JobError(`${errorMessage(error)}; the reference service was not started`);
  });
  terminal.out(`${JSON.stringify({ listening: url })}\n`);
  await waitForAbort(terminal.stop);
  await reference.close();
  return 0;
};
