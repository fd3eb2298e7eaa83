/** The list of commands: name, summary, and the import of its file. Imports none of them itself, so that each start loads one. */

import type { CommandEntry } from './shared/command.ts';

const command = (summary: string, load: CommandEntry['load']): CommandEntry => ({ summary, load });

/** In the order of the help; the first `FIRST_COMMANDS` are those that a new user needs. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  demo: command('a simulated day of a house in about a minute', () => import('./lab/demo.ts')),
  init: command('asks questions, then writes a commented configuration', () => import('./agent/init.ts')),
  check: command('finds problems before a run, each with its fix', () => import('./agent/check.ts')),
  try: command('tries a configuration without account, broker or hardware', () => import('./agent/try.ts')),
  run: command('runs the agent in the foreground', () => import('./agent/run.ts')),
  page: command('serves a page of the house for browsers, and its metrics', () => import('./agent/page.ts')),
  account: command('registers, logs in, resets the password, shows the access', () => import('./service/account.ts')),
  region: command('finds the region of a place', () => import('./service/region.ts')),
  map: command('downloads, imports or describes the region map', () => import('./service/map.ts')),
  signal: command(
    'prints the signal: now, forecast, history, past forecasts, index',
    () => import('./service/signal.ts'),
  ),
  v1: command('the earlier interface: token, authorities, datapoints, marginal', () => import('./service/v1.ts')),
  plan: command("the best schedule of a job; without a forecast, the agent's plan", () => import('./lab/plan.ts')),
  test: command('switches one load by hand within its limits and reads it back', () => import('./agent/test.ts')),
  why: command('the present decision of a load, in words, and the next change', () => import('./agent/why.ts')),
  backtest: command('replays months of a signal: savings against perfect hindsight', () => import('./lab/backtest.ts')),
  tune: command('proposes thresholds and goals from recent days; writes nothing', () => import('./lab/tune.ts')),
  report: command('energy, emissions and savings by day or month', () => import('./agent/report.ts')),
  state: command('moves the state of a house to another card or board', () => import('./agent/state.ts')),
  forget: command("erases an agent's retained topics and Home Assistant entities", () => import('./agent/forget.ts')),
  'install-service': command(
    'makes gridtide a systemd service, or removes it',
    () => import('./agent/install-service.ts'),
  ),
  fleet: command('all agents of a broker in one table', () => import('./agent/fleet.ts')),
  relay: command(
    'fetches the signal of regions once and publishes it signed for many agents',
    () => import('./service/relay.ts'),
  ),
  completion: command('prints the completion script of a shell: bash, zsh, fish', async () =>
    (await import('./lab/completion.ts')).createCompletion(commands),
  ),
  reference: command('the whole service interface on loopback', () => import('./service/reference.ts')),
};
export const FIRST_COMMANDS = 5;
