/** The control state as JSON text on the disk: written, and read by its schema. */

import * as v from 'valibot';
import { type ControlState, fillControlState } from '../control/step.ts';

interface UnreadableState {
  readonly kind: 'unreadable';
  readonly detail: string;
}

const MAX_EVENTS = 2_000;
const MAX_LOADS = 1_000;
/** Checks whose message is what they expect. */
const OWN_WORDS = new Set(['custom', 'max_length']);

const finite = v.pipe(v.number(), v.finite());
const optionalFinite = v.optional(finite);
/** In one check: a state has thousands of times. */
const times = v.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.length <= MAX_EVENTS && value.every(Number.isFinite),
  `a list of at most ${MAX_EVENTS} times`,
);
const level = v.picklist(['off', 'on', 'block', 'normal', 'recommend', 'force']);
const current = v.optional(v.object({ amps: finite, of: finite }));
const override = v.optional(v.object({ level, until: finite }));
const thresholds = { onBelow: finite, offAbove: finite };
const job = v.optional(
  v.object({
    by: finite,
    from: finite,
    need: finite,
    done: finite,
    starts: finite,
    forcedByDeadline: v.boolean(),
    source: v.picklist(['schedule', 'command']),
    bill: v.optional(v.object({ cheapest: optionalFinite, spent: finite })),
  }),
);
const plan = v.object({
  generatedAt: finite,
  fromProfile: v.boolean(),
  by: finite,
  madeAt: finite,
  doneWhenMade: finite,
  runs: v.pipe(v.array(v.object({ from: finite, to: finite })), v.maxLength(MAX_EVENTS, `at most ${MAX_EVENTS}`)),
  cost: finite,
  expected: v.optional(v.object({ kg: optionalFinite, cost: finite, currency: v.string() })),
  pricedUntil: optionalFinite,
  optimalityGap: finite,
  refused: v.optional(v.object({ at: finite, starts: finite, kg: optionalFinite, cost: optionalFinite })),
});
const load = v.object({
  name: v.string(),
  level: v.optional(level),
  current,
  pending: v.optional(v.object({ level, at: finite, mayDrawPortion: finite, current })),
  runningSince: finite,
  offSince: optionalFinite,
  levelSince: finite,
  starts: times,
  blocks: times,
  local: override,
  remote: override,
  staleOverride: v.boolean(),
  paused: v.optional(v.boolean()),
  thresholds: v.optional(v.object({ ...thresholds, configured: v.object(thresholds) })),
  tripped: v.boolean(),
  vehicle: v.optional(v.picklist(['away', 'connected', 'full'])),
  retryAt: optionalFinite,
  failedLevel: v.optional(level),
  failedAt: optionalFinite,
  faultUntil: optionalFinite,
  pendingArm: v.optional(v.object({ need: optionalFinite, by: optionalFinite })),
  job,
  previousJob: job,
  plan: v.optional(plan),
  savedBill: optionalFinite,
  startRequestedAt: optionalFinite,
  decision: v.optional(v.object({ load: v.string(), level, wanted: level, why: v.string(), at: finite })),
});
const state = v.object({
  version: v.literal(1),
  lastMoment: v.optional(v.object({ wall: finite, uptime: finite, trusted: v.boolean() })),
  restart: v.picklist(['no', 'same-boot', 'old-state', 'other-boot']),
  startedAt: finite,
  signalReceived: v.boolean(),
  clockTrusted: v.boolean(),
  clockUntrustedSince: optionalFinite,
  loads: v.pipe(v.array(load), v.maxLength(MAX_LOADS, `at most ${MAX_LOADS}`)),
});

/** JSON text; the same state gives the same bytes. The view is left out: it is built anew from the signal data, and would be most of every write. */
export const encodeControlState = (saved: ControlState): string => JSON.stringify({ ...saved, view: undefined });

/** The state of a text written by `encodeControlState`. Anything else is `unreadable`, never an exception. */
export function decodeControlState(text: string): ControlState | UnreadableState {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return rejectState('it is not JSON');
  }
  const result = v.safeParse(state, parsed, { abortEarly: true });
  // As it was parsed: its keys keep their order, and the same state is the same bytes.
  if (result.success) return fillControlState(parsed as ControlState);
  const [issue] = result.issues;
  const where = v.getDotPath(issue) ?? 'the whole';
  if (issue.input === undefined) return rejectState(`${where} is missing`);
  return rejectState(
    `${where}: expected ${OWN_WORDS.has(issue.type) ? issue.message : issue.expected}, received ${issue.received}`,
  );
}

const rejectState = (cause: string): UnreadableState => ({
  kind: 'unreadable',
  detail: `the saved control state cannot be read (${cause}); minimum times start anew and jobs are armed again`,
});
