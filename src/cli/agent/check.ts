/** `gridtide check`: finds problems before a run, each with its place and its fix; switches nothing. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import { formatCount } from '../../domain/units.ts';
import { type Arguments, type CommandSpec, type Terminal, UsageError } from '../shared/command.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { STATE_ROW } from '../shared/state-directory.ts';
import { paint } from '../shared/terminal-text.ts';
import {
  type Check,
  checkClock,
  checkFiles,
  checkLines,
  checkPlace,
  checkPrices,
  checkServiceAddress,
  checkState,
  checkTimezone,
  type Finding,
  note,
  skipped,
} from './device-checks.ts';

export const spec = {
  name: 'check',
  positionals: '',
  options: {
    config: { value: 'FILE', help: 'configuration (YAML); gridtide init writes one' },
    state: STATE_ROW,
    offline: { help: 'contact neither the broker nor the service, nor devices over HTTP' },
    json: { help: 'one JSON document' },
  },
  notes: [
    'It drives no GPIO line and sends no command; at the broker it writes and reads a test topic of its own, and devices over HTTP are asked',
    'for their state. Run it as the user of the agent:',
    'root may read and write files that another user may not. Of the installed agent, root checks all; members of the group gridtide',
    'check what needs no credential.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

const LOCAL_CHECKS: readonly Check[] = [
  checkServiceAddress,
  checkFiles,
  checkPrices,
  checkState,
  checkClock,
  checkLines,
  checkTimezone,
  checkPlace,
];

/** Why a party is not contacted, if it is not. */
function explainSilence(party: 'mqtt' | 'service', findings: readonly Finding[], isOffline: boolean) {
  if (isOffline) return 'not contacted (--offline)';
  const files = findings.filter(({ at }) => at.startsWith(`${party}.`));
  if (files.some(({ state }) => state === 'skipped'))
    return 'not contacted: this user may not read its credentials; sudo gridtide check contacts it';
  const wrongFiles = files.filter(({ state }) => state === 'wrong').map(({ at }) => at);
  return wrongFiles.length === 0 ? undefined : `not contacted: first mend ${wrongFiles.join(' and ')}`;
}

async function runChecks(
  config: LocatedConfig,
  args: Arguments<Row>,
  { env, stop, installed }: Terminal,
): Promise<readonly Finding[]> {
  const context = { config, env, stop, isInstalled: config.state === installed?.state };
  const findings: Finding[] = [];
  for (const check of LOCAL_CHECKS) findings.push(...(await check(context)));
  for (const party of ['mqtt', 'service'] as const) {
    const silence = explainSilence(party, findings, args.flag('offline'));
    if (silence !== undefined) findings.push(skipped(party, silence));
    else {
      const { checkBroker, checkRelay, checkService } = await import('./network-checks.ts');
      const checks = party === 'mqtt' ? [checkBroker, checkRelay] : [checkService];
      for (const check of checks) findings.push(...(await check(context)));
    }
  }
  if (findings.some(({ at, state }) => state === 'wrong' && ACCOUNT_PARTS.includes(at))) findings.push(NEW_ACCOUNT);
  if (args.flag('offline')) return findings;
  const { checkWebDevices } = await import('./web-checks.ts');
  const hidden = findings.flatMap(({ at, state }) => (state === 'skipped' ? [at] : []));
  findings.push(...(await checkWebDevices(context, hidden)));
  return findings;
}

const ACCOUNT_PARTS = ['service.url', 'service.usernameFile', 'service.passwordFile'];
const NEW_ACCOUNT = note(
  'service',
  'without an account: write a user name and a password into the two files, then gridtide account register --config FILE --email ADDRESS; gridtide try needs none',
);

const MARKS = {
  ok: ['ok   ', 'green'],
  note: ['note ', 'yellow'],
  wrong: ['WRONG', 'red'],
  skipped: ['-    ', undefined],
} as const satisfies Record<Finding['state'], unknown>;

function printFindings(findings: readonly Finding[], json: boolean, terminal: Terminal): void {
  const { out } = terminal;
  const problems = findings.filter(({ state }) => state === 'wrong').length;
  if (json) {
    out(`${JSON.stringify({ ok: problems === 0, findings })}\n`);
    return;
  }
  for (const { at, state, text } of findings) {
    const [mark, colour] = MARKS[state];
    out(`${colour === undefined ? mark : paint(terminal, colour, mark)}  ${at}: ${text}\n`);
  }
  out(problems === 0 ? 'no problems\n' : `${formatCount(problems, 'problem')}\n`);
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const json = args.flag('json');
  let config: LocatedConfig;
  try {
    config = await loadConfigWithPaths(args.text('config'), terminal, { state: args.text('state') });
  } catch (error) {
    if (!json || !(error instanceof UsageError)) throw error;
    printFindings(
      error.mistakes.map((text) => ({ at: 'config', state: 'wrong', text })),
      json,
      terminal,
    );
    return 2;
  }
  const findings = await runChecks(config, args, terminal);
  printFindings(findings, json, terminal);
  return findings.some(({ state }) => state === 'wrong') ? 1 : 0;
}
