/** Turns each answer of the signal sources into problems, entitlement changes and region checks. */

import type { EntitlementPoller } from '../service/entitlements/entitlement-poller.ts';
import type { AgentContext } from './agent-context.ts';
import type { ClockMonitor } from './clock-monitor.ts';
import { formatServiceFailure, getFailureKind } from './health-report.ts';
import type { SignalSource } from './poll-state.ts';
import type { RegionLoop } from './region-loop.ts';
import type { SignalAnswer } from './signal-loop.ts';

export interface AnswerReportsParts {
  readonly clockMonitor: Pick<ClockMonitor, 'checkSkew'>;
  readonly entitlements: Pick<EntitlementPoller, 'entitlements' | 'observeGate'>;
  readonly regionLoop: Pick<RegionLoop, 'requestEarlyRefresh'>;
}

export function createAnswerReports({ config, clock, log, problems }: AgentContext, parts: AnswerReportsParts) {
  const { clockMonitor, entitlements, regionLoop } = parts;

  const isEntitledTo = (source: SignalSource) =>
    entitlements.entitlements()?.[source === 'forecast' ? 'forecast' : 'index'] !== 'closed';

  /** A pinned model that no description has listed yet may be what is refused. */
  const mayConcernRegion = (source: SignalSource) =>
    source === 'live-index' ||
    config.service.model === undefined ||
    (entitlements.entitlements()?.models.length ?? 0) > 0;

  /** A relay whose account has no index publishes none: the index is that of the forecast. */
  const isNeeded = (source: SignalSource, { failure, data }: SignalAnswer) =>
    isEntitledTo(source) &&
    !(source === 'live-index' && failure?.kind === 'no-relayed-signal' && failure.isAbsent && data.forecast);

  const reportProblem = (source: SignalSource, answer: SignalAnswer): void => {
    const { failure, note } = answer;
    const subject = `service:${source}`;
    const lacking = `no ${source === 'forecast' ? 'forecast' : 'live index'}`;
    // What the plan does not have is part of the plan's text, and no problem.
    if (failure !== undefined && isNeeded(source, answer)) {
      const text = formatServiceFailure(failure, clock.now().trusted);
      problems.raise(subject, `${lacking}: ${text}`, getFailureKind(failure));
    } else if (note !== undefined && note.kind !== 'older' && note.kind !== 'model-seam') {
      problems.raise(subject, `${lacking}: ${note.message}`, note.kind);
    } else {
      problems.resolve(subject);
      if (note?.kind === 'model-seam') log('warn', note.message, { note: note.kind });
    }
  };

  return (source: SignalSource, answer: SignalAnswer): void => {
    const { failure } = answer;
    clockMonitor.checkSkew();
    if (failure?.kind === 'stopped') return;
    if (failure?.kind === 'rejected' && isEntitledTo(source) && mayConcernRegion(source))
      regionLoop.requestEarlyRefresh('region-refused');
    if (source === 'forecast' && failure?.kind === 'not-entitled') entitlements.observeGate('forecast', 'closed');
    if (source === 'forecast' && failure === undefined) entitlements.observeGate('forecast', 'open');
    reportProblem(source, answer);
  };
}
