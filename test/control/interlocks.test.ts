import { describe, expect, it } from 'vitest';
import type { ControlEvent } from '../../src/control/control-types.ts';
import { hashFraction } from '../../src/domain/hash-fraction.ts';
import { type Duration, hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { buildSite, ControlBench, carLoad, heatingLoad, instantFrom, tankLoad } from './control-setup.ts';

const NOON = instantFrom('2026-06-03T19:00:00Z');

function tankBench(over = {}, start = NOON) {
  const bench = new ControlBench(buildSite(tankLoad(over)), start);
  bench.send({ kind: 'found', levels: { tank: 'off' } });
  return bench;
}

/** An index that stays as it is for days. */
const lasting = (bench: ControlBench, value: number) =>
  bench.index(value, {
    startsUntil: (bench.now.wall + hours(99)) as Instant,
    validUntil: (bench.now.wall + hours(99)) as Instant,
  });

describe('an output that does not obey', () => {
  it('is told again after five seconds, then ever later', () => {
    const bench = tankBench();
    bench.runFor(minutes(6));
    // Nothing confirms: the bench only fails.
    const sentAt: number[] = [];
    const step = (event: Parameters<ControlBench['send']>[0]) => {
      for (const _ of bench.sendUnanswered(event)) sentAt.push(bench.now.uptime);
    };
    step({ kind: 'signal', view: { changesAt: 8e15 as Instant, index: lastingIndex(bench) } });
    for (let i = 1; i <= 2; i++) {
      step({ kind: 'failed', load: 'tank', disagreements: i });
      step({ kind: 'tick' });
      bench.skip(seconds(i === 1 ? 4.9 : 9.9));
      step({ kind: 'tick' });
      bench.skip(seconds(0.1));
      step({ kind: 'tick' });
    }
    const gaps = sentAt.map((time, i) => (i === 0 ? 0 : time - (sentAt[i - 1] ?? 0)));
    expect(gaps).toEqual([0, 5_000, 10_000]);
  });

  it('is told to be off after a failed "on", which may reach it late, until it confirms that', () => {
    const bench = tankBench({ failSafe: 'off' });
    bench.runFor(minutes(6));
    const signal = (value: number) => ({
      kind: 'signal' as const,
      view: { changesAt: 8e15 as Instant, index: { ...lastingIndex(bench), value: value as never } },
    });
    const tick = { kind: 'tick' as const };
    const sent = [bench.sendUnanswered(signal(5))];
    bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements: 1 });
    bench.sendUnanswered(signal(95));
    bench.skip(seconds(6));
    sent.push(bench.sendUnanswered(tick), bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements: 2 }));
    bench.skip(seconds(11));
    sent.push(bench.sendUnanswered(tick), bench.sendUnanswered({ kind: 'confirmed', load: 'tank', level: 'off' }));
    bench.skip(seconds(400));
    sent.push(bench.sendUnanswered(tick));
    expect(sent.map((commands) => commands.map(({ level }) => level).join())).toEqual(['on', 'off', '', 'off', '', '']);
  });

  it('is told to run again after a failed "on", and does not rest for a start spread that begins anew', () => {
    const bench = tankBench({ failSafe: 'off', startSpread: minutes(30) });
    bench.runFor(minutes(6));
    const sent = [
      ...bench.sendUnanswered({ kind: 'signal', view: { changesAt: 8e15 as Instant, index: lastingIndex(bench) } }),
    ];
    while (sent.length === 0) {
      bench.skip(minutes(1));
      sent.push(...bench.sendUnanswered({ kind: 'tick' }));
    }
    sent.push(...bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements: 1 }));
    bench.skip(seconds(6));
    sent.push(...bench.sendUnanswered({ kind: 'tick' }));
    expect(sent.map(({ level }) => level)).toEqual(['on', 'on']);
  });

  // A broker that was away for hours: the device, of which nothing was known, ran for 0.2 s of its 5 minutes.
  it.each([
    ['on', 95, 'off', 'min-on', 1],
    ['off', 5, 'on', 'min-off', 0],
  ] as const)('that takes its first %s late has switched then', (late, index, wanted, why, starts) => {
    const bench = new ControlBench(buildSite(tankLoad({ failSafe: late })), NOON);
    bench.sendUnanswered({ kind: 'found', levels: {} });
    for (const disagreements of [1, 2, 3]) {
      bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements });
      bench.skip(minutes(6));
      bench.sendUnanswered({ kind: 'tick' });
    }
    bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements: 4 });
    lasting(bench, index);
    bench.send({ kind: 'confirmed', load: 'tank', level: late });
    expect(bench.decision('tank')).toMatchObject({ level: late, wanted, why });
    expect(bench.state.loads[0]?.starts).toHaveLength(starts);
  });

  //  failures before the device reports that it is off, the second of a command that its output sent again
  it.each([1, 2])(
    'that reports "off" after %i failed commands to start, and no command to stop, has started',
    (failures) => {
      const bench = tankBench({ type: 'heat-pump' });
      bench.runFor(minutes(6));
      lasting(bench, 90);
      bench.runFor(minutes(30));
      const before = bench.state.loads[0]?.starts.length ?? NaN;
      bench.sendUnanswered({ kind: 'signal', view: { changesAt: 8e15 as Instant, index: lastingIndex(bench) } });
      for (let disagreements = 1; disagreements <= failures; disagreements += 1)
        bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements });
      for (let report = 0; report < 2; report += 1)
        bench.sendUnanswered({ kind: 'confirmed', load: 'tank', level: 'off' });
      expect(bench.state.loads[0]?.starts).toHaveLength(before + 1);
      expect(bench.decision('tank')).toMatchObject({ level: 'off', wanted: 'on', why: 'min-off' });
    },
  );

  // A lost link: the last will switched the device on, which nobody reported, and off was sent again on the new link.
  it.each([
    ['failsafe', 1, { level: 'off', wanted: 'on', why: 'min-off' }],
    ['hold', 0, { wanted: 'on', why: 'clean' }],
  ] as const)(
    'that its release (onStop: %s) may have started has switched once it is off again',
    (onStop, starts, decision) => {
      const bench = tankBench({ failSafe: 'on', onStop });
      bench.runFor(minutes(6));
      lasting(bench, 90);
      bench.runFor(minutes(30));
      const before = bench.state.loads[0]?.starts.length ?? NaN;
      bench.sendUnanswered({ kind: 'failed', load: 'tank', disagreements: 3 });
      bench.skip(seconds(4));
      bench.sendUnanswered({ kind: 'confirmed', load: 'tank', level: 'off' });
      expect(bench.state.loads[0]?.starts).toHaveLength(before + starts);
      bench.sendUnanswered({ kind: 'signal', view: { changesAt: 8e15 as Instant, index: lastingIndex(bench) } });
      expect(bench.decision('tank')).toMatchObject(decision);
    },
  );

  it('at the third disagreement is left at its fail-safe level for ten minutes', () => {
    const bench = tankBench({ failSafe: 'off' });
    bench.runFor(minutes(6));
    lasting(bench, 10);
    expect(bench.level('tank')).toBe('on');
    bench.runFor(minutes(6));
    bench.send({ kind: 'failed', load: 'tank', disagreements: 3 });
    expect(bench.decision('tank')).toMatchObject({ wanted: 'off', why: 'output-fault', basis: 'fail-safe' });
    bench.runUntil((bench.now.wall + minutes(5)) as Instant);
    expect(bench.level('tank')).toBe('off');
  });
});

