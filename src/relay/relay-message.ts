/** The message of a relay: one answer of the service, compressed and signed. A reader inflates and decodes nothing before the signature is right. */

import type { KeyObject } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import * as v from 'valibot';
import { formatInstant, type Instant, minutes } from '../domain/units.ts';
import { finiteSchema, instantSchema, nonEmptyTextSchema } from '../service/api/decode-body.ts';
import { decodeForecast, decodeHistory, decodeIndex } from '../service/api/decode-data.ts';
import { isPointValue, type RawPoint } from '../service/api/decode-points.ts';
import type { SignalQuery } from '../service/api/query-types.ts';
import type { Forecast, HistoricalPoint, History, LiveIndex } from '../service/api/response-types.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import { signMessage, verifySigned } from './signed-message.ts';

export const SIGNAL_KINDS = ['index', 'forecast', 'history'] as const;
export type SignalKind = (typeof SIGNAL_KINDS)[number];

export interface RelayedAnswers {
  readonly index: LiveIndex;
  readonly forecast: Forecast;
  readonly history: History;
}

export interface RelayedSignal<Kind extends SignalKind = SignalKind> {
  readonly answer: RelayedAnswers[Kind];
  /** Of two signals the later one counts: `generated_at` of a forecast, the point of an index, the request of a history. */
  readonly issuedAt: Instant;
  /** From here on a reader takes it for no signal. */
  readonly validUntil: Instant;
}

export type DecodedSignal<Kind extends SignalKind> =
  | { readonly ok: true; readonly signal: RelayedSignal<Kind> }
  /** Completes "the message on TOPIC …": what is wrong, and the cure. */
  | { readonly ok: false; readonly problem: string };

const FORMAT = { name: 'gtrelay1', holds: 'signal' };
const MAX_BODY_BYTES = 512 * 1024;
/** Points far beyond all others are a mistake. */
const MAX_SLOTS = 10_000;
const CLOCK_TOLERANCE = minutes(5);

/** One value a period from `from` on, `null` where there is none: a twentieth of the service's own text. */
function buildBody(kind: SignalKind, { answer, issuedAt, validUntil }: RelayedSignal): string {
  const { region, signalType, units, period, model, modelType, warnings } = answer;
  const points: readonly HistoricalPoint[] = 'point' in answer ? [answer.point] : answer.points;
  const from = points[0]?.at ?? issuedAt;
  const values: (number | null)[] = [];
  const imputed: number[] = [];
  for (const { at, value, imputed: isImputed } of points) {
    const slot = Math.round((at - from) / period);
    if (slot > MAX_SLOTS) break;
    while (values.length < slot) values.push(null);
    if (isImputed) imputed.push(slot);
    values[slot] = value;
  }
  return JSON.stringify({
    kind,
    issuedAt: formatInstant(issuedAt),
    validUntil: formatInstant(validUntil),
    from: formatInstant(from),
    values,
    ...(imputed.length === 0 ? {} : { imputed }),
    meta: {
      region,
      signal_type: signalType,
      units,
      data_point_period_seconds: period / 1_000,
      model: { date: model, type: modelType },
      warnings,
      ...('generatedPeriod' in answer ? { generated_at_period_seconds: answer.generatedPeriod / 1_000 } : {}),
    },
  });
}

export function encodeRelayMessage(kind: SignalKind, signal: RelayedSignal, key: KeyObject): Uint8Array {
  return signMessage(FORMAT, deflateRawSync(buildBody(kind, signal), { level: 9 }), key);
}

const bodySchema = v.object({
  kind: v.picklist(SIGNAL_KINDS),
  issuedAt: instantSchema,
  validUntil: instantSchema,
  from: instantSchema,
  values: v.array(v.nullable(finiteSchema)),
  imputed: v.fallback(v.array(v.number()), []),
  meta: v.looseObject({
    region: nonEmptyTextSchema,
    signal_type: nonEmptyTextSchema,
    data_point_period_seconds: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(86_400)),
  }),
});
type SignalBody = v.InferOutput<typeof bodySchema>;

