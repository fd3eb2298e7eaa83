/** The list of commands: name, one line, and how to load the file. Loads none of them itself. */

import type { CommandModule } from './shared/command.ts';

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  run: { summary: 'the agent, in the foreground', load: () => import('./agent/run.ts') },
  demo: { summary: 'a day of a house in about a minute, everything embedded', load: () => import('./lab/demo.ts') },
  check: {
    summary: 'everything that can be known before running, each problem with its cure',
    load: () => import('./agent/check.ts'),
  },
  init: { summary: 'asks, then writes a commented configuration', load: () => import('./agent/init.ts') },
  account: {
    summary: 'register, log in, reset the password, see what the account opens',
    load: () => import('./service/account.ts'),
  },
  region: { summary: 'which region a place lies in', load: () => import('./service/region.ts') },
  map: { summary: 'the region map held: download, import, show', load: () => import('./service/map.ts') },
  signal: {
    summary: 'the signal: now, forecast, history, past forecasts, index',
    load: () => import('./service/signal.ts'),
  },
  v1: {
    summary: 'the earlier interface: token, authorities, datapoints, marginal',
    load: () => import('./service/v1.ts'),
  },
  plan: { summary: 'the best schedule for a job, or what the agent has planned', load: () => import('./lab/plan.ts') },
  test: {
    summary: 'switches one load by hand, within its guards, and reads back',
    load: () => import('./agent/test.ts'),
  },
  why: {
    summary: 'the present decision of a load, in words, and what comes next',
    load: () => import('./agent/why.ts'),
  },
  backtest: {
    summary: 'months in seconds: what it would have done and saved, against hindsight',
    load: () => import('./lab/backtest.ts'),
  },
  tune: {
    summary: 'proposes thresholds and goals from the last days; writes nothing',
    load: () => import('./lab/tune.ts'),
  },
  report: { summary: 'what was saved, provisional and settled', load: () => import('./agent/report.ts') },
  reference: { summary: 'the whole service interface on loopback', load: () => import('./service/reference.ts') },
};