/** Follows each command and goes on reporting `reported`: a command of this level is confirmed at once, any other fails after 20 s. */
function playMisreportingDevice(
  reported: 'on' | 'off',
  { minOn, minOff } = { minOn: minutes(30), minOff: minutes(15) },
) {
  const limits = { minOn, minOff, maxStartsPerHour: 2, maxStartsPerDay: 6 };
  const { name, ...load } = tankLoad({ ...limits, type: 'heat-pump', failSafe: reported });
  const bench = new ControlBench(buildSite({ ...load, name }), NOON);
  const switches: { readonly level: string; readonly at: number }[] = [];
  let failures = 0;
  let answer: { readonly at: number; readonly event: ControlEvent } | undefined;
  const send = (event: ControlEvent) => {
    for (const { level } of bench.sendUnanswered(event)) {
      if (switches.at(-1)?.level !== level) switches.push({ level, at: bench.now.uptime });
      failures = level === reported ? 0 : failures + 1;
      answer = {
        at: bench.now.uptime + (level === reported ? 1 : 20_000),
        event:
          level === reported
            ? { kind: 'confirmed', load: name, level }
            : { kind: 'failed', load: name, disagreements: failures },
      };
    }
  };
  send({ kind: 'found', levels: { tank: reported } });
  const value = (reported === 'off' ? 5 : 95) as never;
  send({ kind: 'signal', view: { changesAt: 8e15 as Instant, index: { ...lastingIndex(bench, 99), value } } });
  const end = bench.now.uptime + hours(48);
  while (bench.now.uptime < end) {
    const next = Math.min(bench.wakeAt, answer?.at ?? Infinity);
    bench.skip((next - bench.now.uptime) as Duration);
    const due = answer !== undefined && answer.at <= next ? answer.event : undefined;
    if (due !== undefined) answer = undefined;
    send(due ?? { kind: 'tick' });
  }
  return switches;
}