/** The signed bytes as JSON, or what is wrong with the message. */
function readBody(
  payload: Uint8Array,
  { keys, keySource }: Pick<DecodeOptions<SignalKind>, 'keys' | 'keySource'>,
): string | { readonly body: unknown } {
  const packed = verifySigned(payload, FORMAT, keys, keySource);
  if (typeof packed === 'string') return packed;
  try {
    return { body: JSON.parse(inflateRawSync(packed, { maxOutputLength: MAX_BODY_BYTES }).toString()) };
  } catch {
    return 'is signed and cannot be read; give relay and agents the same version';
  }
}

/** The values with the times of their slots. */
function buildPoints({ from, values, imputed, meta }: SignalBody): readonly HistoricalPoint[] {
  const period = meta.data_point_period_seconds * 1_000;
  const imputedSlots = new Set(imputed);
  const points: HistoricalPoint[] = [];
  for (const [slot, value] of values.entries()) {
    if (value === null) continue;
    const at = (from + slot * period) as Instant;
    points.push(imputedSlots.has(slot) ? { at, value, imputed: true } : { at, value });
  }
  return points;
}

/** The times of these points are not parsed: they were never text. */
const parseBuiltPoint = (item: RawPoint) =>
  isPointValue(item.value) ? (item as unknown as HistoricalPoint) : undefined;

interface DecodableBody {
  readonly data: readonly HistoricalPoint[];
  readonly meta: unknown;
}

/** Those of the service's own answers judge units, spacing and values here too. */
const DECODERS: {
  readonly [Kind in SignalKind]: (body: DecodableBody, query: SignalQuery) => Outcome<RelayedAnswers[Kind]>;
} = {
  index: ({ data, meta }, query) =>
    decodeIndex({ data: data.map(({ at, value }) => ({ point_time: formatInstant(at), value })), meta }, query),
  forecast: (body, query) => decodeForecast(body, query, parseBuiltPoint),
  history: (body, query) =>
    decodeHistory(body, { ...query, start: 0 as Instant, end: Number.MAX_SAFE_INTEGER as Instant }, parseBuiltPoint),
};

const formatMismatch = (failure: Failure) =>
  failure.kind === 'invalid-response'
    ? `has ${failure.where} ${failure.received}; expected ${failure.expected}`
    : 'cannot be decoded';

export interface DecodeOptions<Kind extends SignalKind> {
  readonly kind: Kind;
  readonly query: SignalQuery;
  readonly keys: readonly KeyObject[];
  /** What the program reads the keys from, for people; by default the option of an agent. */
  readonly keySource?: string;
  readonly now: Instant;
}

/** Why a signal is none at this time; completes "the message on TOPIC …". */
export function findTimeProblem(
  { issuedAt, validUntil }: Pick<RelayedSignal, 'issuedAt' | 'validUntil'>,
  now: Instant,
): string | undefined {
  if (validUntil <= now)
    return `was valid until ${formatInstant(validUntil)}; check that the relay runs, and the clock of this machine`;
  if (issuedAt - now > CLOCK_TOLERANCE)
    return `was issued at ${formatInstant(issuedAt)}, after the time of this machine (${formatInstant(now)}); set the clock that is wrong`;
  return undefined;
}

/** Judges a message of the broker as everything from the network: size, signature, kind, region, units, age. */
export function decodeRelayMessage<Kind extends SignalKind>(
  payload: Uint8Array,
  { kind, query, now, ...trust }: DecodeOptions<Kind>,
): DecodedSignal<Kind> {
  const refuse = (problem: string) => ({ ok: false, problem }) as const;
  const read = readBody(payload, trust);
  if (typeof read === 'string') return refuse(read);
  const parsed = v.safeParse(bodySchema, read.body, { abortEarly: true });
  if (!parsed.success) return refuse('is signed and has another form; give relay and agents the same version');
  const { issuedAt, validUntil } = parsed.output;
  if (parsed.output.kind !== kind) return refuse(`holds the ${parsed.output.kind} of a region; expected its ${kind}`);
  const { meta } = parsed.output;
  if (meta.region !== query.region) return refuse(`is of region ${meta.region}; expected ${query.region}`);
  const problem = findTimeProblem({ issuedAt, validUntil }, now);
  if (problem !== undefined) return refuse(problem);
  const body = { data: buildPoints(parsed.output), meta: { ...meta, generated_at: formatInstant(issuedAt) } };
  const decoded = DECODERS[kind](body, query);
  return decoded.ok
    ? { ok: true, signal: { answer: decoded.value, issuedAt, validUntil } }
    : refuse(formatMismatch(decoded.failure));
}
