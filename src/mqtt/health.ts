/** The agent's condition part by part, and its JSON document. */

import type { BrokerState } from '../domain/ports.ts';
import { formatInstant, type Instant } from '../domain/units.ts';
import type { Basis } from '../signal/signal-view.ts';
import { isOwnTopic } from './topics.ts';

export const HEALTH_PARTS = ['service', 'broker', 'map', 'clock', 'storage', 'outputs', 'tariff'] as const;
export type PartName = (typeof HEALTH_PARTS)[number];

/** `problem`: one sentence, what happened, what it means, what to do. */
export type PartHealth =
  | { readonly ok: true }
  | { readonly ok: false; readonly problem: string; readonly since: Instant };

export interface Health {
  readonly parts: Readonly<Record<PartName, PartHealth>>;
  readonly basis: Basis;
  /** `generatedAt` of the forecast in use. */
  readonly lastForecast?: Instant;
  readonly region?: string;
  readonly plan?: string;
  /** The service's warnings about the data in use (specification 2.6), each once. */
  readonly warnings?: readonly string[];
}

const buildPartPayload = (part: PartHealth) =>
  part.ok ? { ok: true } : { ok: false, problem: part.problem, since: formatInstant(part.since) };

/** The document under `…/health`. `fresh` is what the signal entities' availability hangs on. */
export function buildHealthPayload({ parts, basis, lastForecast, region, plan, warnings }: Health) {
  const problems = HEALTH_PARTS.flatMap((name) => {
    const part = parts[name];
    return part.ok ? [] : [`${name}: ${part.problem}`];
  });
  return {
    ok: problems.length === 0,
    fresh: basis !== 'fail-safe' && basis !== 'default-window',
    basis,
    problem: problems.join('; '),
    parts: Object.fromEntries(HEALTH_PARTS.map((name) => [name, buildPartPayload(parts[name])])),
    lastForecast: lastForecast === undefined ? null : formatInstant(lastForecast),
    region: region ?? null,
    plan: plan ?? null,
    warnings: warnings ?? [],
  };
}

/** A command that is denied is a problem of its load, and told there. */
function isDeviceCommand(action: string): boolean {
  const topic = /^publishing (.*)$/.exec(action)?.[1];
  return topic !== undefined && !isOwnTopic(topic);
}

/** What is wrong with the link to the broker; undefined when nothing is. */
export function formatBrokerProblem(state: BrokerState): string | undefined {
  switch (state.kind) {
    case 'connecting':
      return undefined;
    case 'offline':
      return state.cause;
    case 'online': {
      const denied = state.denied.filter((action) => !isDeviceCommand(action));
      if (denied.length === 0) return undefined;
      return `the broker denies ${denied.join(', ')}: let this user write or read them (see systemd/mosquitto.acl)`;
    }
  }
}
