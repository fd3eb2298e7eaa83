/** What real clients ask beyond the specification: `/v3/fuel-mix`. Off unless asked for. */

import { listed } from './answer.ts';
import { marginalShares } from './fuels.ts';
import { asking } from './query.ts';
import type { AccountPath } from './service.ts';
import { writeTime } from './times.ts';
import { isRefusal, MOST_HISTORY, metaOf, rangeOf, type Wanted, wantedOf } from './wanted.ts';

export const FUEL_MIX = 'marginal_fuel_mix';
export const FUEL_MIX_PATH = 'v3/fuel-mix';
export const FUEL_MIX_MODEL = 'binned_regression';

function* mixes({ signal, place, model }: Wanted, range: { start: number; end: number; now: number }) {
  const source = place.source();
  const { period } = signal;
  for (let time = Math.ceil(range.start / period) * period; time <= Math.min(range.end, range.now); time += period) {
    const point = source.settled(time, range.now, model);
    if (point !== undefined)
      yield `{"point_time":"${writeTime(time)}","values":${JSON.stringify(marginalShares(point.value))}}`;
  }
}

/** `GET /v3/fuel-mix`: the fuels at the margin, from the same rates as the history. */
export const fuelMix: AccountPath = ({ catalogue }, call, account) => {
  const ask = asking(call.query);
  ask.word('signal_type', [FUEL_MIX], { fallback: FUEL_MIX });
  const range = rangeOf(ask, MOST_HISTORY);
  const wanted = wantedOf(ask, catalogue.co2_moer, { path: FUEL_MIX_PATH, account, now: call.now });
  if (isRefusal(wanted)) return wanted;
  const units = 'share_of_marginal_generation';
  const meta = metaOf(wanted, { units, signalType: FUEL_MIX, modelType: FUEL_MIX_MODEL });
  return listed('{"data":[', mixes(wanted, { ...range, now: call.now }), `],"meta":${JSON.stringify(meta)}}`);
};
