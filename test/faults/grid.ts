/** A signal service of few words, whose every answer a test can bend; it goes by the time of its clock and keeps nothing. */

import { type Instant, iso, minutes } from '../../src/units.ts';
import type { Clock } from '../../src/world.ts';
import { type Asked, json, type Scripted, type ScriptedService, startScripted } from '../doubles/scripted-service.ts';

export const PERIOD = minutes(5);
export const REGION = 'PSCO';

/** An answer to be bent before it is sent, or another in its place; nothing: as it is. */
export type Bend = (asked: Asked, now: Instant, usual: () => Usual) => Scripted | Promise<Scripted> | undefined;
/** A document of the service, open to be bent. */
export type Usual = { data: BentPoint[]; meta: Record<string, unknown> } & Record<string, unknown>;
export type BentPoint = { point_time: string; value: unknown };

export const slotOf = (at: number) => (Math.floor(at / PERIOD) * PERIOD) as Instant;
/** Clean from 02:00 to 06:00 at the house's local time, and a little different in each slot. */
export const rateAt = (at: number) => {
  const hour = (((at / 3_600_000 + 16) % 24) + 24) % 24;
  return Math.round(600 + 300 * Math.cos(((hour - 16) / 12) * Math.PI) + (((at / PERIOD) * 7919) % 13));
};
export const indexAt = (at: number) => Math.max(0, Math.min(100, (rateAt(at) - 300) / 6.2));

const meta = {
  region: REGION,
  signal_type: 'co2_moer',
  data_point_period_seconds: 300,
  warnings: [],
  model: { date: '2026-03-01' },
};

export const forecastAt = (now: Instant): Usual => {
  const from = slotOf(now);
  const data = Array.from({ length: 864 }, (_, i) => {
    const at = (from + i * PERIOD) as Instant;
    return { point_time: iso(at), value: rateAt(at) };
  });
  return {
    data,
    meta: { ...meta, units: 'lbs_co2_per_mwh', generated_at: iso(from), generated_at_period_seconds: 300 },
  };
};
const indexOf = (now: Instant): Usual => ({
  data: [{ point_time: iso(slotOf(now)), value: indexAt(slotOf(now)) }],
  meta: { ...meta, units: 'percentile' },
});
const endpoints = ['v3/forecast', 'v3/historical', 'v3/signal-index'];
const access = (): Usual => ({
  data: [],
  meta: {},
  signal_types: [
    {
      signal_type: 'co2_moer',
      regions: [
        {
          region: REGION,
          region_full_name: 'Plains',
          endpoints: endpoints.map((endpoint) => ({ endpoint, models: [{ model: '2026-03-01' }] })),
        },
      ],
    },
  ],
});

function usualOf({ path }: Asked, now: Instant): Usual {
  switch (path) {
    case '/login':
      return { data: [], meta: {}, token: `t${now}` };
    case '/v3/region-from-loc':
      return { data: [], meta: {}, region: REGION, region_full_name: 'Plains', signal_type: 'co2_moer' };
    case '/v3/my-access':
      return access();
    case '/v3/signal-index':
      return indexOf(now);
    default:
      return forecastAt(now);
  }
}

type Tls = Parameters<typeof startScripted>[1];

export async function startGrid(
  clock: Pick<Clock, 'now'>,
  bend: Bend = () => undefined,
  tls?: Tls,
): Promise<ScriptedService> {
  return startScripted(async (asked) => {
    const now = clock.now().wall;
    const date = { date: new Date(now).toUTCString() };
    const gated =
      asked.path === '/v3/maps' ? json({ error: 'Invalid scope.', message: 'not in the plan' }, 403) : undefined;
    const answer = (await bend(asked, now, () => usualOf(asked, now))) ?? gated ?? json(usualOf(asked, now));
    return typeof answer === 'function' ? answer : { ...answer, headers: { ...date, ...answer.headers } };
  }, tls);
}

export { json };
