/** Commands over MQTT: which are understood, which are refused and in what words. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MqttConfig } from '../../src/config/config.ts';
import type { LoadConfig } from '../../src/domain/load-types.ts';
import type { ClockReading } from '../../src/domain/ports.ts';
import { buildWeekTimes } from '../../src/domain/text-format.ts';
import { hours, type Instant, minutes, type Percentile, type Uptime } from '../../src/domain/units.ts';
import { type CommandVerdict, createCommandLimiter } from '../../src/mqtt/command-limiter.ts';
import { acceptsCommands, parseCommand, type RemoteCommand } from '../../src/mqtt/parse-command.ts';
import { createTestRandom } from '../faults/test-random.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const NOW: ClockReading = { wall: Date.UTC(2026, 2, 1, 12) as Instant, uptime: 0 as Uptime, trusted: true };
const relay = buildLoad({ kind: 'relay', pin: 17, activeLow: false });
const heatPump = buildLoad({ kind: 'sg-ready', pins: [17, 27], activeLow: true });
const consenting = { ...heatPump, forceBelow: 5 as Percentile };
const charger: LoadConfig = {
  ...relay,
  goal: { need: { kind: 'time', time: hours(4) }, by: [420, 420, 420, 420, 420, 420, 420], armedBy: 'command' },
};
const openEnded: LoadConfig = {
  ...relay,
  goal: { need: { kind: 'time', time: hours(4) }, by: buildWeekTimes(() => undefined), armedBy: 'command' },
};

const read = (text: string, at: LoadConfig = relay, now: ClockReading = NOW) =>
  parseCommand(Buffer.from(text), at, now);

describe('a command that is understood', () => {
  const override = (level: 'on' | 'off', time = hours(4)): RemoteCommand => ({ kind: 'override', level, for: time });
  const rows: readonly (readonly [string, LoadConfig, RemoteCommand])[] = [
    ['{"command":"override","level":"on"}', relay, override('on')],
    ['{"command":"override","level":"off","for":"2h"}', relay, override('off', hours(2))],
    ['{"command":"override","level":"on","for":"1h30m"}', relay, override('on', minutes(90))],
    ['{"command":"override","level":"on","for":"24h"}', relay, override('on', hours(24))],
    // The same grammar as the configuration and the flags.
    ['{"command":"override","level":"on","for":"1.5h"}', relay, override('on', minutes(90))],
    ['{"command":"override","level":"on","for":"1d"}', relay, override('on', hours(24))],
    ['{"command":"override","level":"on","for":"0.5d30m"}', relay, override('on', minutes(750))],
    ['{"command":"override","level":"auto"}', relay, { kind: 'clear' }],
    ['{"command":"clear"}', relay, { kind: 'clear' }],
    ['{"id":"a-1","time":"2026-03-01T12:00:30Z","command":"clear"}', relay, { kind: 'clear' }],
    ['{"id":7,"time":"2026-03-01T13:00:00+01:00","command":"clear"}', relay, { kind: 'clear' }],
    [
      '{"command":"override","level":"block","for":"30m"}',
      heatPump,
      { kind: 'override', level: 'block', for: minutes(30) },
    ],
    [
      '{"command":"override","level":"force","for":"30m"}',
      consenting,
      { kind: 'override', level: 'force', for: minutes(30) },
    ],
    ['{"command":"pause"}', relay, { kind: 'pause', paused: true }],
    ['{"command":"resume"}', relay, { kind: 'pause', paused: false }],
    ['{"command":"thresholds","onBelow":30}', relay, { kind: 'thresholds', thresholds: { onBelow: 30 as Percentile } }],
    [
      '{"command":"thresholds","onBelow":50,"offAbove":50}',
      relay,
      { kind: 'thresholds', thresholds: { onBelow: 50 as Percentile, offAbove: 50 as Percentile } },
    ],
    ['{"command":"thresholds"}', relay, { kind: 'thresholds', thresholds: {} }],
    ['{"command":"arm"}', charger, { kind: 'arm' }],
    [
      '{"command":"arm","by":"2026-03-02T07:00:00Z"}',
      openEnded,
      { kind: 'arm', by: Date.UTC(2026, 2, 2, 7) as Instant },
    ],
    ['{"command":"arm","need":"14.4kWh"}', charger, { kind: 'arm', need: hours(2) }],
    [
      '{"command":"arm","need":"3h","by":"2026-03-02T07:00:00Z"}',
      relay,
      { kind: 'arm', need: hours(3), by: Date.UTC(2026, 2, 2, 7) as Instant },
    ],
  ];
  it.each(rows)('%s', (text, at, command) => expect(read(text, at)).toMatchObject({ ok: true, command }));
});

describe('a command that is refused', () => {
  //  payload                                                    load      the sentence
  const rows: readonly (readonly [string, LoadConfig, RegExp])[] = [
    ['', relay, /not JSON/],
    ['on', relay, /not JSON/],
    ['\u0000\u0001', relay, /not JSON/],
    ['null', relay, /expected a JSON object/],
    ['[1]', relay, /expected a JSON object/],
    ['"override"', relay, /expected a JSON object/],
    ['{}', relay, /^command is missing: expected override, arm, clear, pause, resume or thresholds$/],
    ['{"command":"toggle"}', relay, /command "toggle": expected override, arm, clear, pause/],
    ['{"command":["override"],"level":"on"}', relay, /expected override, arm, clear/],
    ['{"command":"override"}', relay, /^level is missing: expected on, off or auto$/],
    ['{"command":"override","level":"ON"}', relay, /level "ON": expected on, off or auto/],
    ['{"command":"override","level":"block"}', relay, /level "block": expected on, off or auto/],
    [
      '{"command":"override","level":"force"}',
      heatPump,
      /level "force": expected on, off, block, normal, recommend or auto/,
    ],
    ['{"command":"override","level":true}', relay, /level true/],
    ['{"command":"override","level":"on","for":"25h"}', relay, /for "25h": .* up to 24h/],
    ['{"command":"override","level":"on","for":"-1h"}', relay, /for "-1h"/],
    ['{"command":"override","level":"on","for":"0s"}', relay, /for "0s"/],
    ['{"command":"override","level":"on","for":7200}', relay, /for 7200/],
    ['{"command":"override","level":"on","for":1e999}', relay, /for null/],
    ['{"command":"override","level":"on","for":"forever"}', relay, /for "forever"/],
    ['{"time":"2026-03-01T11:58:59Z","command":"clear"}', relay, /within 60 s of now; the command is too old/],
    ['{"time":"1970-01-01T00:00:00Z","command":"clear"}', relay, /too old/],
    ['{"time":"2026-03-01T12:01:01Z","command":"clear"}', relay, /from the future/],
    ['{"time":"2026-02-30T12:00:00Z","command":"clear"}', relay, /expected a time with its zone/],
    ['{"time":"2026-02-29T24:00:00Z","command":"clear"}', relay, /expected a time with its zone/],
    ['{"time":"2026-03-01T12:00:00","command":"clear"}', relay, /expected a time with its zone/],
    ['{"time":1772366400,"command":"clear"}', relay, /expected a time with its zone/],
    ['{"id":"","command":"clear"}', relay, /id: expected a text of 1 to 64/],
    ['{"id":{"a":1},"command":"clear"}', relay, /id: expected a text/],
    ['{"id":"a b","command":"clear"}', relay, /id: expected a text/],
    ['{"command":"clear","colour":"red"}', relay, /"colour": unknown key/],
    ['{"command":"clear","__proto__":{"level":"on"}}', relay, /"__proto__": unknown key/],
    ['{"command":"clear","constructor":{"prototype":{}}}', relay, /"constructor": unknown key/],
    ['{"command":"thresholds","onBelow":"30"}', relay, /onBelow "30": expected a number within 0 to 100/],
    ['{"command":"thresholds","offAbove":100.1}', relay, /offAbove 100.1: expected a number within 0 to 100/],
    ['{"command":"thresholds","onBelow":1e999}', relay, /onBelow null: expected a number/],
    ['{"command":"thresholds","onBelow":4}', consenting, /onBelow 4: expected a number within 5 to 100/],
    ['{"command":"thresholds","onBelow":50,"offAbove":40}', relay, /offAbove 40 is below onBelow 50/],
    ['{"command":"arm"}', relay, /no goal, so need and by are both required/],
    ['{"command":"arm"}', openEnded, /names no deadline, so by is required/],
    ['{"command":"arm","need":"30s"}', charger, /need "30s"/],
    ['{"command":"arm","need":"12kW"}', charger, /need "12kW": .* or an energy such as 12kWh/],
    ['{"command":"arm","need":"0kWh"}', charger, /need "0kWh": expected a length/],
    ['{"command":"arm","need":"99999kWh"}', charger, /need "99999kWh": .* up to 24h/],
    ['{"command":"arm","by":"2026-03-01T11:59:00Z"}', charger, /within the next 7 days/],
    ['{"command":"arm","by":"2027-03-01T11:59:00Z"}', charger, /within the next 7 days/],
    [`{"command":"clear","id":"${'x'.repeat(2_000)}"}`, relay, /bytes: a command has at most 1024/],
  ];
  it.each(rows)('%s', (text, at, sentence) => {
    const answer = read(text, at);
    expect(answer.ok).toBe(false);
    expect(answer.ok ? '' : answer.message).toMatch(sentence);
  });

  it('bytes that are no text', () =>
    expect(parseCommand(Buffer.from([0xff, 0xfe, 0x7b]), relay, NOW)).toMatchObject({ ok: false }));

  it('a timed one while the clock is not set', () =>
    expect(read('{"time":"2026-03-01T12:00:00Z","command":"clear"}', relay, { ...NOW, trusted: false }).ok).toBe(
      false,
    ));

  it('whatever bytes come, there is an answer and no surprise', () => {
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 1_100 }),
      fc.json({ maxDepth: 5 }).map((text) => Buffer.from(text)),
      fc
        .record(
          { id: fc.anything(), time: fc.anything(), command: fc.anything(), level: fc.anything(), for: fc.anything() },
          { requiredKeys: [] },
        )
        .map((value) => {
          try {
            return Buffer.from(JSON.stringify(value) ?? '');
          } catch {
            return Buffer.from('');
          }
        }),
    );
    fc.assert(
      fc.property(anything, (payload) => {
        const answer = parseCommand(payload, relay, NOW);
        if (answer.ok) expect(['override', 'arm', 'clear']).toContain(answer.command.kind);
        else expect(answer.message.length).toBeLessThan(400);
      }),
      { numRuns: 5_000 },
    );
  });

  it('row 45: of 100,000 damaged commands none is taken for what it does not say', () => {
    const random = createTestRandom('row 45, the reader');
    const draw = (below: number) => Math.floor(random.fraction() * below);
    const whole = [
      '{"id":"a-1","time":"2026-03-01T12:00:30Z","command":"override","level":"on","for":"2h"}',
      '{"command":"arm","need":"4h","by":"2026-03-02T07:00:00-08:00"}',
      '{"id":7,"command":"override","level":"block","for":"30m"}',
      '{"command":"clear"}',
    ].map((text) => Buffer.from(text));
    const PIECES = [
      '__proto__',
      '"constructor":{',
      '\\u0000',
      '[[[[[[',
      '1e999',
      '-0',
      '\u{1f600}',
      '"',
      '}',
      ',',
      '\u2028',
    ];
    const damaged = (bytes: Buffer): Buffer => {
      const at = draw(bytes.length + 1);
      const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
      switch (draw(5)) {
        case 0:
          return Buffer.concat([head, Buffer.from([draw(256)]), tail.subarray(1)]);
        case 1:
          return Buffer.concat([head, Buffer.from(PIECES[draw(PIECES.length)] ?? ''), tail]);
        case 2:
          return Buffer.concat([head, tail.subarray(1 + draw(6))]);
        case 3:
          return Buffer.concat([head, whole[draw(whole.length)] ?? head]);
        default:
          return head;
      }
    };
    let accepted = 0;
    for (let n = 0; n < 100_000; n += 1) {
      let payload: Buffer = whole[draw(whole.length)] ?? Buffer.alloc(0);
      for (let times = 1 + draw(3); times > 0; times -= 1) payload = damaged(payload);
      const answer = parseCommand(payload, heatPump, NOW);
      if (!answer.ok) continue;
      accepted += 1;
      // What is taken is whole JSON, and says so itself.
      const command = JSON.parse(payload.toString());
      expect(command.command).toBe(command.level === 'auto' ? 'override' : answer.command.kind);
      if (answer.command.kind === 'override') expect(answer.command.for).toBeLessThanOrEqual(hours(24));
    }
    console.log(`row 45: 100,000 damaged commands, ${accepted} of them still commands`);
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThan(20_000);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe('commands are taken', () => {
  //  commands  user name  broker                        taken
  const rows: readonly (readonly [MqttConfig['commands'], boolean, string, boolean])[] = [
    ['auto', false, 'mqtt://192.168.1.5', false],
    ['auto', false, 'mqtt://broker.lan', false],
    ['auto', false, 'mqtt://127.0.0.1:1883', true],
    ['auto', false, 'mqtt://localhost', true],
    ['auto', false, 'mqtt://[::1]:1883', true],
    ['auto', false, 'mqtt://127.0.0.1.example.org', false],
    ['auto', true, 'mqtts://broker.lan', true],
    ['off', true, 'mqtt://127.0.0.1', false],
    ['on', false, 'mqtt://broker.lan', true],
  ];
  it.each(rows)('%s, user name %s, %s: %s', (commands, named, url, accepted) => {
    const config = { url, commands, ...(named ? { usernameFile: '/etc/gridtide/user' } : {}) } as MqttConfig;
    expect(acceptsCommands(config)).toBe(accepted);
  });
});

describe('the gate before a load', () => {
  const message = (text: string, { retained = false, duplicate = false } = {}) => ({
    topic: 't',
    payload: Buffer.from(text),
    retained,
    duplicate,
  });
  const at = (seconds: number) => (seconds * 1_000) as Uptime;

  it('lets ten in at once and one more each six seconds', () => {
    const gate = createCommandLimiter<string>();
    const verdicts = (count: number, seconds: number): CommandVerdict[] =>
      Array.from({ length: count }, () => gate.classifyMessage(message('x'), at(seconds)));
    expect(verdicts(12, 0)).toEqual([...Array<CommandVerdict>(10).fill('in'), 'flood-begins', 'flood']);
    expect(verdicts(2, 5.9)).toEqual(['flood', 'flood']);
    expect(verdicts(2, 6)).toEqual(['in', 'flood-begins']);
    expect(verdicts(11, 600)).toEqual([...Array<CommandVerdict>(10).fill('in'), 'flood-begins']);
  });

  it('tells stored, repeated and empty ones apart', () => {
    const gate = createCommandLimiter<string>();
    expect(gate.classifyMessage(message('x', { retained: true }), at(0))).toBe('stored');
    expect(gate.classifyMessage(message('x', { duplicate: true }), at(0))).toBe('repeated');
    expect(gate.classifyMessage(message('', { retained: true }), at(0))).toBe('nothing');
  });

  it('remembers an id for ten minutes, and 64 of them', () => {
    const gate = createCommandLimiter<string>();
    gate.rememberAnswer('a', 'done', at(0));
    expect(gate.findAnswer('a', at(599))).toBe('done');
    expect(gate.findAnswer('a', at(600))).toBeUndefined();
    for (let id = 0; id < 64; id += 1) gate.rememberAnswer(`n${id}`, 'done', at(1));
    expect(gate.findAnswer('a', at(2))).toBeUndefined();
    expect(gate.findAnswer('n0', at(2))).toBe('done');
  });
});
