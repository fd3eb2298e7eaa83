/** `gridtide reference`: reads the flags, starts the reference service, runs until told to stop. Decides nothing of what it answers. */

import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { AuthErrors } from '../reference/answer.ts';
import { type FaultRule, faultNames, readFaultScript, ruleNamed } from '../reference/fault-rules.ts';
import { isPlan, type PlanName, planNames } from '../reference/plans.ts';
import { createReference, isLoopback, type ReferenceOptions } from '../reference/reference.ts';
import { SeriesError } from '../reference/series.ts';
import { readDate, readTime } from '../reference/times.ts';
import {
  type Arguments,
  type CommandModule,
  type CommandSpec,
  JobError,
  type Terminal,
  UsageError,
} from './command.ts';

type Row =
  | 'port'
  | 'host'
  | 'seed'
  | 'now'
  | 'speed'
  | 'data'
  | 'account'
  | 'new-plan'
  | 'tls-cert'
  | 'tls-key'
  | 'series'
  | 'region'
  | 'units'
  | 'auth-errors'
  | 'faults'
  | 'extras';

export const spec: CommandSpec<Row> = {
  name: 'reference',
  summary: 'the whole service interface on loopback',
  positionals: '[FILE…]',
  options: {
    port: { value: 'N', help: 'port, 0 for any free one', default: '0' },
    host: { value: 'HOST', help: 'address; off loopback only with a certificate', default: '127.0.0.1' },
    seed: { value: 'N', help: 'everything seeded follows from it', default: '1' },
    now: { value: 'TIME', help: "the service's clock at the start; the present, or 9 days into --series" },
    speed: { value: 'X', help: 'service seconds to one real second', default: '1' },
    data: { value: 'DIR', help: 'where accounts and the outbox survive; memory only without' },
    account: { value: 'USER:PASSWORD:PLAN', help: 'an account that exists from the start', many: true },
    'new-plan': { value: 'PLAN', help: `what register makes: ${planNames.join(', ')}`, default: 'free' },
    'tls-cert': { value: 'FILE', help: 'certificate, PEM' },
    'tls-key': { value: 'FILE', help: 'its key, PEM' },
    series: { value: 'FILE', help: 'recorded signal (time,moer,f1,…,f36 or time,value; .gz too)', many: true },
    region: { value: 'R', help: 'whose co2_moer the series is', default: 'CAISO_NORTH' },
    units: { value: 'UNIT', help: 'of a series of two columns: kg_co2_per_kwh or lbs_co2_per_mwh' },
    'auth-errors': { value: 'STYLE', help: 'body of authentication errors: json or html', default: 'json' },
    faults: { value: 'NAME|FILE', help: 'a fault by name, or a script of them (JSON)', many: true },
    extras: { help: 'also what real clients ask beyond the interface' },
  },
  notes: [
    'The first line on stdout is {"listening":"http://127.0.0.1:N"}. Ends at SIGINT or SIGTERM.',
    'FILE…: more files of the series.',
    `Faults: ${faultNames.join(', ')}.`,
  ],
};

const mistakesIn = (mistakes: string[]) => ({
  /** Runs a reading; its `UsageError` joins the others. */
  gather<Value>(read: () => Value, filler: Value): Value {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      mistakes.push(...error.mistakes);
      return filler;
    }
  },
});

function accountOf(said: string): { username: string; password: string; plan: PlanName } | string {
  const first = said.indexOf(':');
  const last = said.lastIndexOf(':');
  const plan = said.slice(last + 1);
  // The password may hold colons; the value is not repeated in the complaint.
  if (first <= 0 || last <= first + 1) return '--account: expected USER:PASSWORD:PLAN';
  if (!isPlan(plan)) return `--account ${said.slice(0, first)}: plan "${plan}" is not one of ${planNames.join(', ')}`;
  return { username: said.slice(0, first), password: said.slice(first + 1, last), plan };
}

interface Wishes {
  readonly options: Omit<ReferenceOptions, 'clock' | 'tls'>;
  readonly host: string;
  readonly port: number;
  readonly now: number | undefined;
  readonly speed: number;
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
}

/** Rules of one `--faults`: a name, else a file. */
async function faultsFrom(said: string): Promise<readonly FaultRule[] | { readonly mistakes: readonly string[] }> {
  const named = ruleNamed(said);
  if (named !== undefined) return [named];
  try {
    return readFaultScript(await readFile(said, 'utf8'));
  } catch {
    return { mistakes: ['neither the name of a fault nor a file that can be read; --help lists the names'] };
  }
}

