/** What faults do to points and their `meta`: broken values, lost order, other words. Touches no map and no wire. */

import { amount, type FaultRule } from './fault-rules.ts';
import { readTime, writeTime } from './times.ts';

const MINUTE = 60_000;

interface Point {
  point_time: string;
  value: unknown;
}
export interface Envelope {
  data: (Point & { forecast?: Point[]; generated_at?: string })[];
  meta: Record<string, unknown>;
}

/** Applies a change to every list of points of an envelope. */
function onPoints(envelope: Envelope, change: (points: Point[]) => Point[]): Envelope {
  const nested = envelope.data.some(({ forecast }) => forecast !== undefined);
  const data = nested
    ? envelope.data.map((entry) => ({ ...entry, forecast: change(entry.forecast ?? []) }))
    : change(envelope.data);
  return { ...envelope, data: data as Envelope['data'] };
}

const eachTenth = (change: (point: Point) => Point) => (points: Point[]) =>
  points.map((point, i) => (i % 10 === 0 ? change(point) : point));

/** A fixed shuffle: each block of seven turned round. */
const unsorted = (points: Point[]) => points.flatMap((_, i) => (i % 7 === 0 ? points.slice(i, i + 7).reverse() : []));

function nextLabel(meta: Record<string, unknown>): Record<string, unknown> {
  const model = meta.model as { date?: string } | undefined;
  const [year = '2000', ...rest] = String(model?.date ?? '').split('-');
  return { ...meta, model: { ...model, date: [Number(year) + 1, ...rest].join('-') } };
}

/** The envelope as a rule leaves it. */
export function changedEnvelope(envelope: Envelope, rule: FaultRule): Envelope {
  const { meta } = envelope;
  switch (rule.fault) {
    case 'text-values':
      return onPoints(
        envelope,
        eachTenth((point) => ({ ...point, value: String(rule.value ?? 'n/a') })),
      );
    case 'nulls':
      return onPoints(
        envelope,
        eachTenth((point) => ({ ...point, value: null })),
      );
    case 'repeated-points':
      return onPoints(envelope, (points) => points.flatMap((point, i) => (i % 10 === 0 ? [point, point] : [point])));
    case 'unsorted-points':
      return onPoints(envelope, unsorted);
    case 'missing-points':
      return onPoints(envelope, (points) => points.filter((_, i) => i % 12 < 9));
    case 'older-generated-at': {
      const issued = readTime(String(meta.generated_at)) ?? 0;
      const older = issued - amount(rule, 60) * MINUTE;
      return { ...envelope, meta: { ...meta, generated_at: writeTime(older) } };
    }
    case 'model-switch':
      return { ...envelope, meta: nextLabel(meta) };
    case 'wrong-units':
      return { ...envelope, meta: { ...meta, units: String(rule.value ?? 'kg_co2_per_mwh') } };
    case 'wrong-region':
      return { ...envelope, meta: { ...meta, region: String(rule.value ?? 'ELSEWHERE') } };
    case 'no-warnings-field': {
      const { warnings, ...rest } = meta;
      return { ...envelope, meta: rest };
    }
    case 'warnings':
      return {
        ...envelope,
        meta: {
          ...meta,
          warnings: [{ message: String(rule.value ?? 'Some inputs were late.'), type: 'data_quality' }],
        },
      };
    default:
      return envelope;
  }
}
