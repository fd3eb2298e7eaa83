/** `/v3/region-from-loc` and `/v3/maps` (specification 4.2). */

import { createHash } from 'node:crypto';
import { hasMapAccess } from '../accounts/plans.ts';
import { QueryReader } from '../http/query-parameters.ts';
import { errorResponse, listResponse, okResponse, outOfScope, unprocessable } from '../http/response.ts';
import type { AuthorizedRoute } from '../http/route-types.ts';
import { formatServiceTime } from '../http/service-times.ts';
import { type Signal, signalTypes } from '../world/catalogue.ts';
import { findNewestRelease } from '../world/model-timetable.ts';

export const regionFromLoc: AuthorizedRoute = ({ catalogue, profile }, request) => {
  const query = new QueryReader(request.query);
  const type = query.oneOf('signal_type', signalTypes);
  const latitude = query.number('latitude', -90, 90);
  const longitude = query.number('longitude', -180, 180);
  if (query.problems.length > 0) return unprocessable(profile, query.problems);

  const region = catalogue[type].findRegion(latitude, longitude);
  if (region === undefined)
    return errorResponse(404, 'Coordinates not found', profile.outsideCoverage(`${latitude}, ${longitude}`, type));
  return okResponse({ region: region.name, region_full_name: region.fullName, signal_type: type });
};

function* generateFeatures(signal: Signal): Generator<string> {
  for (const [region, polygons] of signal.shapes()) {
    const properties = { region, region_full_name: signal.regions.get(region)?.fullName ?? region };
    const geometry = { type: 'MultiPolygon', coordinates: polygons };
    yield JSON.stringify({ type: 'Feature', properties, geometry });
  }
}

export const maps: AuthorizedRoute = ({ catalogue, mapDetail, profile }, request, account) => {
  const query = new QueryReader(request.query);
  const type = query.oneOf('signal_type', signalTypes);
  if (query.problems.length > 0) return unprocessable(profile, query.problems);
  if (!hasMapAccess(account.plan)) return outOfScope(profile, '/v3/maps');
  const signal = catalogue[type];
  // Maps change with each yearly model label, so `last_updated` is the newest label's date.
  const lastUpdated = formatServiceTime(findNewestRelease(signal.monthDay, request.now), profile.zone);
  const meta = JSON.stringify({ last_updated: lastUpdated, signal_type: type });
  const list = listResponse('{"type":"FeatureCollection","features":[', generateFeatures(signal), `],"meta":${meta}}`);
  // Weak: the same map is sent plain and zipped. Private: not every plan includes it.
  const tag = createHash('sha256').update(`${mapDetail} ${meta}`).digest('base64url').slice(0, 16);
  return { ...list, headers: { etag: `W/"${tag}"`, 'cache-control': 'private, no-cache' } };
};
