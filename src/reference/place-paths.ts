/** `/v3/region-from-loc` and `/v3/maps` (specification 4.2). */

import { listed, ok, outOfScope, refusal, unprocessable } from './answer.ts';
import { type Signal, signalTypes } from './catalogue.ts';
import { newestRelease } from './models.ts';
import { opensMaps } from './plans.ts';
import { asking } from './query.ts';
import type { AccountPath } from './service.ts';
import { writeTime } from './times.ts';

export const regionFromLoc: AccountPath = ({ catalogue }, call) => {
  const ask = asking(call.query);
  const type = ask.word('signal_type', signalTypes);
  const latitude = ask.number('latitude', -90, 90);
  const longitude = ask.number('longitude', -180, 180);
  if (ask.problems.length > 0) return unprocessable(...ask.problems);

  const place = catalogue[type].placeAt(latitude, longitude);
  if (place === undefined)
    return refusal(
      404,
      'Coordinates not found',
      `Coordinates not found: ${latitude}, ${longitude} lies outside the regions of ${type}.`,
    );
  return ok({ region: place.region, region_full_name: place.fullName, signal_type: type });
};

/** Maps change with each yearly model label, so `last_updated` is the newest label's date. */
const mapMeta = (signal: Signal, now: number) => ({
  last_updated: writeTime(newestRelease(signal.monthDay, now)),
  signal_type: signal.type,
});

function* features(signal: Signal): Generator<string> {
  for (const [region, polygons] of signal.shapes()) {
    const properties = { region, region_full_name: signal.places.get(region)?.fullName ?? region };
    const geometry = { type: 'MultiPolygon', coordinates: polygons };
    yield JSON.stringify({ type: 'Feature', properties, geometry });
  }
}

export const maps: AccountPath = ({ catalogue }, call, account) => {
  const ask = asking(call.query);
  const type = ask.word('signal_type', signalTypes);
  if (ask.problems.length > 0) return unprocessable(...ask.problems);
  if (!opensMaps(account.plan)) return outOfScope('/v3/maps');
  const signal = catalogue[type];
  const meta = JSON.stringify(mapMeta(signal, call.now));
  return listed('{"type":"FeatureCollection","features":[', features(signal), `],"meta":${meta}}`);
};