async function wishesOf(args: Arguments<Row>): Promise<Wishes> {
  const mistakes: string[] = [];
  const { gather } = mistakesIn(mistakes);
  const seed = gather(() => args.number('seed', { whole: true }), 1) ?? 1;
  const port = gather(() => args.number('port', { from: 0, to: 65_535, whole: true }), 0) ?? 0;
  const speed = gather(() => args.number('speed', { from: 0.001, to: 1e6 }), 1) ?? 1;

  const accounts = args.all('account').flatMap((said) => {
    const account = accountOf(said);
    if (typeof account !== 'string') return [account];
    mistakes.push(account);
    return [];
  });
  const faults: FaultRule[] = [];
  for (const name of args.all('faults')) {
    const rules = await faultsFrom(name);
    if ('mistakes' in rules) mistakes.push(...rules.mistakes.map((mistake) => `--faults ${name}: ${mistake}`));
    else faults.push(...rules);
  }
  const newPlan = args.text('new-plan') ?? 'free';
  if (!isPlan(newPlan)) mistakes.push(`--new-plan ${newPlan}: expected one of ${planNames.join(', ')}`);
  const style = args.text('auth-errors') ?? 'json';
  if (style !== 'json' && style !== 'html') mistakes.push(`--auth-errors ${style}: expected json or html`);

  const said = args.text('now');
  const now = said === undefined ? undefined : (readTime(said) ?? readDate(said));
  if (said !== undefined && now === undefined)
    mistakes.push(`--now ${said}: expected a time with a zone, such as 2026-03-01T00:00:00Z`);

  const files = [...args.all('series'), ...args.positionals];
  const units = args.text('units');
  if (files.length > 0 && args.all('series').length === 0)
    mistakes.push(`"${files.join(' ')}" is not expected without --series`);

  const [cert, key] = [args.text('tls-cert'), args.text('tls-key')];
  if ((cert === undefined) !== (key === undefined))
    mistakes.push('--tls-cert and --tls-key are given together or not at all');
  const host = args.text('host') ?? '127.0.0.1';
  if (!isLoopback(host) && (cert === undefined || key === undefined))
    mistakes.push(`--host ${host}: only loopback is served without --tls-cert and --tls-key`);
  if (mistakes.length > 0) throw new UsageError(...mistakes);

  const data = args.text('data');
  return {
    host,
    port,
    now,
    speed,
    certificate: cert === undefined || key === undefined ? undefined : { cert, key },
    options: {
      seed,
      accounts,
      newPlan: newPlan as PlanName,
      authErrors: style as AuthErrors,
      faults,
      extras: args.flag('extras'),
      ...(data === undefined ? {} : { data }),
      ...(files.length === 0
        ? {}
        : {
            series: { files, region: args.text('region') ?? 'CAISO_NORTH', ...(units === undefined ? {} : { units }) },
          }),
    },
  };
}

const DAY = 86_400_000;
/** A series without --now starts this far into it: what stands before is there to learn from. */
const TEACHING_DAYS = 9;

const sentence = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function readCertificate({ cert, key }: { readonly cert: string; readonly key: string }) {
  const read = (flag: string, file: string) =>
    readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${flag} ${file}: cannot be read (${error.code})`);
    });
  const tls = { cert: await read('--tls-cert', cert), key: await read('--tls-key', key) };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new UsageError(
      `--tls-cert ${cert}, --tls-key ${key}: not a PEM certificate and its key (${sentence(error)})`,
    );
  }
  return tls;
}

async function started({ options, host, port, now, speed, certificate }: Wishes, terminal: Terminal) {
  const tls = certificate === undefined ? undefined : await readCertificate(certificate);
  let start = now ?? Date.now();
  const began = performance.now();
  const clock = () => Math.floor(start + (performance.now() - began) * speed);
  const onError = (error: unknown) =>
    terminal.err(`gridtide reference: ${sentence(error)}; the caller was answered with 500\n`);
  const reference = await createReference({ ...options, clock, onError, ...(tls === undefined ? {} : { tls }) });
  const { recorded } = reference;
  if (now === undefined && recorded !== undefined) start = Math.min(recorded.to, recorded.from + TEACHING_DAYS * DAY);
  return { reference, url: (await reference.listen({ host, port })).url };
}

export const run: CommandModule['run'] = async (args: Arguments<Row>, terminal: Terminal) => {
  const wishes = await wishesOf(args);
  const { reference, url } = await started(wishes, terminal).catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
    if (error instanceof SeriesError) throw new UsageError(`--series: ${error.message}`);
    throw new JobError(`${sentence(error)}; the reference service was not started`);
  });
  terminal.out(`${JSON.stringify({ listening: url })}\n`);
  await new Promise<void>((resolve) => {
    if (terminal.stop.aborted) resolve();
    terminal.stop.addEventListener('abort', () => resolve(), { once: true });
  });
  await reference.close();
  return 0;
};
