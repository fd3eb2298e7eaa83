/** Faults of data points and their `meta`: broken values, lost order, wrong units. */

import { formatServiceTime, parseServiceTime, readZone } from '../http/service-times.ts';
import { type FaultRule, readAmount } from './fault-rules.ts';

const MINUTE = 60_000;

interface RawPoint {
  point_time: string;
  value: unknown;
}
export interface DataDocument {
  data: (RawPoint & { forecast?: RawPoint[]; generated_at?: string })[];
  meta: Record<string, unknown>;
}

/** Applies a change to every list of points of an envelope. */
function changePoints(document: DataDocument, change: (points: RawPoint[]) => RawPoint[]): DataDocument {
  const nested = document.data.some(({ forecast }) => forecast !== undefined);
  const data = nested
    ? document.data.map((entry) => ({ ...entry, forecast: change(entry.forecast ?? []) }))
    : change(document.data);
  return { ...document, data: data as DataDocument['data'] };
}

const changeEachTenth = (document: DataDocument, change: (point: RawPoint) => RawPoint[]) =>
  changePoints(document, (points) => points.flatMap((point, i) => (i % 10 === 0 ? change(point) : [point])));

const changeMeta = (document: DataDocument, change: Readonly<Record<string, unknown>>): DataDocument => ({
  ...document,
  meta: { ...document.meta, ...change },
});

/** A fixed shuffle: each block of seven turned round. */
const shufflePoints = (points: RawPoint[]) =>
  points.flatMap((_, i) => (i % 7 === 0 ? points.slice(i, i + 7).reverse() : []));

function advanceModelLabel(meta: Readonly<Record<string, unknown>>) {
  const model = meta.model as { date?: string } | undefined;
  const [year = '2000', ...rest] = String(model?.date ?? '').split('-');
  return { ...model, date: [Number(year) + 1, ...rest].join('-') };
}

/** The envelope as a rule leaves it. */
export function changeDataDocument(document: DataDocument, rule: FaultRule): DataDocument {
  const { meta } = document;
  switch (rule.fault) {
    case 'text-values':
      return changeEachTenth(document, (point) => [{ ...point, value: String(rule.value ?? 'n/a') }]);
    case 'nulls':
      return changeEachTenth(document, (point) => [{ ...point, value: null }]);
    case 'repeated-points':
      return changeEachTenth(document, (point) => [point, point]);
    case 'unsorted-points':
      return changePoints(document, shufflePoints);
    case 'missing-points':
      return changePoints(document, (points) => points.filter((_, i) => i % 12 < 9));
    case 'older-generated-at': {
      const before = String(meta.generated_at);
      const older = (parseServiceTime(before) ?? 0) - readAmount(rule, 60) * MINUTE;
      return changeMeta(document, { generated_at: formatServiceTime(older, readZone(before)) });
    }
    case 'model-switch':
      return changeMeta(document, { model: advanceModelLabel(meta) });
    case 'wrong-units':
      return changeMeta(document, { units: String(rule.value ?? 'kg_co2_per_mwh') });
    case 'wrong-region':
      return changeMeta(document, { region: String(rule.value ?? 'ELSEWHERE') });
    case 'no-warnings-field': {
      const { warnings, ...rest } = meta;
      return { ...document, meta: rest };
    }
    case 'warnings':
      return changeMeta(document, {
        warnings: [{ message: String(rule.value ?? 'Some inputs were late.'), type: 'data_quality' }],
      });
    default:
      return document;
  }
}
