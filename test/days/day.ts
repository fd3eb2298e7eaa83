/** Reads a day written as text, lives it through the core, and tells what a homeowner would have seen. */

import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import { explainDecision } from '../../src/control/explain.ts';
import { formatHoursMinutes } from '../../src/domain/duration-text.ts';
import { isRunning } from '../../src/domain/levels.ts';
import type { Level, LoadConfig } from '../../src/domain/load-types.ts';
import { formatClockTime, toInstant } from '../../src/domain/local-time.ts';
import { getZoneOffset, toLocalDay } from '../../src/domain/time-zone.ts';
import { type Duration, hours, type Instant, type Kilowatt, minutes } from '../../src/domain/units.ts';
import type { CurrentIndex, Horizon } from '../../src/signal/signal-view.ts';
import {
  asPercentile,
  buildHorizon,
  buildIndex,
  buildSite,
  ControlBench,
  carLoad,
  daily,
  heatingLoad,
  tankLoad,
  ZONE,
} from '../control/control-setup.ts';

const { window: _carWindow, ...bareCar } = carLoad();
const { window: _heatingWindow, ...bareHeating } = heatingLoad();
const fourHourNeed = { kind: 'time', time: hours(4) } as const;

/** The loads a day may name. */
const LOADS: Readonly<Record<string, LoadConfig>> = {
  car: carLoad(),
  van: carLoad({ name: 'van' }),
  'bare-car': { ...bareCar, failSafe: 'off' },
  'plugin-car': carLoad({ goal: { need: fourHourNeed, by: daily(420), armedBy: 'command' } }),
  'late-car': carLoad({ goal: { need: fourHourNeed, by: daily(420), from: 23 * 60, armedBy: 'schedule' } }),
  'workday-car': carLoad({
    goal: { need: fourHourNeed, by: [540, 420, 420, 420, 420, 420, 540], armedBy: 'schedule' },
  }),
  'spread-car': carLoad({ startSpread: minutes(5) }),
  'one-block-car': carLoad({ maxInterruptions: 0 }),
  heating: heatingLoad(),
  'bare-heating': bareHeating,
  pump: heatingLoad({ blockAbove: asPercentile(85), forceBelow: asPercentile(8) }),
  'heating-3h': heatingLoad({ goal: { need: { kind: 'time', time: hours(3) }, by: daily(0), armedBy: 'schedule' } }),
  tank: tankLoad(),
  'shadow-tank': tankLoad({ name: 'shadow', observeOnly: true }),
};

export interface Day {
  readonly title: string;
  readonly zone: string;
  readonly start: Instant;
  readonly end: Instant;
  readonly loads: readonly LoadConfig[];
  readonly budget?: Kilowatt;
  readonly trusted: boolean;
  readonly events: readonly { readonly at: Instant; readonly words: readonly string[] }[];
}

const parseLength = (text: string): Duration => {
  const match = /^([+-]?)(\d+(?:\.\d+)?)([hms])$/.exec(text);
  if (match === null) throw new Error(`${text} is no length`);
  const unit = { h: 3_600_000, m: 60_000, s: 1_000 }[match[3] ?? ''] ?? 0;
  return (Number(match[2]) * unit * (match[1] === '-' ? -1 : 1)) as Duration;
};

