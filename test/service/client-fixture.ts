/** What the tests of the client share: a scripted service, a clock that stands until it is moved, and answers as the specification shows them. */

import { addDuration, type Duration, type Instant } from '../../src/domain/units.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createServiceClient, type ServiceClient, type ServiceClientOptions } from '../../src/service/client.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import {
  type ScriptedRequest,
  type ScriptedResponse,
  type ScriptedService,
  scriptedJson,
  startScriptedService,
} from '../doubles/scripted-service.ts';

export const NOON = Date.UTC(2026, 2, 1, 12) as Instant;
export const instantAt = (text: string) => Date.parse(text) as Instant;

export const metaBody = (more: object = {}) => ({
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

export const pointBody = (minute: number, value: unknown) => ({
  point_time: `2026-03-01T12:${String(minute).padStart(2, '0')}:00+00:00`,
  value,
});

export const forecastBody = (more: object = {}) => ({
  data: [pointBody(0, 500), pointBody(5, 510), pointBody(10, 490)],
  meta: metaBody(more),
});
export const indexBody = () => ({ data: [pointBody(0, 42)], meta: metaBody({ units: 'percentile' }) });

/** A service in good health; a row of a test changes what it needs. */
export function answerHealthy({ path }: ScriptedRequest): ScriptedResponse {
  if (path === '/login') return scriptedJson({ token: 'good' });
  if (path === '/v3/forecast') return scriptedJson(forecastBody());
  if (path === '/v3/signal-index') return scriptedJson(indexBody());
  return scriptedJson({ error: 'not scripted' }, 404);
}

export interface ClientFixture {
  readonly service: ServiceClient;
  readonly clock: VirtualClock;
  readonly scripted: ScriptedService;
  readonly logLines: string[];
  readonly countLogins: () => number;
  /** Lets time pass. */
  pass(time: Duration): Promise<void>;
  close(): Promise<void>;
}

export async function startClientFixture(
  script: (asked: ScriptedRequest) => ScriptedResponse | Promise<ScriptedResponse>,
  options: Partial<ServiceClientOptions> = {},
): Promise<ClientFixture> {
  const scripted = await startScriptedService(script);
  const clock = createVirtualClock(NOON);
  const http = createHttp();
  const logLines: string[] = [];
  const service = createServiceClient({
    url: scripted.url,
    http,
    clock,
    random: { fraction: () => 0.5 },
    credentials: async () => ({ username: 'cellar', password: 'secret-1' }),
    log: (level, message, fields) => logLines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    ...options,
  });
  return {
    service,
    clock,
    scripted,
    logLines,
    countLogins: () => scripted.countRequests('/login'),
    pass: (time) => clock.runUntil(addDuration(clock.now().wall, time)),
    async close() {
      service.stop();
      await http.close();
      await scripted.close();
    },
  };
}
