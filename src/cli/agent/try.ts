/** `gridtide try`: the reference service and a dry-run agent of the owner's configuration in one terminal. */

import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { isSgReady } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { formatInstant } from '../../domain/units.ts';
import { createHttp } from '../../platform/http-client.ts';
import { adoptFirstTimezone } from '../../platform/process-timezone.ts';
import { createScaledClock, createSystemClock } from '../../platform/system-clock.ts';
import { createReferenceService } from '../../reference/reference-service.ts';
import type { Arguments, CommandSpec, Terminal } from '../shared/command.ts';
import { parseClockFlag } from '../shared/flag-parsers.ts';
import { loadConfigWithPaths } from '../shared/load-configuration.ts';
import { runAgent } from './agent-process.ts';
import type { TrialEnd } from './trial-summary.ts';

export const spec = {
  name: 'try',
  positionals: '',
  options: {
    config: { value: 'FILE', help: 'configuration (YAML); default ./gridtide.yaml, then the installed one' },
    now: { value: 'TIME', help: 'start the clock here; default: now' },
    speed: { value: 'X', range: { from: 1, to: 100_000 }, help: 'how many times faster than real time', default: '1' },
    seed: { value: 'N', range: { from: 0, to: 2 ** 31, whole: true }, help: 'another grid', default: '1' },
  },
  notes: [
    'Needs no account, no broker and no hardware: all outputs are dry runs, and the log prints what would be switched.',
    'It saves nothing: its state is in a temporary directory. Ctrl-C ends it and prints what each load did.',
    'example: gridtide try --speed 600',
  ],
} satisfies CommandSpec;

const ACCOUNT = { username: 'owner', password: 'clean-grid-1', plan: 'pro' } as const;

const toDryRun = (load: LoadConfig): LoadConfig => ({
  ...load,
  output: { kind: 'dry-run', as: isSgReady(load) ? 'sg-ready' : 'relay' },
});

/** The configuration with the reference service, dry-run outputs and no broker; its files are in `folder`. */
async function buildTrialConfig(config: LocatedConfig, url: string, folder: string): Promise<LocatedConfig> {
  const { ca, relay, publicKey, region, ...service } = config.service;
  const { mqtt, ...rest } = config;
  const [usernameFile, passwordFile] = [join(folder, 'username'), join(folder, 'password')];
  await writeFile(usernameFile, ACCOUNT.username, { mode: 0o600 });
  await writeFile(passwordFile, ACCOUNT.password, { mode: 0o600 });
  return {
    ...rest,
    state: join(folder, 'state'),
    service: { ...service, url, usernameFile, passwordFile },
    loads: config.loads.map(toDryRun),
  };
}

export async function run(args: Arguments<keyof typeof spec.options>, terminal: Terminal): Promise<number> {
  const speed = args.number('speed') ?? 1;
  const seed = args.number('seed') ?? 1;
  const start = parseClockFlag(args, 'now') ?? createSystemClock().now().wall;
  adoptFirstTimezone();
  const config = await loadConfigWithPaths(args.text('config'), terminal, { allowsMissingCredentials: true });
  const clock = { ...createScaledClock({ start, speed }), speed };
  const reference = await createReferenceService({ seed, accounts: [ACCOUNT], clock: () => clock.now().wall });
  const folder = await mkdtemp(join(tmpdir(), 'try-gridtide-'));
  // At the very end: an agent stopped early still finishes its writes, and an internal error passes no `finally`.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  try {
    const { url } = await reference.listen();
    const trial = await buildTrialConfig(config, url, folder);
    const dropped = config.mqtt === undefined ? '' : '; nothing is published over MQTT';
    terminal.err(
      `trying ${config.device} at ${url} from ${formatInstant(start)}, ${speed} times real time${dropped}; Ctrl-C ends it\n`,
    );
    let end: TrialEnd = { at: start, decisions: [] };
    const onStop = (decisions: TrialEnd['decisions']) => {
      end = { at: clock.now().wall, decisions };
    };
    // Without the directories of a service manager, which belong to the agent of the house.
    const code = await runAgent(trial, { http: createHttp({}), clock, env: {}, onStop, needsLog: true }, terminal);
    const { summarizeTrial } = await import('./trial-summary.ts');
    terminal.err(await summarizeTrial(trial, start, end));
    return code;
  } finally {
    await reference.close();
  }
}
