/** Checks what was done against the rules of the loads, from the edges alone; knows nothing of why. */

import type { LoadConfig } from '../../config/config.ts';
import type { Site } from '../../control/control.ts';
import { days, hours, type Instant } from '../../units.ts';
import type { Edge, Stretch, Track } from './drive.ts';
import type { Job } from './loads.ts';

export type Violation =
  | 'min-on'
  | 'min-off'
  | 'starts-an-hour'
  | 'starts-a-day'
  | 'starts-a-job'
  | 'repeated-command'
  | 'power-budget'
  | 'deadline';

export interface Found {
  readonly rule: Violation;
  readonly load: string;
  readonly at: Instant;
}

/** Rounding of milliseconds. */
const TOLERANCE = 1;

function tooClose(load: LoadConfig, edges: readonly Edge[]): readonly (Omit<Found, 'at'> & { readonly at: number })[] {
  return edges.slice(1).flatMap((edge, i) => {
    const before = edges[i];
    if (before === undefined || before.on === edge.on) return [];
    const least = edge.on ? load.minOff : load.minOn;
    const rule = edge.on ? ('min-off' as const) : ('min-on' as const);
    return edge.at - before.at < least - TOLERANCE ? [{ rule, load: load.name, at: edge.at }] : [];
  });
}

function tooMany(load: LoadConfig, edges: readonly Edge[], most: number, span: number, rule: Violation) {
  const starts = edges.filter(({ on }) => on).map(({ at }) => at);
  return starts.flatMap((at, i) => {
    const earlier = starts[i - most];
    return earlier !== undefined && at - earlier < span - TOLERANCE ? [{ rule, load: load.name, at }] : [];
  });
}

/** Every breach of a rule the load itself sets; `origin` is the uptime's zero. */
export function breaches(load: LoadConfig, { edges, repeated }: Track, origin: Instant): readonly Found[] {
  const found = [
    ...tooClose(load, edges),
    ...tooMany(load, edges, load.maxStartsPerHour, hours(1), 'starts-an-hour'),
    ...tooMany(load, edges, load.maxStartsPerDay, days(1), 'starts-a-day'),
    ...Array.from({ length: repeated }, () => ({ rule: 'repeated-command' as const, load: load.name, at: 0 })),
  ];
  return found.map(({ at, ...rest }) => ({ ...rest, at: (origin + at) as Instant }));
}

/** Starts of a job beyond its interruptions and one. */
export function startsOf(job: Job, { edges }: Track, origin: Instant): number {
  return edges.filter(({ on, at }) => on && origin + at >= job.from && origin + at < job.by).length;
}

/** Moments at which all loads together draw more than the site may. */
export function overBudget({ budget, loads }: Site, tracks: readonly Track[]): readonly Found[] {
  if (budget === undefined) return [];
  const changes = tracks
    .flatMap(({ stretches }, i) =>
      stretches.flatMap(({ from, to }: Stretch) => {
        const power = loads[i]?.power ?? 0;
        return [
          { at: from, by: power },
          { at: to, by: -power },
        ];
      }),
    )
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let drawn = 0;
  return changes.flatMap(({ at, by }) => {
    drawn += by;
    return drawn > budget + 1e-6 && by > 0 ? [{ rule: 'power-budget' as const, load: 'site', at }] : [];
  });
}
