import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { Level, LoadConfig, OutputConfig } from '../../src/domain/load-types.ts';
import { buildFailsafeLines } from '../../src/outputs/failsafe-lines.ts';
import { createSgReadyOutput } from '../../src/outputs/sg-ready-output.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';

const read = parseConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "https://signal.example", usernameFile: u, passwordFile: p}
loads: {car: {type: generic, powerKw: 7.2, output: {kind: dry-run}}}
`);
if (!read.ok) throw new Error(read.mistakes.join('\n'));
const [template] = read.config.loads;

const load = (output: OutputConfig, failSafe: Level, shadow = false): LoadConfig => {
  if (template === undefined) throw new Error('the template has a load');
  return { ...template, output, failSafe, observeOnly: shadow };
};

describe('safe levels of the lines', () => {
  const relay = (activeLow: boolean): OutputConfig => ({ kind: 'relay', pin: 17, activeLow });
  const heatPump = (activeLow: boolean): OutputConfig => ({ kind: 'sg-ready', pins: [5, 6], activeLow });
  //  board              safe         lines, in their order
  const rows: readonly (readonly [OutputConfig, Level, string])[] = [
    [relay(false), 'off', '17 low'],
    [relay(false), 'on', '17 high'],
    [relay(true), 'off', '17 high'],
    [relay(true), 'on', '17 low'],
    [heatPump(false), 'normal', '5 low, 6 low'],
    [heatPump(true), 'normal', '5 high, 6 high'],
    [heatPump(false), 'recommend', '5 low, 6 high'],
    [heatPump(true), 'recommend', '5 high, 6 low'],
    [heatPump(false), 'block', '6 low, 5 high'],
    [heatPump(true), 'force', '6 low, 5 low'],
    [{ kind: 'dry-run', as: 'relay' }, 'on', ''],
  ];
  it.each(rows)('%j at %s: %s', (output, failSafe, wanted) => {
    const lines = buildFailsafeLines([load(output, failSafe)]);
    expect(lines.map(({ line, high }) => `${line} ${high ? 'high' : 'low'}`).join(', ')).toBe(wanted);
  });

  it('leaves loads in shadow alone', () => {
    expect(buildFailsafeLines([load(relay(false), 'on', true)])).toEqual([]);
  });

  it.each(['block', 'normal', 'recommend', 'force'] as const)(
    'from any state to %s, no state is passed that is worse than both',
    async (safe) => {
      const order = ['block', 'normal', 'recommend', 'force'] as const;
      for (const from of order) {
        const levels = new Map<number, boolean>();
        const output = heatPump(false);
        if (output.kind !== 'sg-ready' || 'switches' in output) throw new Error('a heat pump');
        const sg = createSgReadyOutput({
          load: 'heating',
          config: output,
          pins: createSimulatedLines((line, high) => levels.set(line, high)),
        });
        await sg.open();
        await sg.apply(from);
        const passed: number[] = [];
        for (const { line, high } of buildFailsafeLines([load(output, safe)])) {
          levels.set(line, high);
          const at = { ff: 1, tf: 0, ft: 2, tt: 3 }[`${levels.get(5) ? 't' : 'f'}${levels.get(6) ? 't' : 'f'}`];
          passed.push(at ?? -1);
        }
        const [low, high] = [order.indexOf(from), order.indexOf(safe)].sort((a, b) => a - b);
        expect(passed.at(-1), `${from} to ${safe}`).toBe(order.indexOf(safe));
        // Force and block differ in one contact: between those two the way is direct.
        for (const state of passed)
          expect(state >= (low ?? 0) && state <= (high ?? 3), `${from} to ${safe}`).toBe(true);
      }
    },
  );
});
