/** The agent's condition as health and as a sentence: gathers what the parts say, judges nothing. */

import { type Health, PARTS, type Part, type PartName } from '../monitor/health.ts';
import { sentenceOf } from '../service/describe.ts';
import type { Failure } from '../service/failure.ts';
import type { Held } from '../signal/held.ts';
import type { Basis, SignalView } from '../signal/view.ts';
import type { Trouble } from './troubles.ts';

export interface Condition {
  readonly troubles: readonly Trouble[];
  readonly view: SignalView | undefined;
  readonly held: Held | undefined;
  readonly requests: number;
  readonly logins: number;
  readonly region: string | undefined;
  readonly plan: string | undefined;
}

/** A trouble's subject is its part, or the part and a detail: `outputs:car`. */
const partOf = ({ subject }: Trouble) => subject.split(':')[0];

function healthOfPart(name: PartName, troubles: readonly Trouble[]): Part {
  const own = troubles.filter((trouble) => partOf(trouble) === name);
  const first = own[0];
  if (first === undefined) return { ok: true };
  return { ok: false, trouble: own.map(({ sentence }) => sentence).join('; '), since: first.since };
}

/** The best basis anything can be driven by now. */
export const basisOf = (view: SignalView | undefined): Basis =>
  view?.outlook?.basis ?? view?.index?.basis ?? 'fail-safe';

/** More than this nobody reads; the log has them all. */
const MOST_WARNINGS = 10;

const warningsOf = (held: Held | undefined): readonly string[] => {
  const all = [...(held?.forecast?.warnings ?? []), ...(held?.live?.warnings ?? [])];
  return [...new Set(all.map(({ message }) => message))].slice(0, MOST_WARNINGS);
};

export function healthOf({ troubles, view, held, requests, logins, region, plan }: Condition): Health {
  const parts = Object.fromEntries(PARTS.map((name) => [name, healthOfPart(name, troubles)])) as Record<PartName, Part>;
  const lastForecast = held?.forecast?.generatedAt;
  const warnings = warningsOf(held);
  return {
    parts,
    basis: basisOf(view),
    requests,
    logins,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(lastForecast === undefined ? {} : { lastForecast }),
    ...(region === undefined ? {} : { region }),
    ...(plan === undefined ? {} : { plan }),
  };
}

/** As the service floor says it, but of a certificate that cannot be judged while the time is not known. */
export function failureWords(failure: Failure, isTimeKnown: boolean): string {
  if (isTimeKnown || failure.kind !== 'unreachable' || failure.reason !== 'tls') return sentenceOf(failure);
  return `the service's certificate cannot be checked while this device does not know the time (${failure.cause}); let it reach a time server`;
}

/** The same trouble for as long as it stays of one kind. */
export const failureKind = (failure: Failure): string =>
  failure.kind === 'unreachable' ? failure.reason : failure.kind;

/** What the signal says now, for people. */
export function signalWords(view: SignalView | undefined): string {
  if (view?.index === undefined) return view?.region === undefined ? 'the region is not known yet' : 'no valid index';
  const { value, basis } = view.index;
  const rate = view.rate === undefined ? '' : `, ${Math.round(view.rate.value)} lb/MWh`;
  return `index ${Math.round(value)}${rate} (${basis.replace('-', ' ')})`;
}