/** Header lines, then `HH:MM what happens` in order; a time earlier than the one before is of the next day, `=` ends the day. */
export function parseDay(text: string): Day {
  const [title = '', ...lines] = text.split('\n');
  const head = new Map<string, string>();
  const rest: string[] = [];
  for (const line of lines) {
    if (line.startsWith('=')) break;
    if (line.trim() === '') continue;
    if (/^\d\d:\d\d/.test(line)) rest.push(line);
    else head.set(line.split(' ')[0] ?? '', line.split(' ').slice(1).join(' ').trim());
  }
  const zone = head.get('zone') ?? ZONE;
  const parseTime = (text: string) => {
    const [date = '', clock = ''] = text.split(' ');
    return toLocalInstant(zone, Date.parse(`${date}T00:00:00Z`) / 86_400_000, clock);
  };
  const start = parseTime(head.get('start') ?? '');
  const events: { at: Instant; words: string[] }[] = [];
  let before = start;
  for (const line of rest) {
    const [clock = '', ...words] = line.trim().split(/\s+/);
    let at = toLocalInstant(zone, toLocalDay(zone, before), clock);
    if (at < before) at = toLocalInstant(zone, toLocalDay(zone, before) + 1, clock);
    events.push({ at, words });
    before = at;
  }
  const budget = head.get('budget');
  const loads = (head.get('loads') ?? '').split(' ').map((name) => {
    const load = LOADS[name];
    if (load === undefined) throw new Error(`there is no load ${name}`);
    return load;
  });
  return {
    title,
    zone,
    start,
    end: parseTime(head.get('end') ?? ''),
    loads,
    events,
    trusted: head.get('clock') !== 'untrusted',
    ...(budget === undefined ? {} : { budget: Number(budget) as Kilowatt }),
  };
}

const toLocalInstant = (zone: string, day: number, clock: string) => {
  const [h = '', m = ''] = clock.split(':');
  return toInstant(zone, day, Number(h) * 60 + Number(m));
};

/** What the service says at present: told again every five minutes, as long as it answers. */
interface SignalFeed {
  index: number | undefined;
  flat: boolean;
  horizon: Horizon | undefined;
}

const FIVE_MINUTES = minutes(5);

