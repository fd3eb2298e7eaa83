/** What a configuration may say, and the sentence for each thing it may not. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import { BASE, INVALID_CONFIGS, toYaml, VALID_CONFIGS, withLoad } from './config-cases.ts';

function good(text: string): Config {
  const read = parseConfig(text);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  return read.config;
}

function bad(text: string): readonly string[] {
  const read = parseConfig(text);
  return read.ok ? [] : read.mistakes;
}

function firstLoad(text: string): LoadConfig {
  const load = good(text).loads[0];
  if (load === undefined) throw new Error('no load');
  return load;
}

describe('a configuration that is taken', () => {
  it.each(VALID_CONFIGS)('%s', (_, text) => expect(bad(text)).toEqual([]));

  it('holds what was written and the defaults', () => {
    const { device, logLevel, ties, mqtt, place, service } = good(toYaml({ mqtt: { url: 'mqtt://localhost' } }));
    expect({ device, logLevel, ties, mqtt }).toEqual({
      device: 'cellar',
      logLevel: 'info',
      ties: 'mid',
      mqtt: { url: 'mqtt://localhost', commands: 'auto', discovery: 'homeassistant' },
    });
    expect(place).toEqual({ latitude: 38.5, longitude: -122, timezone: 'America/Los_Angeles' });
    expect(service).toEqual({
      url: 'https://signal.example',
      usernameFile: '$CREDENTIALS_DIRECTORY/username',
      passwordFile: '$CREDENTIALS_DIRECTORY/password',
      signalType: 'co2_moer',
      fleet: 1,
    });
  });

  it('takes the address without its trailing slash', () =>
    expect(good(toYaml({ service: { url: 'https://signal.example/base/' } })).service.url).toBe(
      'https://signal.example/base',
    ));

  it('keeps the loads in the order of the file', () => {
    const loads = { z: { ...BASE.loads.heater }, a: { type: 'generic', output: { kind: 'dry-run' } } };
    expect(good(toYaml({ loads })).loads.map(({ name }) => name)).toEqual(['z', 'a']);
  });
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('defaults by type of load', () => {
  const RELAY = { kind: 'relay', pin: 17 };
  const SG = { kind: 'sg-ready', pins: [17, 27] };
  //  type         output  minOn  minOff  an hour  a day  pauses     window                    fail-safe  boot
  const rows = [
    ['ev', RELAY, 15, 15, 6, 6, 3, { from: 60, to: 300 }, 'on', 'off'],
    ['heat-pump', SG, 30, 15, 2, 6, undefined, { from: 600, to: 900 }, 'normal', 'normal'],
    ['heat-pump', RELAY, 30, 15, 2, 6, undefined, { from: 600, to: 900 }, 'off', 'off'],
    ['tank', RELAY, 5, 5, 6, 24, undefined, undefined, 'on', 'off'],
    ['tank', SG, 5, 5, 6, 24, undefined, undefined, 'normal', 'normal'],
    ['generic', RELAY, 5, 5, 6, 24, undefined, undefined, 'off', 'off'],
  ] as const;
  it.each(rows)('%s with %o', (type, output, minOn, minOff, hour, day, pauses, window, failSafe, boot) => {
    expect(firstLoad(toYaml({ loads: { x: { type, output } } }))).toMatchObject({
      minOn: minOn * MINUTE,
      minOff: minOff * MINUTE,
      maxStartsPerHour: hour,
      maxStartsPerDay: day,
      failSafe,
      initialLevel: boot,
      onBelow: 33,
      offAbove: 43,
      overrideFor: 4 * HOUR,
      startSpread: 5 * MINUTE,
      minStateTime: 10 * MINUTE,
      maxBlock: 2 * HOUR,
      maxBlocksPerDay: 3,
      onStop: 'failsafe',
      observeOnly: false,
    });
    const load = firstLoad(toYaml({ loads: { x: { type, output } } }));
    expect([load.window, load.maxInterruptions]).toEqual([window, pauses]);
  });

  const thresholds = [
    [{ onBelow: 20 }, 20, 30],
    [{ onBelow: 95 }, 95, 100],
    [{ onBelow: 20, offAbove: 20 }, 20, 20],
  ] as const;
  it.each(thresholds)('%o: on at or below %d, off at or above %d', (part, on, off) =>
    expect(firstLoad(withLoad(part))).toMatchObject({ onBelow: on, offAbove: off }),
  );

  it('gives up window and pauses where none is written', () => {
    const load = firstLoad(withLoad({ type: 'ev', window: 'none', maxInterruptions: 'none' }));
    expect([load.window, load.maxInterruptions]).toEqual([undefined, undefined]);
  });
});

describe('goals', () => {
  const seven = 7 * 60;
  const nine = 9 * 60;
  const none = undefined;
  //  written                                  Sunday to Saturday
  const rows = [
    ['07:00', [seven, seven, seven, seven, seven, seven, seven]],
    ['7:00', [seven, seven, seven, seven, seven, seven, seven]],
    [{ daily: '09:00' }, [nine, nine, nine, nine, nine, nine, nine]],
    [{ 'mon-fri': '07:00', 'sat-sun': '09:00' }, [nine, seven, seven, seven, seven, seven, nine]],
    [{ sat: '09:00' }, [none, none, none, none, none, none, nine]],
    [{ 'fri-mon': '09:00' }, [nine, nine, none, none, none, nine, nine]],
  ] as const;
  it.each(rows)('by %o', (by, week) =>
    expect(firstLoad(withLoad({ goal: { need: '4h', by } })).goal?.by).toEqual(week),
  );

  it('counts in time or in energy', () => {
    expect(firstLoad(withLoad({ goal: { need: '1h30m', by: '07:00' } })).goal?.need).toEqual({
      kind: 'time',
      time: 90 * MINUTE,
    });
    expect(firstLoad(withLoad({ goal: { need: '6.5kWh', by: '07:00' } })).goal?.need).toEqual({
      kind: 'energy',
      energy: 6.5,
    });
  });
});

describe('a configuration that is refused', () => {
  it.each(INVALID_CONFIGS)('$name', ({ text, sentences }) => expect(bad(text)).toEqual(sentences));

  it('tells all mistakes at once', () => {
    const text = toYaml({
      place: { latitude: 91, longitude: 'x', timezone: 'Mars/Base' },
      loads: { a: { type: 'evv', output: { kind: 'relay', pin: 99 }, onBelow: 130 } },
    });
    expect(bad(text)).toEqual([
      'place.latitude: 91 is not within -90 to 90; are latitude and longitude swapped?',
      'place.longitude: "x" is not a number within -180 to 180',
      'place.timezone: "Mars/Base" is not a time zone such as America/Los_Angeles',
      'loads.a.type: "evv" is not one of ev, heat-pump, tank, generic; did you mean ev?',
      'loads.a.output.pin: 99 is not within 2-27 (GPIO numbers, not header positions)',
      'loads.a.onBelow: 130 is not within 0-100',
    ]);
  });

  it('says at most fifty', () => {
    const loads = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`l${i}`, { minOn: 1 }]));
    const mistakes = bad(toYaml({ loads }));
    expect([mistakes.length, mistakes.at(-1)]).toEqual([51, 'and 40 more mistakes']);
  });

  it('never repeats a password', () => {
    const canary = 'canary-4711';
    const texts = [
      toYaml({ service: { url: `https://me:${canary}@signal.example` } }),
      toYaml({ service: { url: `signal.example@${canary}` } }),
      toYaml({ service: { url: 'https://signal.example', password: canary } }),
      toYaml({ mqtt: { url: `mqtt://me:${canary}@localhost` } }),
    ];
    for (const text of texts) {
      expect(bad(text)).not.toEqual([]);
      expect(bad(text).join('\n')).not.toContain(canary);
    }
  });
});

describe('any text at all', () => {
  const word = fc.constantFrom(
    'device',
    'loads',
    'place',
    ':',
    '\n',
    '  ',
    '- ',
    '[',
    '{',
    '}',
    '"',
    '*a',
    '&a',
    '!t',
    '\t',
    '|',
    '?',
    '__proto__',
    '%YAML',
    '---',
    '#',
    '1',
    'none',
  );
  it('is read or refused with a sentence', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(word).map((words) => words.join(' ')),
        ),
        (text) => {
          const read = parseConfig(text);
          expect(read.ok || read.mistakes.length > 0).toBe(true);
        },
      ),
      { numRuns: 1500 },
    ));

  const anything = fc.jsonValue({ maxDepth: 4 });
  it('is refused whatever stands in place of a value', () =>
    fc.assert(
      fc.property(
        fc.constantFrom('device', 'place', 'service', 'mqtt', 'loads', 'ties', 'budgetKw'),
        anything,
        (key, value) => {
          const read = parseConfig(JSON.stringify({ ...BASE, [key]: value }));
          if (read.ok) return;
          for (const mistake of read.mistakes) expect(mistake).toMatch(/^[^\n]{1,600}$/);
        },
      ),
      { numRuns: 800 },
    ));

  const hostile = [
    ['brackets without end', '['.repeat(200_000)],
    ['sections without end', 'a: '.repeat(80_000)],
    ['deep lists', `device: ${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['a bomb of aliases', `a: &a [1,1]\n${Array.from({ length: 20 }, (_, i) => `b${i}: &b${i} [*a,*a]`).join('\n')}`],
    ['a file of 300 KiB', `# ${'x'.repeat(300 * 1024)}`],
    ['keys without end', Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')],
  ] as const;
  it.each(hostile)('survives %s', (_, text) => expect(bad(text)).not.toEqual([]));

  it('reaches no prototype', () => {
    expect(bad(toYaml({ ['__proto__']: { polluted: 1 }, constructor: 1 }))).toHaveLength(2);
    expect({}).not.toHaveProperty('polluted');
  });
});
