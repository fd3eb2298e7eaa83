/** Records each step of the control core: log, monitor, ledger and saved state. */

import type { Decision, Site } from '../control/control-types.ts';
import { explainDecision } from '../control/explain.ts';
import type { ControlState } from '../control/step.ts';
import type { Log } from '../domain/ports.ts';
import type { RateUnit } from '../domain/rate-units.ts';
import { type Duration, minutes } from '../domain/units.ts';
import type { Monitor } from '../mqtt/monitor.ts';
import type { TieRule } from '../signal/percentile-index.ts';
import type { StepReport } from './control-loop.ts';
import { createExpectedRuns } from './expected-runs.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import type { Persistence } from './persistence.ts';

export interface StepRecorderParts {
  readonly site: Site;
  readonly ties: TieRule;
  readonly rateUnit: RateUnit;
  readonly log: Log;
  readonly ledger: LedgerWriter;
  readonly persistence: Persistence;
  readonly monitor: Monitor;
  /** Without one the saved state is all that `why`, `plan` and the page have. */
  readonly hasBroker: boolean;
}

export interface StepRecorder {
  recordStep(report: StepReport<ControlState>): void;
  /** The newest of each load. */
  decisions(): readonly Decision[];
  /** The newest decision on a load, for people. */
  explain(load: string): string;
}

/** Progress of running jobs reaches the disk at least this often. */
const PROGRESS_SAVE_INTERVAL = minutes(30);
const AT_ONCE = minutes(0);

export function createStepRecorder({
  site: { timezone, loads },
  ties,
  rateUnit,
  log,
  ledger,
  persistence,
  monitor,
  hasBroker,
}: StepRecorderParts): StepRecorder {
  const decisions = new Map<string, Decision>();
  const findExpectedRuns = createExpectedRuns(ties);

  /** Returns whether the decision is worth a line of the log. */
  const recordDecision = (decision: Decision, now: StepReport<ControlState>['now']): boolean => {
    const { load, level, why, priority } = decision;
    const isNews = isNoteworthy(decision, decisions.get(load));
    decisions.set(load, decision);
    ledger.recordDecision(decision, now);
    const text = explainDecision(decision, timezone, rateUnit);
    log(isNews ? 'info' : 'debug', `${load} ${level}: ${text}`, { load, why, priority });
    monitor.publishDecision(decision, text);
    return isNews;
  };

  return {
    recordStep(report) {
      const { state, event, now } = report;
      let hasNews = false;
      for (const decision of report.decisions) if (recordDecision(decision, now)) hasNews = true;
      for (const [i, one] of state.loads.entries()) {
        const load = hasBroker ? loads[i] : undefined;
        const expected = load && findExpectedRuns(load, state, state.view?.horizon);
        monitor.publishControl(one.name, { ...one, ...(expected && { expected }) });
      }
      if (event.kind === 'confirmed') ledger.recordLevel(event.load, event.level, now);
      const atMost = !hasBroker && hasNews ? AT_ONCE : getSaveInterval(report);
      persistence.saveControl(state, { now, jobs: ledger.recordedJobs(), atMost });
    },
    decisions: () => [...decisions.values()],
    explain(load) {
      const decision = decisions.get(load);
      return decision === undefined ? '' : explainDecision(decision, timezone, rateUnit);
    },
  };
}

/** The index as a remark on a load that stays at its level. */
const isIndexReason = (why: Decision['why']) => why === 'clean' || why === 'between' || why === 'dirty';

/** A plan that moves its next start, or an index that hovers, is for those who watch, not for a log on a memory card. */
const isNoteworthy = ({ level, why }: Decision, before: Decision | undefined): boolean =>
  before?.level !== level || (before.why !== why && !(isIndexReason(before.why) && isIndexReason(why)));

/** A switch and a command are saved at once: losing one would switch a load twice, or forget its owner's command. */
function getSaveInterval({ event, hasCommands }: StepReport<ControlState>): Duration {
  if (hasCommands) return AT_ONCE;
  switch (event.kind) {
    case 'confirmed':
    case 'override':
    case 'arm':
    case 'clear':
    case 'pause':
    case 'thresholds':
    case 'vehicle':
      return AT_ONCE;
    case 'tick':
    case 'signal':
    case 'found':
    case 'failed':
    case 'safety':
      return PROGRESS_SAVE_INTERVAL;
  }
}