describe('a compressor whose device follows and reports one level for ever', () => {
  it.each([
    ['off', undefined],
    ['off', { minOn: minutes(0), minOff: minutes(0) }],
    ['on', undefined],
    // Put off each minute, and started again by the fail-safe level.
    ['on', { minOn: minutes(0), minOff: minutes(0) }],
  ] as const)(
    '"%s", %j: it is started no more often than its limits, with its pause before each',
    (reported, times) => {
      const switches = playMisreportingDevice(reported, times);
      const starts = switches.flatMap(({ level, at }) => (level === 'on' ? [at] : []));
      expect(starts.length).toBeGreaterThan(2);
      for (const span of [1, 24] as const)
        for (const from of starts)
          expect(starts.filter((at) => at >= from && at < from + hours(span)).length).toBeLessThanOrEqual(
            span === 1 ? 2 : 6,
          );
      for (const [i, { level, at }] of switches.entries())
        if (level === 'on' && i > 0)
          expect(at - (switches[i - 1]?.at ?? 0)).toBeGreaterThanOrEqual(times?.minOff ?? minutes(15));
    },
  );

  it('"on": it is stopped at most once in its minimum time on', () => {
    const stops = playMisreportingDevice('on').flatMap(({ level, at }) => (level === 'off' ? [at] : []));
    expect(stops.length).toBeGreaterThan(2);
    for (const [i, at] of stops.entries())
      if (i > 0) expect(at - (stops[i - 1] ?? 0)).toBeGreaterThanOrEqual(minutes(30));
  });
});

const lastingIndex = (bench: ControlBench, length = 9) => ({
  value: 5 as never,
  basis: 'live-index' as const,
  at: bench.now.wall,
  startsUntil: (bench.now.wall + hours(length)) as Instant,
  validUntil: (bench.now.wall + hours(length)) as Instant,
  flat: false,
  quality: 'full' as const,
});

