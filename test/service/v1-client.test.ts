/** The earlier interface where a service is odd: refused tokens, foreign links, nulls and pages that shrink. */

import { afterEach, describe, expect, it } from 'vitest';
import type { Duration } from '../../src/domain/units.ts';
import type { Outcome } from '../../src/service/failure.ts';
import { type ScriptedRequest, type ScriptedResponse, scriptedJson } from '../doubles/scripted-service.ts';
import { type ClientFixture, startClientFixture } from './client-fixture.ts';

let open: ClientFixture | undefined;
afterEach(() => open?.close());
const start = async (...args: Parameters<typeof startClientFixture>) => {
  open = await startClientFixture(...args);
  return open;
};

const OBTAIN = '/api/v1/obtain-token-auth/';
const POINTS = '/api/v1/datapoints/';
const point = (minute: number, more: object = {}) => ({
  timestamp: `2026-03-01T12:${String(minute).padStart(2, '0')}:00+00:00`,
  created_at: null,
  carbon: 900.5,
  genmix: [{ fuel: 'wind', gen_MW: 10 }],
  url: null,
  market: 'RT5M',
  freq: '5m',
  ba: 'CAISO',
  ...more,
});
const page = (results: readonly unknown[], next: string | null = null, count = 100) =>
  scriptedJson({ count, next, previous: null, results });

const kind = (outcome: Outcome<unknown>) => (outcome.ok ? 'answer' : outcome.failure.kind);

/** Gives the tokens `a…1`, `a…2`, …; takes those `accepts` names. */
function tokens(
  accepts: (n: number) => boolean,
  answer: (asked: ScriptedRequest) => ScriptedResponse = () => page([point(0)]),
) {
  let given = 0;
  return (asked: ScriptedRequest): ScriptedResponse => {
    if (asked.path === OBTAIN) return scriptedJson({ token: `${'a'.repeat(39)}${++given}` });
    const n = Number(asked.headers.authorization?.at(-1));
    return accepts(n) ? answer(asked) : scriptedJson({ detail: 'Invalid token.' }, 401);
  };
}

describe('the token', () => {
  it('is asked for once, however many ask at once, and sent as Token', async () => {
    const { service, scripted } = await start(tokens(() => true));
    const all = await Promise.all(Array.from({ length: 20 }, () => service.v1.datapoints({})));
    expect(all.every(({ ok }) => ok)).toBe(true);
    expect(scripted.countRequests(OBTAIN)).toBe(1);
    expect(scripted.requests.at(-1)?.headers.authorization).toMatch(/^Token a{39}1$/);
  });

  it('refused once, it is asked for anew, once', async () => {
    const { service, scripted } = await start(tokens((n) => n > 1));
    const all = await Promise.all(Array.from({ length: 20 }, () => service.v1.datapoints({})));
    expect(all.every(({ ok }) => ok)).toBe(true);
    expect(scripted.countRequests(OBTAIN)).toBe(2);
  });

  it('refused for good, the call ends after two', async () => {
    const { service, scripted } = await start(tokens(() => false));
    expect(kind(await service.v1.datapoints({}))).toBe('unauthorised');
    expect([scripted.countRequests(OBTAIN), scripted.countRequests(POINTS)]).toEqual([2, 2]);
  });

  it('refused with the password, is no token that a new one could replace', async () => {
    const { service, scripted } = await start(() => scriptedJson({ detail: 'No such account.' }, 401));
    expect(await service.v1.datapoints({})).toMatchObject({ failure: { kind: 'unauthorised' } });
    expect([scripted.countRequests(OBTAIN), scripted.countRequests(POINTS)]).toEqual([1, 0]);
  });

  it('has nothing to do with the session of v3', async () => {
    const { service, countLogins: logins } = await start(tokens(() => true));
    await service.v1.datapoints({});
    expect(logins()).toBe(0);
  });
});

