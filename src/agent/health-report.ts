/** Describes the agent's condition as health parts and as a sentence. */

import { formatRate, type RateUnit } from '../domain/rate-units.ts';
import type { Instant } from '../domain/units.ts';
import { HEALTH_PARTS, type Health, type PartHealth, type PartName } from '../mqtt/health.ts';
import type { Failure } from '../service/failure.ts';
import { failureText } from '../service/failure-text.ts';
import type { SignalData } from '../signal/signal-store.ts';
import type { Basis, SignalView } from '../signal/signal-view.ts';
import type { Problem } from './problems.ts';

export interface HealthSources {
  readonly problems: readonly Problem[];
  readonly view: SignalView | undefined;
  readonly signalData: SignalData | undefined;
  /** Since when loads have been at their fail-safe levels, while the basis is `fail-safe`. */
  readonly failSafeSince: Instant;
  readonly region: string | undefined;
  readonly plan: string | undefined;
}

/** A problem's subject is its part, or the part and a detail: `outputs:car`. */
const getPartName = ({ subject }: Problem) => subject.split(':')[0];

function buildPartHealth(name: PartName, problems: readonly Problem[]): PartHealth {
  const own = problems.filter((problem) => getPartName(problem) === name);
  const first = own[0];
  if (first === undefined) return { ok: true };
  return { ok: false, problem: own.map(({ sentence }) => sentence).join('; '), since: first.since };
}

/** The best basis that loads can be switched by now. */
export const findBestBasis = (view: SignalView | undefined): Basis =>
  view?.horizon?.basis ?? view?.index?.basis ?? 'fail-safe';

/** The log has them all. */
const MAX_HEALTH_WARNINGS = 10;

const collectWarnings = (data: SignalData | undefined): readonly string[] => {
  const all = [...(data?.forecast?.warnings ?? []), ...(data?.liveIndex?.warnings ?? [])];
  return [...new Set(all.map(({ message }) => message))].slice(0, MAX_HEALTH_WARNINGS);
};

const NO_SIGNAL = 'no valid signal yet, so the loads are at their fail-safe levels';

export function buildHealth({ problems, view, signalData, failSafeSince, ...facts }: HealthSources): Health {
  const { region, plan } = facts;
  const basis = findBestBasis(view);
  const partsByProblem = Object.fromEntries(
    HEALTH_PARTS.map((name) => [name, buildPartHealth(name, problems)]),
  ) as Record<PartName, PartHealth>;
  // Whatever the cause: loads at their fail-safe levels are never well.
  const isUnexplained = basis === 'fail-safe' && Object.values(partsByProblem).every(({ ok }) => ok);
  const parts = isUnexplained
    ? { ...partsByProblem, service: { ok: false, problem: NO_SIGNAL, since: failSafeSince } as const }
    : partsByProblem;
  const lastForecast = signalData?.forecast?.generatedAt;
  const warnings = collectWarnings(signalData);
  return {
    parts,
    basis,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(lastForecast === undefined ? {} : { lastForecast }),
    ...(region === undefined ? {} : { region }),
    ...(plan === undefined ? {} : { plan }),
  };
}

/** The failure in words; a certificate cannot be judged while the time is not known. */
export function formatServiceFailure(failure: Failure, isTimeKnown: boolean): string {
  if (isTimeKnown || failure.kind !== 'unreachable' || failure.reason !== 'certificate-date')
    return failureText(failure);
  return `the service's certificate cannot be checked while this machine does not know the time (${failure.cause}); let it reach a time server`;
}

/** A problem stays the same for as long as its failure is of one kind. */
export const getFailureKind = (failure: Failure): string =>
  failure.kind === 'unreachable' ? failure.reason : failure.kind;

/** The signal now, for people. */
export function formatSignalView(view: SignalView | undefined, unit: RateUnit): string {
  if (view?.index === undefined) return view?.region === undefined ? 'the region is not known yet' : 'no valid index';
  const { value, basis } = view.index;
  const rate = view.rate === undefined ? '' : `, ${formatRate(view.rate.value, unit)}`;
  return `index ${Math.round(value)}${rate} (${basis.replace('-', ' ')})`;
}
