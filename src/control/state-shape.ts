/** Whether a value read from disk has the shape of the core's state; repairs nothing. */

/** The name of the first thing that is wrong, or undefined. */
type Check = (value: unknown, at: string) => string | undefined;

const says =
  (wanted: string, holds: (value: unknown) => boolean): Check =>
  (value, at) =>
    holds(value) ? undefined : `${at} is not ${wanted}`;

const number = says('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const value = says('a number', (value) => typeof value === 'number');
const text = says('a text', (value) => typeof value === 'string');
const flag = says('true or false', (value) => typeof value === 'boolean');
const oneOf = (...names: readonly string[]) =>
  says(`one of ${names.join(', ')}`, (value) => names.includes(value as string));

const maybe =
  (check: Check): Check =>
  (value, at) =>
    value === undefined ? undefined : check(value, at);

const list =
  (check: Check, most: number): Check =>
  (value, at) => {
    if (!Array.isArray(value) || value.length > most) return `${at} is not a list of at most ${most}`;
    for (const [i, item] of value.entries()) {
      const wrong = check(item, `${at}[${i}]`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

const shape =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${at} is not an object`;
    const held = value as Record<string, unknown>;
    for (const [name, check] of Object.entries(fields)) {
      const wrong = check(held[name], at === '' ? name : `${at}.${name}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

const MOST_VALUES = 10_000;
const MOST_EVENTS = 2_000;
const level = oneOf('off', 'on', 'block', 'normal', 'recommend', 'force');
const override = shape({ level, until: number });
const job = shape({
  by: number,
  from: number,
  need: number,
  done: number,
  starts: number,
  latched: flag,
  source: oneOf('schedule', 'command'),
});
const plan = shape({
  generatedAt: number,
  profile: flag,
  by: number,
  madeAt: number,
  doneThen: number,
  runs: list(shape({ from: number, to: number }), MOST_EVENTS),
  cost: number,
  gap: number,
});
const view = shape({
  changesAt: number,
  index: maybe(
    shape({
      value: number,
      basis: oneOf('live-index', 'fresh-forecast', 'ageing-forecast'),
      at: number,
      startsUntil: number,
      validUntil: number,
      flat: flag,
      quality: oneOf('full', 'degraded'),
    }),
  ),
  rate: maybe(shape({ value: number, at: number, until: number })),
  outlook: maybe(
    shape({
      basis: oneOf('fresh-forecast', 'ageing-forecast', 'own-profile'),
      from: number,
      period: says('a length', (value) => typeof value === 'number' && value > 0 && Number.isFinite(value)),
      values: list(value, MOST_VALUES),
      spread: maybe(list(number, MOST_VALUES)),
      units: text,
      generatedAt: number,
      validUntil: number,
    }),
  ),
});
const load = shape({
  name: text,
  level: maybe(level),
  pending: maybe(shape({ level, at: number, mayDraw: flag })),
  runSince: number,
  levelSince: number,
  starts: list(number, MOST_EVENTS),
  blocks: list(number, MOST_EVENTS),
  local: maybe(override),
  remote: maybe(override),
  leftOver: maybe(flag),
  tripped: flag,
  retryAt: maybe(number),
  faultUntil: maybe(number),
  asked: maybe(shape({ need: maybe(number), by: maybe(number) })),
  job: maybe(job),
  past: maybe(job),
  plan: maybe(plan),
  edgeAt: maybe(number),
  decision: maybe(shape({ load: text, level, wanted: level, why: text, at: number })),
});
const state = shape({
  version: says('1', (value) => value === 1),
  last: maybe(shape({ wall: number, uptime: number, trusted: flag })),
  fresh: oneOf('no', 'same-boot', 'other-boot'),
  startedAt: number,
  heard: flag,
  vouched: flag,
  untrustedSince: maybe(number),
  view: maybe(view),
  loads: list(load, 1_000),
});

/** What is wrong with a state, in words, or undefined when nothing is. */
export const isState = (value: unknown): string | undefined => state(value, '');
