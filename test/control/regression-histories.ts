/** Histories that once broke an invariant, as short as they could be made. */

import type { SiteAction } from './simulated-site.ts';

interface RegressionHistory {
  readonly name: string;
  /** Index of `sites`. */
  readonly site: number;
  readonly actions: readonly SiteAction[];
}

const zeros = Array<number>(10).fill(0);
const forecast = (values: readonly number[], horizonLasts: number): SiteAction => ({
  kind: 'signal',
  flat: false,
  indexLasts: 600_000,
  profile: false,
  horizonLasts,
  horizon: values,
});

export const regressionHistories: readonly RegressionHistory[] = [
  {
    name: 'a wake-up within a millisecond made the third start of an hour come a fraction of one early',
    site: 3,
    actions: [
      { kind: 'trip', load: 0, tripped: true },
      forecast([201, ...zeros.slice(1)], 889_954),
      { kind: 'pass', length: 624_411 },
      { kind: 'arm', load: 0, need: 60_003, within: 2_488_557 },
      { kind: 'trip', load: 0, tripped: false },
      { kind: 'pass', length: 300_000 },
      forecast([Number.NaN, 100, 100, 100], 60_000),
      forecast(zeros, 361_734),
      { kind: 'pass', length: 3_600_000 },
    ],
  },
];