export function runDay(day: Day): string[] {
  const site = {
    ...buildSite(...day.loads),
    timezone: day.zone,
    ...(day.budget === undefined ? {} : { budget: day.budget }),
  };
  const feed: SignalFeed = { index: undefined, flat: false, horizon: undefined };
  const lines: string[] = [];
  const runTimes = new Map<string, number>();
  let bench = new ControlBench(site, day.start, { trusted: day.trusted });
  /** Wall time by the bench's clock less the true one. */
  let clockOffset = 0;
  let reportedSwitches = 0;

  const idle = Object.fromEntries(
    site.loads.map((load) => [load.name, load.output.kind === 'sg-ready' ? 'normal' : 'off']),
  );
  bench.send({ kind: 'found', levels: idle as Record<string, Level> });

  const reportSwitches = () => {
    for (const { at, load, level, words } of bench.switches.slice(reportedSwitches)) {
      const offset = getZoneOffset(day.zone, at) / 3_600_000;
      lines.push(`${formatClockTime(day.zone, at, at)}${offset < 0 ? '' : '+'}${offset} ${load} ${level}: ${words}`);
    }
    reportedSwitches = bench.switches.length;
  };
  const countRunTime = (length: number) => {
    for (const { name } of site.loads)
      if (isRunning(bench.level(name))) runTimes.set(name, (runTimes.get(name) ?? 0) + length);
  };
  const runTo = (trueTime: number) => {
    for (;;) {
      const now = bench.now.wall - clockOffset;
      const next = Math.min(trueTime, Math.floor(now / FIVE_MINUTES) * FIVE_MINUTES + FIVE_MINUTES);
      const steps = Math.max(1, Math.ceil((next - now) / 60_000));
      for (let i = 1; i <= steps; i++) {
        const to = now + ((next - now) * i) / steps;
        const length = to - (bench.now.wall - clockOffset);
        countRunTime(length);
        bench.runUntil(Math.round(to + clockOffset) as Instant);
      }
      if (next % FIVE_MINUTES === 0) sendFeed(bench, feed);
      reportSwitches();
      if (next >= trueTime) return;
    }
  };
  const restart = (sameBoot: boolean, away: Duration) => {
    const read = decodeControlState(encodeControlState(bench.state));
    if ('kind' in read) throw new Error(read.detail);
    const { wall, uptime } = bench.now;
    const levels = Object.fromEntries(
      site.loads.map(({ name }) => [name, sameBoot ? (bench.level(name) ?? 'off') : (idle[name] ?? 'off')]),
    );
    bench = new ControlBench(site, (wall + away) as Instant, {
      saved: read,
      restart: sameBoot ? 'same-boot' : 'other-boot',
      trusted: bench.now.trusted,
      ...(sameBoot ? { uptime: (uptime + away) as typeof uptime } : {}),
    });
    reportedSwitches = 0;
    bench.send({ kind: 'found', levels: levels as Record<string, Level> });
    sendFeed(bench, feed);
    reportSwitches();
  };

  for (const { at, words } of day.events) {
    runTo(at);
    const what = words.join(' ');
    const [verb = '', second = '', third = '', fourth = ''] = words;
    if (verb === 'power') {
      lines.push(`  (the power fails for ${formatHoursMinutes(parseLength(third))})`);
      restart(false, parseLength(third));
    } else if (verb === 'restart') {
      lines.push('  (the service is restarted)');
      restart(true, minutes(0.5));
    } else if (verb === 'clock') {
      lines.push(`  (the clock is set ${second})`);
      clockOffset += parseLength(second);
      bench.now = { ...bench.now, wall: (bench.now.wall + parseLength(second)) as Instant };
      bench.send({ kind: 'tick' });
    } else if (verb === 'trusted' || verb === 'untrusted') {
      bench.now = { ...bench.now, trusted: verb === 'trusted' };
      bench.send({ kind: 'tick' });
    } else if (verb === 'forecast' || verb === 'profile') {
      const from = (Math.floor(bench.now.wall / 3_600_000) * 3_600_000) as Instant;
      const made = buildHorizon(from, words.slice(1).map(Number), { generatedAt: bench.now.wall });
      feed.horizon = verb === 'profile' ? { ...made, basis: 'own-profile' } : made;
      sendFeed(bench, feed);
    } else if (verb === 'index') {
      feed.index = Number(second);
      feed.flat = third === 'flat';
      sendFeed(bench, feed);
    } else if (verb === 'silence') {
      // The service is gone: what was held stays as long as it is valid.
      feed.index = undefined;
    } else if (verb === 'nothing') {
      feed.index = undefined;
      feed.horizon = undefined;
      sendFeed(bench, feed);
    } else if (verb === 'override' || verb === 'remote') {
      const source = verb === 'override' ? 'local' : 'remote';
      bench.send({ kind: 'override', load: second, level: third as Level, for: parseLength(fourth), source });
    } else if (verb === 'arm') {
      const by = toLocalInstant(day.zone, toLocalDay(day.zone, bench.now.wall), fourth);
      bench.send({
        kind: 'arm',
        load: second,
        need: parseLength(third),
        by: (by <= bench.now.wall ? by + 86_400_000 : by) as Instant,
      });
    } else if (verb === 'clear') bench.send({ kind: 'clear', load: second });
    else if (verb === 'trip' || verb === 'untrip')
      bench.send({ kind: 'safety', load: second, tripped: verb === 'trip' });
    else if (verb === 'switch') bench.send({ kind: 'confirmed', load: second, level: third as Level });
    else throw new Error(`${what} is no event`);
    reportSwitches();
  }
  runTo(day.end);
  for (const { name } of site.loads) {
    const decision = bench.decision(name);
    lines.push(
      `end ${name} ${decision.level}, ran ${formatHoursMinutes((runTimes.get(name) ?? 0) as Duration)}: ${explainDecision(decision, day.zone)}`,
    );
  }
  return lines;
}

function sendFeed(bench: ControlBench, { index: value, flat, horizon }: SignalFeed) {
  const { wall } = bench.now;
  const slot = (Math.floor(wall / FIVE_MINUTES) * FIVE_MINUTES) as Instant;
  const live: CurrentIndex | undefined = value === undefined ? undefined : buildIndex(slot, value, { flat });
  if (
    live === undefined &&
    horizon === undefined &&
    bench.state.view?.index === undefined &&
    bench.state.view?.horizon === undefined
  )
    return;
  if (horizon !== undefined && live === undefined && bench.state.view?.horizon === horizon) return;
  bench.sendSignal({
    ...(live === undefined ? {} : { index: live }),
    ...(horizon === undefined ? {} : { horizon }),
  });
}
