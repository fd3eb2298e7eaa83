/** When the client logs in and when it does not: each row says what the service did and how many logins followed. */

import { afterEach, describe, expect, it } from 'vitest';
import { hours, minutes, seconds } from '../../src/domain/units.ts';
import type { Failure, Outcome } from '../../src/service/failure.ts';
import {
  type ScriptedRequest,
  type ScriptedResponse,
  scriptedHtml,
  scriptedJson,
} from '../doubles/scripted-service.ts';
import { answerHealthy, type ClientFixture, forecastBody, indexBody, startClientFixture } from './client-fixture.ts';

const PSCO = { region: 'PSCO', signalType: 'co2_moer' };

let open: ClientFixture | undefined;
afterEach(() => open?.close());
const start = async (...args: Parameters<typeof startClientFixture>) => {
  open = await startClientFixture(...args);
  return open;
};

const failureOf = (outcome: Outcome<unknown>): Failure['kind'] | 'answer' =>
  outcome.ok ? 'answer' : outcome.failure.kind;

/** A service whose tokens are `t1`, `t2`, …; `accepts` says which it takes. */
function counting(accepts: (token: string) => boolean) {
  let given = 0;
  return ({ path, headers }: ScriptedRequest): ScriptedResponse => {
    if (path === '/login') return scriptedJson({ token: `t${++given}` });
    if (!accepts(headers.authorization?.replace('Bearer ', '') ?? '')) return scriptedJson({ error: 'no' }, 401);
    return path === '/v3/forecast' ? scriptedJson(forecastBody()) : scriptedJson(indexBody());
  };
}

describe('the life of a token', () => {
  it('one login carries 29 minutes of requests, and the next comes inside its last minute', async () => {
    const { service, pass, countLogins: logins } = await start(answerHealthy);
    for (let i = 0; i < 29; i++) {
      expect((await service.signalIndex(PSCO)).ok).toBe(true);
      await pass(minutes(1));
    }
    expect(logins()).toBe(1);
    await pass(seconds(1));
    await service.signalIndex(PSCO);
    expect(logins()).toBe(2);
  });

  it('is counted on the monotonic clock: a jump of the wall clock logs in no one', async () => {
    const { service, clock, countLogins: logins } = await start(answerHealthy);
    await service.signalIndex(PSCO);
    clock.stepWall(hours(-20_000));
    await service.signalIndex(PSCO);
    clock.stepWall(hours(40_000));
    await service.signalIndex(PSCO);
    expect(logins()).toBe(1);
  });

  it.each([
    ['a query', (service: ClientFixture['service']) => service.signalIndex(PSCO)],
    ['a map', (service: ClientFixture['service']) => service.map(PSCO)],
  ])('%s that may not go out yet is no reason for a login', async (_, ask) => {
    const busy = scriptedJson({ error: 'x' }, 429, { 'retry-after': '3600' });
    const {
      service,
      pass,
      countLogins: logins,
    } = await start((asked) => (asked.path === '/login' ? answerHealthy(asked) : busy));
    expect(failureOf(await ask(service))).toBe('throttled');
    await pass(minutes(31));
    expect(failureOf(await ask(service))).toBe('throttled');
    expect(logins()).toBe(1);
  });

  it('a login that is asked for gives the token and how long it is good', async () => {
    const { service } = await start(answerHealthy);
    expect(await service.login()).toEqual({ ok: true, value: { token: 'good', expiresIn: minutes(30) } });
  });

  it('50 calls at once share one login, at the start and at each expiry', async () => {
    const { service, pass, countLogins: logins } = await start(answerHealthy);
    for (let expiry = 1; expiry <= 3; expiry++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => service.signalIndex(PSCO)));
      expect(answers.every(({ ok }) => ok)).toBe(true);
      expect(logins()).toBe(expiry);
      await pass(minutes(30));
    }
  });

  it('50 calls whose token dies in mid-life share one login', async () => {
    let dead = '';
    const { service, countLogins: logins } = await start(counting((token) => token !== dead));
    await service.signalIndex(PSCO);
    dead = 't1';
    const answers = await Promise.all(Array.from({ length: 50 }, () => service.signalIndex(PSCO)));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(logins()).toBe(2);
  });
});

