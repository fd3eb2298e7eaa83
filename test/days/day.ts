/** Reads a day written as text, lives it through the core, and tells what a homeowner would have seen. */

import type { Level, LoadConfig } from '../../src/config/config.ts';
import { clockTime, instantOf } from '../../src/control/calendar.ts';
import { explain, lengthWords } from '../../src/control/explain.ts';
import { isRunning } from '../../src/control/levels.ts';
import { loadState, saveState } from '../../src/control/step.ts';
import type { IndexNow, Outlook } from '../../src/signal/view.ts';
import { type Duration, hours, type Instant, type Kilowatt, minutes } from '../../src/units.ts';
import { localDay, offsetAt } from '../../src/zone.ts';
import { Bench, car, daily, heating, index, indexAt, outlookOf, siteOf, tank, ZONE } from '../control/site.ts';

const { window: _carWindow, ...bareCar } = car();
const { window: _heatingWindow, ...bareHeating } = heating();
const four = { kind: 'time', time: hours(4) } as const;

/** The loads a day may name. */
const LOADS: Readonly<Record<string, LoadConfig>> = {
  car: car(),
  van: car({ name: 'van' }),
  'bare-car': { ...bareCar, failSafe: 'off' },
  'plugin-car': car({ goal: { need: four, by: daily(420), armedBy: 'command' } }),
  'late-car': car({ goal: { need: four, by: daily(420), from: 23 * 60, armedBy: 'schedule' } }),
  'workday-car': car({ goal: { need: four, by: [540, 420, 420, 420, 420, 420, 540], armedBy: 'schedule' } }),
  'spread-car': car({ jitter: minutes(5) }),
  'one-block-car': car({ maxInterruptions: 0 }),
  heating: heating(),
  'bare-heating': bareHeating,
  pump: heating({ blockAbove: index(85), forceBelow: index(8) }),
  'heating-3h': heating({ goal: { need: { kind: 'time', time: hours(3) }, by: daily(0), armedBy: 'schedule' } }),
  tank: tank(),
  'shadow-tank': tank({ name: 'shadow', shadow: true }),
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

const lengthOf = (text: string): Duration => {
  const match = /^([+-]?)(\d+(?:\.\d+)?)([hms])$/.exec(text);
  if (match === null) throw new Error(`${text} is no length`);
  const unit = { h: 3_600_000, m: 60_000, s: 1_000 }[match[3] ?? ''] ?? 0;
  return (Number(match[2]) * unit * (match[1] === '-' ? -1 : 1)) as Duration;
};

/** Header lines, then `HH:MM what happens` in order; a time earlier than the one before is of the next day, `=` ends the day. */
export function readDay(text: string): Day {
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
  const timeOf = (said: string) => {
    const [date = '', clock = ''] = said.split(' ');
    return localTimeOf(zone, Date.parse(`${date}T00:00:00Z`) / 86_400_000, clock);
  };
  const start = timeOf(head.get('start') ?? '');
  const events: { at: Instant; words: string[] }[] = [];
  let before = start;
  for (const line of rest) {
    const [clock = '', ...words] = line.trim().split(/\s+/);
    let at = localTimeOf(zone, localDay(zone, before), clock);
    if (at < before) at = localTimeOf(zone, localDay(zone, before) + 1, clock);
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
    end: timeOf(head.get('end') ?? ''),
    loads,
    events,
    trusted: head.get('clock') !== 'untrusted',
    ...(budget === undefined ? {} : { budget: Number(budget) as Kilowatt }),
  };
}

const localTimeOf = (zone: string, day: number, clock: string) => {
  const [h = '', m = ''] = clock.split(':');
  return instantOf(zone, day, Number(h) * 60 + Number(m));
};

/** What the service says at present: told again every five minutes, as long as it answers. */
interface Service {
  index: number | undefined;
  flat: boolean;
  outlook: Outlook | undefined;
}

const FIVE = minutes(5);

export function liveDay(day: Day): string[] {
  const site = {
    ...siteOf(...day.loads),
    timezone: day.zone,
    ...(day.budget === undefined ? {} : { budget: day.budget }),
  };
  const service: Service = { index: undefined, flat: false, outlook: undefined };
  const lines: string[] = [];
  const ran = new Map<string, number>();
  let bench = new Bench(site, day.start, { trusted: day.trusted });
  /** Wall time by the bench's clock less the true one. */
  let astray = 0;
  let seen = 0;

  const idle = Object.fromEntries(
    site.loads.map((load) => [load.name, load.output.kind === 'sg-ready' ? 'normal' : 'off']),
  );
  bench.send({ kind: 'found', levels: idle as Record<string, Level> });

  const tell = () => {
    for (const { at, load, level, words } of bench.switches.slice(seen)) {
      const offset = offsetAt(day.zone, at) / 3_600_000;
      lines.push(`${clockTime(day.zone, at, at)}${offset < 0 ? '' : '+'}${offset} ${load} ${level}: ${words}`);
    }
    seen = bench.switches.length;
  };
  const count = (length: number) => {
    for (const { name } of site.loads) if (isRunning(bench.level(name))) ran.set(name, (ran.get(name) ?? 0) + length);
  };
  const runTo = (trueTime: number) => {
    for (;;) {
      const now = bench.now.wall - astray;
      const next = Math.min(trueTime, Math.floor(now / FIVE) * FIVE + FIVE);
      const steps = Math.max(1, Math.ceil((next - now) / 60_000));
      for (let i = 1; i <= steps; i++) {
        const to = now + ((next - now) * i) / steps;
        const length = to - (bench.now.wall - astray);
        count(length);
        bench.run(Math.round(to + astray) as Instant);
      }
      if (next % FIVE === 0) speak(bench, service);
      tell();
      if (next >= trueTime) return;
    }
  };
  const restart = (sameBoot: boolean, away: Duration) => {
    const read = loadState(saveState(bench.state));
    if ('kind' in read) throw new Error(read.detail);
    const { wall, uptime } = bench.now;
    const levels = Object.fromEntries(
      site.loads.map(({ name }) => [name, sameBoot ? (bench.level(name) ?? 'off') : (idle[name] ?? 'off')]),
    );
    bench = new Bench(site, (wall + away) as Instant, {
      saved: read,
      sameBoot,
      trusted: bench.now.trusted,
      ...(sameBoot ? { uptime: (uptime + away) as typeof uptime } : {}),
    });
    seen = 0;
    bench.send({ kind: 'found', levels: levels as Record<string, Level> });
    speak(bench, service);
    tell();
  };

  for (const { at, words } of day.events) {
    runTo(at);
    const what = words.join(' ');
    const [verb = '', second = '', third = '', fourth = ''] = words;
    if (verb === 'power') {
      lines.push(`  (the power fails for ${lengthWords(lengthOf(third))})`);
      restart(false, lengthOf(third));
    } else if (verb === 'restart') {
      lines.push('  (the service is restarted)');
      restart(true, minutes(0.5));
    } else if (verb === 'clock') {
      lines.push(`  (the clock is set ${second})`);
      astray += lengthOf(second);
      bench.now = { ...bench.now, wall: (bench.now.wall + lengthOf(second)) as Instant };
      bench.send({ kind: 'tick' });
    } else if (verb === 'trusted' || verb === 'untrusted') {
      bench.now = { ...bench.now, trusted: verb === 'trusted' };
      bench.send({ kind: 'tick' });
    } else if (verb === 'forecast' || verb === 'profile') {
      const from = (Math.floor(bench.now.wall / 3_600_000) * 3_600_000) as Instant;
      const made = outlookOf(from, words.slice(1).map(Number), { generatedAt: bench.now.wall });
      service.outlook = verb === 'profile' ? { ...made, basis: 'own-profile' } : made;
      speak(bench, service);
    } else if (verb === 'index') {
      service.index = Number(second);
      service.flat = third === 'flat';
      speak(bench, service);
    } else if (verb === 'silence') {
      // The service is gone: what was held stays as long as it is valid.
      service.index = undefined;
    } else if (verb === 'nothing') {
      service.index = undefined;
      service.outlook = undefined;
      speak(bench, service);
    } else if (verb === 'override' || verb === 'remote') {
      const source = verb === 'override' ? 'local' : 'remote';
      bench.send({ kind: 'override', load: second, level: third as Level, for: lengthOf(fourth), source });
    } else if (verb === 'arm') {
      const by = localTimeOf(day.zone, localDay(day.zone, bench.now.wall), fourth);
      bench.send({
        kind: 'arm',
        load: second,
        need: lengthOf(third),
        by: (by <= bench.now.wall ? by + 86_400_000 : by) as Instant,
      });
    } else if (verb === 'clear') bench.send({ kind: 'clear', load: second });
    else if (verb === 'trip' || verb === 'untrip')
      bench.send({ kind: 'safety', load: second, tripped: verb === 'trip' });
    else if (verb === 'switch') bench.send({ kind: 'confirmed', load: second, level: third as Level });
    else throw new Error(`${what} is no event`);
    tell();
  }
  runTo(day.end);
  for (const { name } of site.loads) {
    const decision = bench.decision(name);
    lines.push(
      `end ${name} ${decision.level}, ran ${lengthWords((ran.get(name) ?? 0) as Duration)}: ${explain(decision, day.zone)}`,
    );
  }
  return lines;
}

function speak(bench: Bench, { index: value, flat, outlook }: Service) {
  const { wall } = bench.now;
  const slot = (Math.floor(wall / FIVE) * FIVE) as Instant;
  const live: IndexNow | undefined = value === undefined ? undefined : indexAt(slot, value, { flat });
  if (
    live === undefined &&
    outlook === undefined &&
    bench.state.view?.index === undefined &&
    bench.state.view?.outlook === undefined
  )
    return;
  if (outlook !== undefined && live === undefined && bench.state.view?.outlook === outlook) return;
  bench.signal({ ...(live === undefined ? {} : { index: live }), ...(outlook === undefined ? {} : { outlook }) });
}