describe('pages', () => {
  const read = async (pages: AsyncIterable<Outcome<{ readonly results: readonly unknown[] }>>) => {
    const seen: (number | string)[] = [];
    for await (const outcome of pages) seen.push(outcome.ok ? outcome.value.results.length : outcome.failure.kind);
    return seen;
  };
  const paged = (last: number, beyond: ScriptedResponse) =>
    tokens(
      () => true,
      ({ query }) => {
        const n = Number(query.get('page'));
        return n <= last ? page([point(n)], 'http://192.0.2.1/elsewhere/?page=1') : beyond;
      },
    );

  it('are counted here: a link to elsewhere is never followed', async () => {
    const { service, scripted } = await start(paged(3, page([])));
    expect(await read(service.v1.datapointPages({ ba: 'CAISO', pageSize: 1 }))).toEqual([1, 1, 1, 0]);
    expect(scripted.requests.filter(({ path }) => path === POINTS).map(({ query }) => query.get('page'))).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
  });

  it('end quietly when the list has become shorter', async () => {
    const { service } = await start(paged(2, scriptedJson({ detail: 'Invalid page.' }, 404)));
    expect(await read(service.v1.datapointPages({}))).toEqual([1, 1]);
  });

  it('a later page that is refused is no end of the list', async () => {
    const { service } = await start(paged(2, scriptedJson({ detail: 'Invalid query.' }, 400)));
    expect(await read(service.v1.datapointPages({}))).toEqual([1, 1, 'rejected']);
  });

  it('a first page that is not there is told', async () => {
    const { service } = await start(paged(2, scriptedJson({ detail: 'Invalid page.' }, 404)));
    expect(await read(service.v1.datapointPages({ page: 9 }))).toEqual(['rejected']);
  });

  //  what comes instead of the second page           read               times it is asked for   waits told
  const troubles: readonly (readonly [string, ScriptedResponse, readonly unknown[], number, number])[] = [
    ['a server error', scriptedJson({ detail: 'x' }, 500), [1, 'server-error'], 5, 4],
    ['a budget used up', scriptedJson({ detail: 'x' }, 429, { 'retry-after': '300' }), [1, 'throttled'], 20, 19],
    ['a visitor sent away for an hour', scriptedJson({}, 429, { 'retry-after': '3600' }), [1, 'throttled'], 1, 0],
    ['a gate', scriptedJson({ message: 'Invalid scope.' }, 403), [1, 'not-entitled'], 1, 0],
  ];
  it.each(troubles)('%s ends them after some tries, told once', async (_, answer, expected, asked, waits) => {
    const { service, scripted, pass } = await start(paged(1, answer));
    let waitCount = 0;
    const passing = (wait: Duration) => {
      waitCount += 1;
      void Promise.resolve().then(() => pass(wait));
    };
    expect(await read(service.v1.datapointPages({}, { onWait: passing }))).toEqual(expected);
    expect(scripted.requests.filter(({ query }) => query.get('page') === '2')).toHaveLength(asked);
    expect(waitCount).toBe(waits);
  });

  it('go on after a trouble that passes', async () => {
    let bad = 2;
    const { service, pass } = await start(
      tokens(
        () => true,
        ({ query }) => {
          const n = Number(query.get('page'));
          if (n === 2 && bad-- > 0) return scriptedJson({}, 503);
          return page([point(n)], n === 3 ? null : 'http://192.0.2.1/');
        },
      ),
    );
    const passing = (wait: Duration) => void Promise.resolve().then(() => pass(wait));
    expect(await read(service.v1.datapointPages({}, { onWait: passing }))).toEqual([1, 1, 1]);
  });

  it('stop in the middle of a wait', async () => {
    const { service, clock } = await start(paged(1, scriptedJson({}, 503)));
    const stop = new AbortController();
    const seen: unknown[] = [];
    for await (const outcome of service.v1.datapointPages({}, { signal: stop.signal, onWait: () => stop.abort() }))
      seen.push(kind(outcome));
    expect(seen).toEqual(['answer', 'stopped']);
    expect(clock.waiting()).toEqual([]);
  });

  it('of a service that turns in a circle end, and it is told', async () => {
    const { service, scripted } = await start(
      tokens(
        () => true,
        () => page([point(0)], 'http://192.0.2.1/', 7),
      ),
    );
    expect(await read(service.v1.datapointPages({}))).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 'invalid-response']);
    expect(scripted.countRequests(POINTS)).toBe(8);
  });

  it('are asked for only as they are read', async () => {
    const { service, scripted } = await start(paged(50, page([])));
    for await (const outcome of service.v1.datapointPages({ page: 7 })) {
      expect(outcome.ok).toBe(true);
      break;
    }
    expect(scripted.countRequests(POINTS)).toBe(1);
  });
});

describe('points', () => {
  //  what                          point                                           read
  const rows: readonly (readonly [string, unknown, object | undefined])[] = [
    ['whole', point(0), { carbon: 900.5, generation: [{ fuel: 'wind', megawatts: 10 }], frequency: '5m' }],
    ['genmix null', point(0, { genmix: null }), { carbon: 900.5 }],
    ['freq n/a', point(0, { freq: 'n/a' }), { frequency: 'n/a' }],
    ['carbon text', point(0, { carbon: 'x' }), { authority: 'CAISO' }],
    ['no market', point(0, { market: null }), undefined],
    ['time without a zone', point(0, { timestamp: '2026-03-01T12:00:00' }), undefined],
    ['null', null, undefined],
  ];
  it.each(rows)('%s', async (_, odd, expected) => {
    const many = [odd, ...[1, 2, 3, 4, 5].map((minute) => point(minute))];
    const { service } = await start(
      tokens(
        () => true,
        () => page(many),
      ),
    );
    const outcome = await service.v1.datapoints({});
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.failure));
    if (expected === undefined) expect(outcome.value).toMatchObject({ refusedPoints: 1, results: { length: 5 } });
    else expect(outcome.value.results[0]).toMatchObject(expected);
  });

  it('the links to the pages beside are told as sent, and may be missing', async () => {
    const links = [{ next: 'http://x/?page=3', previous: 'http://x/' }, { next: null, previous: null }, {}];
    const { service } = await start(
      tokens(
        () => true,
        () => scriptedJson({ count: 0, ...links.shift(), results: [] }),
      ),
    );
    const read = async () => {
      const outcome = await service.v1.datapoints({});
      return outcome.ok && [outcome.value.next, outcome.value.previous, outcome.value.isLast];
    };
    expect(await read()).toEqual(['http://x/?page=3', 'http://x/', false]);
    expect(await read()).toEqual([undefined, undefined, true]);
    expect(await read()).toEqual([undefined, undefined, true]);
  });

  it('marginal allows null for genmix, load and carbon', async () => {
    const marginal = [
      point(0, { marginal_carbon: { value: 950, units: 'lb/MW', structural_model: 'm' }, load: 25_000 }),
      point(5, { marginal_carbon: null, load: null, genmix: null }),
    ];
    const { service } = await start(
      tokens(
        () => true,
        () => page(marginal),
      ),
    );
    const outcome = await service.v1.marginal({});
    expect(outcome.ok && outcome.value.results.map(({ marginalCarbon, load }) => [marginalCarbon, load])).toEqual([
      [{ value: 950, units: 'lb/MW', structuralModel: 'm' }, 25_000],
      [undefined, undefined],
    ]);
  });
});