describe('refusals', () => {
  const always = (answer: ScriptedResponse) => (asked: ScriptedRequest) =>
    asked.path === '/v3/forecast' ? answer : answerHealthy(asked);
  //  the service answers the forecast with       outcome          logins  requests for the forecast
  const rows: readonly (readonly [string, ScriptedResponse, string, number, number])[] = [
    ['401 in JSON', scriptedJson({ error: 'x' }, 401), 'unauthorised', 2, 2],
    ['401 as a page', scriptedHtml(401), 'unauthorised', 2, 2],
    ['403 as a page', scriptedHtml(403), 'not-entitled', 2, 2],
    ['403 in JSON', scriptedJson({ error: 'x', message: 'Invalid scope.' }, 403), 'not-entitled', 1, 1],
    ['429', scriptedJson({ error: 'x' }, 429), 'throttled', 1, 1],
    ['500', scriptedHtml(500), 'server-error', 1, 1],
    ['302', { status: 302, headers: { location: 'https://example.invalid/' } }, 'unreachable', 1, 1],
  ];
  it.each(rows)('%s', async (_, answer, outcome, loginCount, requests) => {
    const { service, scripted, countLogins: logins } = await start(always(answer));
    expect(failureOf(await service.forecast(PSCO))).toBe(outcome);
    expect(logins()).toBe(loginCount);
    expect(scripted.countRequests('/v3/forecast')).toBe(requests);
  });

  it('a page with 403 to a fresh token is a gate: asked again it costs no login, and it opens by an answer', async () => {
    let answer: ScriptedResponse | undefined = scriptedHtml(403);
    const {
      service,
      pass,
      countLogins: logins,
    } = await start((asked) => (asked.path === '/v3/forecast' && answer !== undefined ? answer : answerHealthy(asked)));
    for (let i = 0; i < 5; i++) {
      expect(failureOf(await service.forecast(PSCO))).toBe('not-entitled');
      expect((await service.signalIndex(PSCO)).ok).toBe(true);
      await pass(minutes(4));
    }
    expect(logins()).toBe(2);
    answer = undefined;
    expect((await service.forecast(PSCO)).ok).toBe(true);
    // From now on such a page may again mean that the token has died.
    answer = scriptedHtml(403);
    expect(failureOf(await service.forecast(PSCO))).toBe('not-entitled');
    expect(logins()).toBe(3);
  });

  it('a page with 403 is a gate also when the request with the fresh token was lost', async () => {
    const answers = [scriptedHtml(403), scriptedHtml(503)];
    const ofOthers = counting(() => true);
    const { service, pass, countLogins } = await start((asked) =>
      asked.path === '/v3/forecast' ? (answers.shift() ?? scriptedHtml(403)) : ofOthers(asked),
    );
    expect(failureOf(await service.forecast(PSCO))).toBe('server-error');
    for (let i = 0; i < 5; i++) {
      await pass(minutes(4));
      expect(failureOf(await service.forecast(PSCO))).toBe('not-entitled');
    }
    expect(countLogins()).toBe(2);
  });

  it('a gate stays a gate for a day without a single further login', async () => {
    const {
      service,
      pass,
      countLogins: logins,
    } = await start(always(scriptedJson({ message: 'Invalid scope.' }, 403)));
    for (let i = 0; i < 5; i++) {
      await service.forecast(PSCO);
      await pass(minutes(5));
    }
    expect(logins()).toBe(1);
  });
});

