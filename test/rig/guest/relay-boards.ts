/** In the machine: the agent's own outputs on four kinds of relay boards, opened for the first time and told a few levels. */

import { parseConfig } from '../../../src/config/parse-config.ts';
import { listOutputLines } from '../../../src/domain/levels.ts';
import type { Level, LoadConfig } from '../../../src/domain/load-types.ts';
import type { Instant } from '../../../src/domain/units.ts';
import { createOutput } from '../../../src/outputs/create-output.ts';
import { isOutputFailure } from '../../../src/outputs/output.ts';
import { createOnoffLines } from '../../../src/platform/onoff-lines.ts';
import { createVirtualClock } from '../../../src/simulation/virtual-clock.ts';
import { measureLine, playScene } from './scene.ts';

const [, , outside = ''] = process.argv;

const read = parseConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "https://signal.example", usernameFile: u, passwordFile: p}
loads:
  relay-high: {type: tank, powerKw: 3, output: {kind: relay, pin: 8}}
  relay-low: {type: tank, powerKw: 3, output: {kind: relay, pin: 9, activeLow: true}}
  sg-high: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [10, 11]}}
  sg-low: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [12, 13], activeLow: true}}
`);
if (!read.ok) throw new Error(read.mistakes.join('\n'));

const pins = createOnoffLines();
const parts = { pins, clock: createVirtualClock(0 as Instant), log: () => {} };

const LEVELS: Readonly<Record<string, readonly Level[]>> = {
  relay: ['on', 'off', 'on'],
  'sg-ready': ['recommend', 'block', 'force'],
};

async function playLoad(load: LoadConfig): Promise<void> {
  const wire = () => listOutputLines(load.output).map((line) => measureLine(outside, line));
  const output = createOutput(load, parts);
  await playScene(`${load.name} opens`, async () => {
    const found = await output.open();
    return { found, wire: wire() };
  });
  await playScene(`${load.name} switches`, async () => {
    const told: unknown[] = [];
    for (const level of LEVELS[load.output.kind] ?? []) {
      const failure = await output.apply(level);
      const back = await output.read();
      told.push([level, isOutputFailure(failure) ? failure.detail : 'done', back, wire()]);
    }
    await output.close();
    return { told };
  });
  await playScene(`${load.name} restarts`, async () => {
    const again = createOutput(load, parts);
    const found = await again.open();
    await again.close();
    return { found, wire: wire() };
  });
}

for (const load of read.config.loads) await playLoad(load);
