/** In the machine: plays the scenes of the pins test and says what a meter on the wire would have seen. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { startLineHolder } from './line-holder.ts';
import { measureLine as measuredAt, playScene } from './scene.ts';

const [, , outside = '', base = ''] = process.argv;
const GPIO = '/sys/class/gpio';

const measured = (line: number) => measuredAt(outside, line);
const gpioFile = (line: number, name: string) => `${GPIO}/gpio${Number(base) + line}/${name}`;

await playScene('first level', async () => {
  const lines = [
    [17, 'low'],
    [18, 'high'],
  ] as const;
  const found: unknown[] = [];
  for (const [line, level] of lines) {
    const holder = await startLineHolder(line, level);
    found.push(holder.first, measured(line));
    await holder.end();
  }
  return { found };
});

await playScene('switched', async () => {
  const holder = await startLineHolder(17, 'low');
  const answers = [];
  // Changes and repeats.
  const words = Array.from({ length: 40 }, (_, n) => ((n * 7) % 5 < 2 ? 'high' : 'low'));
  for (const word of words) answers.push(await holder.ask(word), measured(17));
  await holder.end();
  return { words, answers };
});

await playScene('restart', async () => {
  const first = await startLineHolder(17, 'low');
  await first.ask('high');
  await first.end();
  return { after: measured(17) };
});

await playScene('restarted', async () => {
  const again = await startLineHolder(17, 'low'); // would rather have it low, but it runs
  const before = measured(17);
  await again.end();
  return { first: again.first, before, after: measured(17) };
});

await playScene('killed', async () => {
  const holder = await startLineHolder(17, 'low');
  await holder.end('SIGKILL');
  const after = measured(17);
  const again = await startLineHolder(17, 'low');
  await again.end();
  return { after, again: again.first };
});

await playScene('meddled with', async () => {
  const holder = await startLineHolder(18, 'high');
  writeFileSync(gpioFile(18, 'direction'), 'in');
  const said = await holder.ask('high');
  const direction = readFileSync(gpioFile(18, 'direction'), 'utf8').trim();
  await holder.end();
  return { said, direction, after: measured(18) };
});

await playScene('inverted', async () => {
  writeFileSync(gpioFile(18, 'active_low'), '1');
  const holder = await startLineHolder(18, 'low');
  const before = measured(18);
  const said = await holder.ask('low');
  await holder.end();
  return { first: holder.first, before, said, after: measured(18) };
});

await playScene('refused', async () => {
  mkdirSync('/tmp/bare');
  for (const name of readdirSync('/app').filter((one) => one.endsWith('.mjs')))
    copyFileSync(`/app/${name}`, `/tmp/bare/${name}`);
  const bare = await startLineHolder(21, 'low', { directory: '/tmp/bare' });
  const busy = await startLineHolder(7, 'low');
  const missing = await startLineHolder(60, 'low');
  const forbidden = await startLineHolder(20, 'low', { user: 1000 });
  const notOurs = await startLineHolder(17, 'low', { user: 1000 });
  return {
    bare: bare.first,
    busy: busy.first,
    missing: missing.first,
    forbidden: forbidden.first,
    notOurs: notOurs.first,
  };
});
