/** Checks that a value read from disk has the shape of the control state. */

/** The name of the first thing that is wrong, or undefined. */
type ShapeCheck = (value: unknown, at: string) => string | undefined;

const checkThat =
  (wanted: string, holds: (value: unknown) => boolean): ShapeCheck =>
  (value, at) =>
    holds(value) ? undefined : `${at} is not ${wanted}`;

const number = checkThat('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const text = checkThat('a text', (value) => typeof value === 'string');
const boolean = checkThat('true or false', (value) => typeof value === 'boolean');
const oneOf = (...names: readonly string[]) =>
  checkThat(`one of ${names.join(', ')}`, (value) => names.includes(value as string));

const optionalOf =
  (check: ShapeCheck): ShapeCheck =>
  (value, at) =>
    value === undefined ? undefined : check(value, at);

const arrayOf =
  (check: ShapeCheck, max: number): ShapeCheck =>
  (value, at) => {
    if (!Array.isArray(value) || value.length > max) return `${at} is not a list of at most ${max}`;
    for (const [i, item] of value.entries()) {
      const wrong = check(item, `${at}[${i}]`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

const objectOf =
  (fields: Readonly<Record<string, ShapeCheck>>): ShapeCheck =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${at} is not an object`;
    const record = value as Record<string, unknown>;
    for (const [name, check] of Object.entries(fields)) {
      const wrong = check(record[name], at === '' ? name : `${at}.${name}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

const MAX_EVENTS = 2_000;
const level = oneOf('off', 'on', 'block', 'normal', 'recommend', 'force');
const current = optionalOf(objectOf({ amps: number, of: number }));
const override = objectOf({ level, until: number });
const thresholds = { onBelow: number, offAbove: number };
const job = objectOf({
  by: number,
  from: number,
  need: number,
  done: number,
  starts: number,
  forcedByDeadline: boolean,
  source: oneOf('schedule', 'command'),
  bill: optionalOf(objectOf({ cheapest: optionalOf(number), spent: number })),
});
const plan = objectOf({
  generatedAt: number,
  fromProfile: boolean,
  by: number,
  madeAt: number,
  doneWhenMade: number,
  runs: arrayOf(objectOf({ from: number, to: number }), MAX_EVENTS),
  cost: number,
  expected: optionalOf(objectOf({ kg: optionalOf(number), cost: number, currency: text })),
  pricedUntil: optionalOf(number),
  optimalityGap: number,
});
const load = objectOf({
  name: text,
  level: optionalOf(level),
  current,
  pending: optionalOf(objectOf({ level, at: number, mayDrawPortion: number, current })),
  runningSince: number,
  levelSince: number,
  starts: arrayOf(number, MAX_EVENTS),
  blocks: arrayOf(number, MAX_EVENTS),
  local: optionalOf(override),
  remote: optionalOf(override),
  staleOverride: boolean,
  paused: optionalOf(boolean),
  thresholds: optionalOf(objectOf({ ...thresholds, configured: objectOf(thresholds) })),
  tripped: boolean,
  vehicle: optionalOf(oneOf('away', 'connected', 'full')),
  retryAt: optionalOf(number),
  failedLevel: optionalOf(level),
  faultUntil: optionalOf(number),
  pendingArm: optionalOf(objectOf({ need: optionalOf(number), by: optionalOf(number) })),
  job: optionalOf(job),
  previousJob: optionalOf(job),
  plan: optionalOf(plan),
  savedBill: optionalOf(number),
  startRequestedAt: optionalOf(number),
  decision: optionalOf(objectOf({ load: text, level, wanted: level, why: text, at: number })),
});
const state = objectOf({
  version: checkThat('1', (value) => value === 1),
  lastMoment: optionalOf(objectOf({ wall: number, uptime: number, trusted: boolean })),
  restart: oneOf('no', 'same-boot', 'other-boot'),
  startedAt: number,
  signalReceived: boolean,
  clockTrusted: boolean,
  clockUntrustedSince: optionalOf(number),
  loads: arrayOf(load, 1_000),
});

/** What is wrong with a state, in words, or undefined when nothing is. */
export const findStateShapeError = (value: unknown): string | undefined => state(value, '');
