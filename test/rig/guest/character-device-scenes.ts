/** In the machine: plays the scenes of the character device, without /sys/class/gpio, on lines that no other scene has touched. */

import { writeFileSync } from 'node:fs';
import { parseConfig } from '../../../src/config/parse-config.ts';
import { createOutput } from '../../../src/outputs/create-output.ts';
import { isOutputFailure } from '../../../src/outputs/output.ts';
import { createGpio } from '../../../src/platform/gpio-interface.ts';
import { createSystemClock } from '../../../src/platform/system-clock.ts';
import { startLineHolder } from './line-holder.ts';
import { measureLine, playScene } from './scene.ts';

const [, , outside = ''] = process.argv;
const measured = (line: number) => measureLine(outside, line);
const connect = (line: number, level: 'up' | 'down') =>
  writeFileSync(`${outside}/sim_gpio${line}/pull`, `pull-${level}`);
const chosen = 'character-device';
const mark = (text: string) => writeFileSync('/sys/kernel/tracing/trace_marker', `${text}\n`);

/** Until the wire is at `level`, which the kernel's trace then dates. */
async function awaitWire(line: number, level: string): Promise<void> {
  for (let n = 0; n < 500 && measured(line) !== level; n++) await new Promise((resume) => setTimeout(resume, 20));
}

await playScene('character-device first level', async () => {
  const low = await startLineHolder(22, 'low', { chosen });
  const high = await startLineHolder(23, 'high', { chosen });
  const found = [low.first, measured(22), high.first, measured(23)];
  await high.end();
  await low.ask('high');
  await low.end();
  return { found };
});

await playScene('character-device restarted', async () => {
  const again = await startLineHolder(22, 'low', { chosen });
  await again.end('SIGKILL');
  const third = await startLineHolder(22, 'low', { chosen });
  await third.ask('safe low');
  const wire = measured(22);
  await third.end();
  await awaitWire(22, '0');
  return { first: again.first, second: third.first, wire };
});

await playScene('character-device killed', async () => {
  const holder = await startLineHolder(23, 'low', { chosen });
  await holder.ask('safe low');
  const before = measured(23);
  mark('character-device kill');
  await holder.end('SIGKILL');
  await awaitWire(23, '0');
  return { before, after: measured(23) };
});

await playScene('character-device refused', async () => {
  const refuse = async (line: number, user = 0) => (await startLineHolder(line, 'low', { chosen, user })).first;
  return { busy: await refuse(7), missing: await refuse(60), forbidden: await refuse(26, 1000) };
});

const read = parseConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "https://signal.example", usernameFile: u, passwordFile: p}
loads:
  water: {type: tank, powerKw: 3, output: {kind: relay, pin: 27, feedback: {pin: 24}, button: {pin: 25}}}
`);
if (!read.ok) throw new Error(read.mistakes.join('\n'));
const [water] = read.config.loads;
if (water === undefined) throw new Error('no load');

await playScene('character-device contact', async () => {
  // Waiting for a press keeps no process alive.
  const alive = setInterval(() => {}, 60_000);
  const clock = createSystemClock();
  const output = createOutput(water, { ...createGpio(chosen, '/tmp/lines-0/socket'), clock, log: () => {} });
  const presses: string[] = [];
  const pressed = new Promise<void>((resolve) => {
    output.watchDevice?.({
      onButton: (level) => {
        presses.push(level);
        resolve();
      },
      onStatus() {},
      onPress() {},
      onMeter() {},
    });
  });
  const found = await output.open();
  connect(24, 'down'); // the contact closes
  const on = await output.apply('on');
  const begun = performance.now();
  const welded = await output.apply('off');
  const seconds = (performance.now() - begun) / 1000;
  const level = await output.read();
  const again = await output.apply('on');
  const wire = measured(27);
  connect(25, 'down');
  await Promise.race([pressed, new Promise((resume) => setTimeout(resume, 2_000))]);
  await output.close();
  clearInterval(alive);
  return {
    ...{ found, on: on ?? null, seconds, level, wire, presses },
    welded: isOutputFailure(welded) && welded.detail,
    again: isOutputFailure(again) && again.kind,
  };
});
