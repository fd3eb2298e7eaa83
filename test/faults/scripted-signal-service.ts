/** A signal service of few words, whose every answer a test can bend; it goes by the time of its clock and keeps nothing. */

import type { Clock } from '../../src/domain/ports.ts';
import { formatInstant, type Instant, minutes } from '../../src/domain/units.ts';
import {
  type ScriptedRequest,
  type ScriptedResponse,
  type ScriptedService,
  scriptedJson,
  startScriptedService,
} from '../doubles/scripted-service.ts';

export const PERIOD = minutes(5);
export const REGION = 'PSCO';

/** An answer to be bent before it is sent, or another in its place; nothing: as it is. */
export type AnswerOverride = (
  asked: ScriptedRequest,
  now: Instant,
  usual: () => ServiceBody,
) => ScriptedResponse | Promise<ScriptedResponse> | undefined;
/** A document of the service, open to be bent. */
export type ServiceBody = { data: ServicePoint[]; meta: Record<string, unknown> } & Record<string, unknown>;
type ServicePoint = { point_time: string; value: unknown };

export const startOfSlot = (at: number) => (Math.floor(at / PERIOD) * PERIOD) as Instant;
/** Clean from 02:00 to 06:00 at the house's local time, and a little different in each slot. */
export const rateAt = (at: number) => {
  const hour = (((at / 3_600_000 + 16) % 24) + 24) % 24;
  return Math.round(600 + 300 * Math.cos(((hour - 16) / 12) * Math.PI) + (((at / PERIOD) * 7919) % 13));
};
const indexAt = (at: number) => Math.max(0, Math.min(100, (rateAt(at) - 300) / 6.2));

const meta = {
  region: REGION,
  signal_type: 'co2_moer',
  data_point_period_seconds: 300,
  warnings: [],
  model: { date: '2026-03-01' },
};

/** Days of forecasts name the same times again and again. */
const texts = new Map<number, string>();
function formatSlot(at: Instant): string {
  const known = texts.get(at) ?? formatInstant(at);
  texts.set(at, known);
  return known;
}

export const buildForecastBody = (now: Instant): ServiceBody => {
  const from = startOfSlot(now);
  const data = Array.from({ length: 864 }, (_, i) => {
    const at = (from + i * PERIOD) as Instant;
    return { point_time: formatSlot(at), value: rateAt(at) };
  });
  return {
    data,
    meta: { ...meta, units: 'lbs_co2_per_mwh', generated_at: formatInstant(from), generated_at_period_seconds: 300 },
  };
};
const buildIndexBody = (now: Instant): ServiceBody => ({
  data: [{ point_time: formatInstant(startOfSlot(now)), value: indexAt(startOfSlot(now)) }],
  meta: { ...meta, units: 'percentile' },
});
const endpoints = ['v3/forecast', 'v3/historical', 'v3/signal-index'];
const buildAccessBody = (): ServiceBody => ({
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

function buildBody({ path }: ScriptedRequest, now: Instant): ServiceBody {
  switch (path) {
    case '/login':
      return { data: [], meta: {}, token: `t${now}` };
    case '/v3/region-from-loc':
      return { data: [], meta: {}, region: REGION, region_full_name: 'Plains', signal_type: 'co2_moer' };
    case '/v3/my-access':
      return buildAccessBody();
    case '/v3/signal-index':
      return buildIndexBody(now);
    default:
      return buildForecastBody(now);
  }
}

type Tls = Parameters<typeof startScriptedService>[1];

export async function startSignalService(
  clock: Pick<Clock, 'now'>,
  override: AnswerOverride = () => undefined,
  tls?: Tls,
): Promise<ScriptedService> {
  return startScriptedService(async (asked) => {
    const now = clock.now().wall;
    const date = { date: new Date(now).toUTCString() };
    const mapRefusal =
      asked.path === '/v3/maps'
        ? scriptedJson({ error: 'Invalid scope.', message: 'not in the plan' }, 403)
        : undefined;
    const answer =
      (await override(asked, now, () => buildBody(asked, now))) ?? mapRefusal ?? scriptedJson(buildBody(asked, now));
    return typeof answer === 'function' ? answer : { ...answer, headers: { ...date, ...answer.headers } };
  }, tls);
}

export { scriptedJson };
