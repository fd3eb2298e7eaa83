/** How the agent is, part by part, and the JSON in which it is told. Assembled by the agent; decides nothing. */

import type { Basis } from '../signal/view.ts';
import { type Instant, iso } from '../units.ts';
import type { BrokerState } from '../world.ts';

export const PARTS = ['service', 'broker', 'map', 'clock', 'storage', 'outputs'] as const;
export type PartName = (typeof PARTS)[number];

/** `trouble`: one sentence, what happened, what it means, what to do. */
export type Part = { readonly ok: true } | { readonly ok: false; readonly trouble: string; readonly since: Instant };

export interface Health {
  readonly parts: Readonly<Record<PartName, Part>>;
  readonly basis: Basis;
  /** `generatedAt` of the forecast held. */
  readonly lastForecast?: Instant;
  readonly requests: number;
  readonly logins: number;
  readonly region?: string;
  readonly plan?: string;
  /** What the service warns of in the data held (specification 2.6), each once. */
  readonly warnings?: readonly string[];
}

const partJson = (part: Part) =>
  part.ok ? { ok: true } : { ok: false, trouble: part.trouble, since: iso(part.since) };

/** The document under `…/health`. `fresh` is what the signal entities' availability hangs on. */
export function healthJson({ parts, basis, lastForecast, requests, logins, region, plan, warnings }: Health) {
  const troubles = PARTS.flatMap((name) => {
    const part = parts[name];
    return part.ok ? [] : [`${name}: ${part.trouble}`];
  });
  return {
    ok: troubles.length === 0,
    fresh: basis !== 'fail-safe' && basis !== 'default-window',
    basis,
    trouble: troubles.join('; '),
    parts: Object.fromEntries(PARTS.map((name) => [name, partJson(parts[name])])),
    lastForecast: lastForecast === undefined ? null : iso(lastForecast),
    requests,
    logins,
    region: region ?? null,
    plan: plan ?? null,
    warnings: warnings ?? [],
  };
}

/** What the link to the broker lacks, for the part `broker`; undefined when all is well. */
export function brokerTrouble(state: BrokerState): string | undefined {
  switch (state.kind) {
    case 'connecting':
      return undefined;
    case 'offline':
      return state.cause;
    case 'online': {
      if (state.denied.length === 0) return undefined;
      return `the broker denies ${state.denied.join(', ')}: those topics are missing; let this user write gridtide/<device>/# and read its …/set topics (see systemd/mosquitto.acl)`;
    }
  }
}