describe('the login breaker', () => {
  const refuses =
    (answer: ScriptedResponse) =>
    ({ path }: ScriptedRequest) =>
      path === '/login' ? answer : scriptedJson({}, 401);
  const refusals: readonly (readonly [string, ScriptedResponse])[] = [
    ['401 in JSON', scriptedJson({ error: 'no' }, 401)],
    ['403 in JSON', scriptedJson({ error: 'locked' }, 403)],
    ['401 as a page', scriptedHtml(401)],
    ['403 as a page', scriptedHtml(403)],
  ];
  it.each(refusals)('%s at the login: at most 5 an hour after the second refusal', async (_, answer) => {
    const { service, pass, countLogins: logins } = await start(refuses(answer));
    await service.signalIndex(PSCO);
    await service.signalIndex(PSCO);
    expect(logins()).toBe(2);
    const atHour: number[] = [];
    for (let minute = 0; minute < 180; minute++) {
      expect(failureOf(await service.signalIndex(PSCO))).toBe('unauthorised');
      if (minute % 60 === 59) atHour.push(logins());
      await pass(minutes(1));
    }
    expect(atHour.map((n, i) => n - (atHour[i - 1] ?? 2))).toSatisfy((hourly: number[]) =>
      hourly.every((n) => n >= 1 && n <= 5),
    );
  });

  it('tokens that are given but never accepted: at most 5 further logins an hour', async () => {
    const { service, pass, countLogins: logins } = await start(counting(() => false));
    for (let minute = 0; minute < 60; minute++) {
      expect(failureOf(await service.signalIndex(PSCO))).toBe('unauthorised');
      await pass(minutes(1));
    }
    expect(logins()).toBeLessThanOrEqual(2 + 5);
  });

  it('tokens that each open one answer: 5 further logins an hour, and as many in the next', async () => {
    const opened = new Set<string | undefined>();
    let given = 0;
    const {
      service,
      pass,
      countLogins: logins,
    } = await start((asked) => {
      if (asked.path === '/login') return scriptedJson({ token: `t${++given}` });
      const { authorization } = asked.headers;
      if (opened.has(authorization)) return scriptedJson({}, 401);
      opened.add(authorization);
      return answerHealthy(asked);
    });
    const atHour: number[] = [];
    for (let minute = 0; minute < 180; minute++) {
      await service.signalIndex(PSCO);
      if (minute % 60 === 59) atHour.push(logins());
      await pass(minutes(1));
    }
    expect(atHour).toEqual([1 + 5, 1 + 10, 1 + 15]);
  });

  it('one endpoint that refuses every token while another takes it: at most 5 logins an hour for it', async () => {
    const {
      service,
      pass,
      countLogins: logins,
    } = await start((asked) => (asked.path === '/v3/forecast' ? scriptedJson({}, 401) : answerHealthy(asked)));
    for (let minute = 0; minute < 120; minute += 5) {
      await service.forecast(PSCO);
      expect(failureOf(await service.signalIndex(PSCO))).toBe('answer');
      await pass(minutes(5));
    }
    expect(logins()).toBeLessThanOrEqual(2 * (5 + 2) + 1);
  });

  it('after the second refusal the next login is 12 minutes away', async () => {
    const { service, pass, countLogins: logins } = await start(refuses(scriptedJson({ error: 'no' }, 401)));
    await service.signalIndex(PSCO);
    await service.signalIndex(PSCO);
    await pass(minutes(11));
    const early = await service.signalIndex(PSCO);
    expect(early).toMatchObject({ failure: { kind: 'unauthorised', retryAfter: minutes(1) } });
    expect(logins()).toBe(2);
    await pass(minutes(1));
    await service.signalIndex(PSCO);
    expect(logins()).toBe(3);
  });

  it('a changed credential closes it at once', async () => {
    let password = 'wrong';
    const { service, countLogins: logins } = await start(
      (asked) => {
        const expected = `Basic ${Buffer.from('cellar:right').toString('base64')}`;
        return asked.path === '/login' && asked.headers.authorization !== expected
          ? scriptedJson({}, 401)
          : answerHealthy(asked);
      },
      { credentials: async () => ({ username: 'cellar', password }) },
    );
    for (let i = 0; i < 4; i++) expect(failureOf(await service.signalIndex(PSCO))).toBe('unauthorised');
    expect(logins()).toBe(2);
    password = 'right';
    expect(failureOf(await service.signalIndex(PSCO))).toBe('answer');
    expect(logins()).toBe(3);
  });

  it('without credentials nothing is sent', async () => {
    const { service, scripted } = await start(answerHealthy, { credentials: async () => undefined });
    expect(failureOf(await service.signalIndex(PSCO))).toBe('no-credentials');
    expect(scripted.requests).toEqual([]);
  });

  it('a login that meets a server error is no refusal, and the next waits 10 s', async () => {
    const {
      service,
      pass,
      countLogins: logins,
    } = await start(({ path }) => (path === '/login' ? scriptedHtml(502) : scriptedJson(indexBody())));
    for (let i = 0; i < 4; i++) expect(failureOf(await service.signalIndex(PSCO))).toBe('server-error');
    expect(logins()).toBe(1);
    await pass(seconds(10));
    expect(failureOf(await service.signalIndex(PSCO))).toBe('server-error');
    expect(logins()).toBe(2);
  });
});

