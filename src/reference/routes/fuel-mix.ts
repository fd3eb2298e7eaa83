/** `/v3/fuel-mix`, which real clients ask for beyond the specification; off unless the extras are on. */

import { QueryReader } from '../http/query-parameters.ts';
import { listResponse } from '../http/response.ts';
import type { AuthorizedRoute } from '../http/route-types.ts';
import { formatServiceTime } from '../http/service-times.ts';
import { computeMarginalShares } from '../world/fuels.ts';
import { buildMeta, isRefusal, MAX_HISTORY, type RequestScope, readTimeRange, resolveScope } from './request-scope.ts';

export const FUEL_MIX = 'marginal_fuel_mix';
export const FUEL_MIX_PATH = 'v3/fuel-mix';
export const FUEL_MIX_MODEL = 'binned_regression';

function* generateFuelMixes(
  { signal, region, model, zone }: RequestScope,
  range: { start: number; end: number; now: number; gas: string },
) {
  const source = region.source();
  const { period } = signal;
  for (let time = Math.ceil(range.start / period) * period; time <= Math.min(range.end, range.now); time += period) {
    const point = source.findPoint(time, range.now, model);
    if (point !== undefined)
      yield `{"point_time":"${formatServiceTime(time, zone)}","values":${JSON.stringify(computeMarginalShares(point.value, range.gas))}}`;
  }
}

/** `GET /v3/fuel-mix`: the fuels at the margin, from the same rates as the history. */
export const fuelMix: AuthorizedRoute = ({ catalogue, profile }, request, account) => {
  const query = new QueryReader(request.query);
  query.oneOf('signal_type', [FUEL_MIX], FUEL_MIX);
  const range = readTimeRange(query, MAX_HISTORY);
  const scope = resolveScope(query, catalogue.co2_moer, {
    path: FUEL_MIX_PATH,
    account,
    now: request.now,
    profile,
  });
  if (isRefusal(scope)) return scope;
  const { units, gas } = profile.fuelMix;
  const meta = buildMeta(scope, { units, signalType: FUEL_MIX, modelType: FUEL_MIX_MODEL });
  return listResponse(
    '{"data":[',
    generateFuelMixes(scope, { ...range, now: request.now, gas }),
    `],"meta":${JSON.stringify(meta)}}`,
  );
};
