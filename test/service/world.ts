/** What the tests of the client share: a scripted service, a clock that stands until it is moved, and answers as the specification shows them. */

import { createHttp } from '../../src/platform/http.ts';
import { createVirtualClock, type VirtualClock } from '../../src/replay/clock.ts';
import { createService, type Service, type ServiceOptions } from '../../src/service/service.ts';
import { after, type Duration, type Instant } from '../../src/units.ts';
import { type Asked, json, type Scripted, type ScriptedService, startScripted } from '../doubles/scripted-service.ts';

export const NOON = Date.UTC(2026, 2, 1, 12) as Instant;
export const at = (text: string) => Date.parse(text) as Instant;

export const meta = (more: object = {}) => ({
  region: 'PSCO',
  signal_type: 'co2_moer',
  units: 'lbs_co2_per_mwh',
  data_point_period_seconds: 300,
  generated_at: '2026-03-01T12:00:00+00:00',
  generated_at_period_seconds: 300,
  model: { date: '2023-03-01' },
  warnings: [],
  ...more,
});

export const point = (minute: number, value: unknown) => ({
  point_time: `2026-03-01T12:${String(minute).padStart(2, '0')}:00+00:00`,
  value,
});

export const forecast = (more: object = {}) => ({
  data: [point(0, 500), point(5, 510), point(10, 490)],
  meta: meta(more),
});
export const index = () => ({ data: [point(0, 42)], meta: meta({ units: 'percentile' }) });

/** A service in good health; a row of a test changes what it needs. */
export function healthy({ path }: Asked): Scripted {
  if (path === '/login') return json({ token: 'good' });
  if (path === '/v3/forecast') return json(forecast());
  if (path === '/v3/signal-index') return json(index());
  return json({ error: 'not scripted' }, 404);
}

export interface Bench {
  readonly service: Service;
  readonly clock: VirtualClock;
  readonly scripted: ScriptedService;
  readonly said: string[];
  readonly logins: () => number;
  /** Lets time pass. */
  pass(time: Duration): Promise<void>;
  close(): Promise<void>;
}

export async function bench(
  script: (asked: Asked) => Scripted | Promise<Scripted>,
  options: Partial<ServiceOptions> = {},
): Promise<Bench> {
  const scripted = await startScripted(script);
  const clock = createVirtualClock(NOON);
  const http = createHttp();
  const said: string[] = [];
  const service = createService({
    url: scripted.url,
    http,
    clock,
    random: { fraction: () => 0.5 },
    credentials: async () => ({ username: 'cellar', password: 'secret-1' }),
    log: (level, message, fields) => said.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    ...options,
  });
  return {
    service,
    clock,
    scripted,
    said,
    logins: () => scripted.count('/login'),
    pass: (time) => clock.runUntil(after(clock.now().wall, time)),
    async close() {
      service.stop();
      await http.close();
      await scripted.close();
    },
  };
}