describe('too many requests', () => {
  //  Retry-After                              waits, within
  const rows: readonly (readonly [string | undefined, number, number])[] = [
    ['7', 7, 7.7],
    ['0', 1, 1],
    ['-1', 1, 1],
    ['1e9', 1, 600], // no number as the header is defined: as without one
    ['1000000000', 3_600, 3_600],
    ['Sun, 01 Mar 2026 12:01:00 GMT', 60, 66],
    ['soon', 1, 600],
    [undefined, 1, 600],
  ];
  it.each(rows)('Retry-After %s is obeyed: nothing is sent before', async (retryAfter, from, to) => {
    const headers: Record<string, string> = { date: 'Sun, 01 Mar 2026 12:00:00 GMT' };
    if (retryAfter !== undefined) headers['retry-after'] = retryAfter;
    let calm = false;
    const { service, scripted, pass } = await start((asked) =>
      asked.path === '/v3/forecast' && !calm ? scriptedJson({ error: 'x' }, 429, headers) : answerHealthy(asked),
    );
    const outcome = await service.forecast(PSCO);
    if (outcome.ok || outcome.failure.kind !== 'throttled') throw new Error('expected throttled');
    const wait = outcome.failure.retryAfter / 1_000;
    expect(wait).toBeGreaterThanOrEqual(from);
    expect(wait).toBeLessThanOrEqual(to);
    calm = true;
    const asked = scripted.requests.length;
    expect(failureOf(await service.signalIndex(PSCO))).toBe('throttled');
    expect(scripted.requests.length).toBe(asked);
    await pass(outcome.failure.retryAfter);
    expect(failureOf(await service.forecast(PSCO))).toBe('answer');
  });

  it('bare 429s in a row wait longer each time, up to 10 minutes', async () => {
    const { service, pass } = await start(
      (asked) => (asked.path === '/v3/forecast' ? scriptedJson({}, 429) : answerHealthy(asked)),
      {
        random: { fraction: () => 0.999_999 },
      },
    );
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const outcome = await service.forecast(PSCO);
      if (outcome.ok || outcome.failure.kind !== 'throttled') throw new Error('expected throttled');
      waits.push(Math.round(outcome.failure.retryAfter / 1_000));
      await pass(outcome.failure.retryAfter);
    }
    expect(waits).toEqual([15, 30, 60, 120, 240, 480, 600, 600]);
  });

  it('those that were under way together are one 429', async () => {
    const { service } = await start(
      (asked) => (asked.path === '/v3/forecast' ? scriptedJson({}, 429) : answerHealthy(asked)),
      {
        random: { fraction: () => 0.999_999 },
      },
    );
    await service.login();
    const all = await Promise.all(Array.from({ length: 10 }, () => service.forecast(PSCO)));
    for (const outcome of all)
      expect(outcome).toMatchObject({ failure: { kind: 'throttled', retryAfter: seconds(15) } });
  });

  it('a throttled login holds back logins', async () => {
    const { service, countLogins: logins } = await start((asked) =>
      asked.path === '/login' ? scriptedJson({}, 429, { 'retry-after': '60' }) : answerHealthy(asked),
    );
    expect(failureOf(await service.signalIndex(PSCO))).toBe('throttled');
    expect(failureOf(await service.signalIndex(PSCO))).toBe('throttled');
    expect(logins()).toBe(1);
  });
});

describe('what is told about it', () => {
  it('counts requests and logins, and no secret reaches the log', async () => {
    const { service, logLines } = await start(counting((token) => token !== 't1'));
    await service.forecast({ ...PSCO, model: '2023-03-01' });
    await service.signalIndex(PSCO);
    expect(service.counts()).toMatchObject({ requests: 5, logins: 2 });
    expect(logLines.length).toBeGreaterThan(3);
    expect(logLines.join('\n')).not.toMatch(/secret-1|t1|t2|Bearer|Basic/);
  });

  it('stopping ends what is under way and all that follows', async () => {
    const { service } = await start((asked) => (asked.path === '/login' ? answerHealthy(asked) : () => {}));
    const answer = service.signalIndex(PSCO);
    await service.login();
    service.stop();
    service.stop();
    expect(failureOf(await answer)).toBe('stopped');
    expect(failureOf(await service.forecast(PSCO))).toBe('stopped');
  });

  it("the skew is the service's Date against our wall clock, whatever steps that makes", async () => {
    const { service, clock, pass } = await start((asked) =>
      asked.path === '/login'
        ? answerHealthy(asked)
        : scriptedJson(indexBody(), 200, { date: 'Sun, 01 Mar 2026 12:05:00 GMT' }),
    );
    expect(service.skew()).toBe(undefined);
    for (let i = 0; i < 3; i++) await service.signalIndex(PSCO);
    expect(service.skew()).toBe(300_500);
    await pass(hours(1));
    expect(service.skew()).toBe(300_500);
    clock.stepWall(minutes(5));
    expect(service.skew()).toBe(500);
  });
});