describe('start budgets', () => {
  it('a heat pump starts at most six times in any 24 hours', () => {
    const bench = new ControlBench(buildSite(heatingLoad()), NOON);
    bench.send({ kind: 'found', levels: { heating: 'normal' } });
    for (let slot = 0; slot < 12 * 40; slot++) {
      bench.index(slot % 12 < 7 ? 10 : 90);
      bench.runFor(minutes(5));
    }
    const starts = bench.switches.filter(({ level }) => level === 'recommend').map(({ at: time }) => time);
    expect(starts.length).toBeGreaterThan(6);
    for (const start of starts)
      expect(starts.filter((other) => other >= start && other < start + hours(24)).length).toBeLessThanOrEqual(6);
  });

  it('a tank starts at most four times an hour', () => {
    const bench = tankBench({ minOn: minutes(0), minOff: minutes(0), maxStartsPerHour: 4 });
    for (let i = 0; i < 60; i++) {
      bench.index(i % 2 === 0 ? 10 : 90);
      bench.runFor(minutes(1));
    }
    expect(bench.switches.filter(({ level }) => level === 'on')).toHaveLength(4);
    expect(bench.decision('tank')).toMatchObject({ why: 'dirty' });
  });

  it('the last start of the day is kept for the deadline', () => {
    const bench = new ControlBench(
      buildSite(carLoad({ maxStartsPerDay: 2, minOn: minutes(1), minOff: minutes(1) })),
      instantFrom('2026-06-04T01:00:00Z'),
    );
    bench.send({ kind: 'found', levels: { car: 'off' } });
    for (let i = 0; i < 60; i++) {
      bench.index(i % 2 === 0 ? 10 : 90);
      bench.runFor(minutes(5));
    }
    expect(bench.switches.filter(({ level }) => level === 'on')).toHaveLength(1);
    bench.sendSignal({});
    bench.runUntil(instantFrom('2026-06-04T13:59:59Z'));
    expect(bench.decision('car').job?.done).toBe(hours(4));
  });
});

describe('the start spread', () => {
  it('is the same for the same device and job, and differs between neighbours', () => {
    expect(hashFraction('cellar', 'car', 1)).toBe(hashFraction('cellar', 'car', 1));
    const places = Array.from({ length: 1_000 }, (_, i) => hashFraction(`house-${i}`, 'tank', ''));
    const inTenths = Array.from(
      { length: 10 },
      (_, tenth) => places.filter((place) => Math.floor(place * 10) === tenth).length,
    );
    expect(Math.min(...inTenths)).toBeGreaterThan(60);
    expect(Math.max(...inTenths)).toBeLessThan(150);
  });

  it('delays what the signal starts and nothing else', () => {
    const spread = { startSpread: minutes(5) };
    const bench = tankBench(spread);
    bench.runFor(minutes(6));
    lasting(bench, 10);
    expect(bench.decision('tank')).toMatchObject({ level: 'off', why: 'spread', wantedWhy: 'clean' });
    const until = bench.decision('tank').until ?? (0 as Instant);
    expect(until - bench.now.wall).toBe(Math.floor(hashFraction('cellar', 'tank', '') * minutes(5)));
    bench.runUntil(until);
    expect(bench.level('tank')).toBe('on');
    const byHand = tankBench(spread);
    byHand.runFor(minutes(6));
    byHand.send({ kind: 'override', load: 'tank', level: 'on', for: hours(1), source: 'local' });
    expect(byHand.level('tank')).toBe('on');
  });
});

describe('odd events change nothing', () => {
  const rows = [
    { kind: 'confirmed', load: 'nobody', level: 'on' },
    { kind: 'override', load: 'tank', level: 'on', for: Number.NaN as never, source: 'local' },
    { kind: 'override', load: 'tank', level: 'on', for: minutes(0), source: 'local' },
    { kind: 'arm', load: 'tank' },
    { kind: 'arm', load: 'tank', need: hours(1), by: NOON },
    { kind: 'arm', load: 'tank', need: minutes(0), by: (NOON + hours(9)) as Instant },
    { kind: 'arm', load: 'tank', need: Number.NaN as never, by: (NOON + hours(9)) as Instant },
    { kind: 'clear', load: 'tank' },
  ] as const;
  it.each(rows)('%j', (event) => {
    const bench = tankBench();
    bench.runFor(minutes(20));
    const before = bench.decision('tank');
    bench.send(event);
    expect(bench.decision('tank')).toEqual({ ...before, at: bench.now.wall });
  });
});
