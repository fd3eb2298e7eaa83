/** What real clients ask beyond the specification: `/v3/fuel-mix` and its line in my-access. Off unless asked for. */

import type { Account } from './accounts.ts';
import { invalid, outOfScope } from './answer.ts';
import type { Signal } from './catalogue.ts';
import { marginalShares } from './fuels.ts';
import { defaultModel, describeModel, type Model, modelsAt } from './models.ts';
import { opensData } from './plans.ts';
import { asking } from './query.ts';
import type { AccountPath } from './service.ts';
import type { Source } from './source.ts';
import { writeTime } from './times.ts';

export const FUEL_MIX = 'marginal_fuel_mix';
const MOST = 32 * 86_400_000;
const MODEL_TYPE = 'binned_regression';

/** The signal as my-access tells it; empty where the plan opens no region. */
export function fuelMixAccess(signal: Signal, account: Account, wanted: { now: number; region: string | undefined }) {
  const modelsOf = ({ since, until }: Source) =>
    modelsAt(signal.monthDay, wanted.now).map((model) =>
      describeModel(model, { type: MODEL_TYPE, since, until }, wanted.now),
    );
  const regions = [...signal.places.values()]
    .filter(({ region }) => opensData(account.plan, region) && (wanted.region ?? region) === region)
    .map(({ region, fullName, parent, source }) => ({
      region,
      region_full_name: fullName,
      parent: parent ?? null,
      data_point_period_seconds: signal.period / 1_000,
      endpoints: [{ endpoint: 'v3/fuel-mix', models: modelsOf(source()) }],
    }));
  return regions.length === 0 ? [] : [{ signal_type: FUEL_MIX, regions }];
}

function* mixPieces(
  range: { start: number; end: number },
  period: number,
  rateAt: (time: number) => number | undefined,
) {
  let separator = '';
  for (let time = Math.ceil(range.start / period) * period; time <= range.end; time += period) {
    const rate = rateAt(time);
    if (rate === undefined) continue;
    yield `${separator}{"point_time":"${writeTime(time)}","values":${JSON.stringify(marginalShares(rate))}}`;
    separator = ',';
  }
}

/** `GET /v3/fuel-mix`: the fuels at the margin, from the same rates as the history. */
export const fuelMix: AccountPath = ({ catalogue }, call, account) => {
  const ask = asking(call.query);
  ask.word('signal_type', [FUEL_MIX], { fallback: FUEL_MIX });
  const region = ask.text('region');
  const start = ask.time('start');
  const end = ask.time('end');
  const asked = ask.optional('model');
  const signal = catalogue.co2_moer;
  const place = signal.places.get(region);
  const models = modelsAt(signal.monthDay, call.now);
  const model: Model | undefined =
    asked === undefined ? defaultModel(models) : models.find(({ date }) => date === asked);
  if (end < start || end - start > MOST) ask.object('end', 'must be at most 32 days after start, and not before it');
  if (ask.problems.length === 0 && place === undefined) ask.object('region', `"${region}" is not a region of co2_moer`);
  if (ask.problems.length === 0 && model === undefined) ask.object('model', `"${asked}" is not known`);
  if (ask.problems.length > 0 || place === undefined || model === undefined) return invalid(...ask.problems);
  if (!opensData(account.plan, region)) return outOfScope('/v3/fuel-mix', region);

  const source = place.source();
  const meta = {
    data_point_period_seconds: signal.period / 1_000,
    model: { date: model.date, type: MODEL_TYPE },
    region,
    signal_type: FUEL_MIX,
    units: 'share_of_marginal_generation',
    warnings: [],
  };
  const range = { start, end: Math.min(end, call.now) };
  const pieces = function* () {
    yield '{"data":[';
    yield* mixPieces(range, signal.period, (time) => source.settled(time, call.now, model)?.value);
    yield `],"meta":${JSON.stringify(meta)}}`;
  };
  return { status: 200, body: { kind: 'pieces', pieces: pieces() } };
};
