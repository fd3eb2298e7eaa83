/**
 * A JavaScript project tests its own client against `gridtide reference`; run: node --test signal.test.mjs
 * GRIDTIDE names the command, `gridtide` in the PATH when it is not set, where `npm test` has it; npx would not pass SIGTERM on.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const [program, ...words] = (process.env.GRIDTIDE ?? 'gridtide').split(' ');
const [USER, PASSWORD] = ['tester', 'pass-word1'];

/** The service in a process of its own: its first line is the address, SIGTERM ends it with exit code 0. */
async function startReference(...options) {
  const argv = ['reference', '--now', '2026-06-10T12:00:30Z', '--account', `${USER}:${PASSWORD}:pro`, ...options];
  const child = spawn(program, [...words, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  return {
    url: JSON.parse(line).listening,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      return code;
    },
  };
}

/** The code under test: your own client stands here. */
async function readIndex(url, region) {
  const basic = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
  const login = await fetch(`${url}/login`, { headers: { authorization: `Basic ${basic}` } });
  const { token } = await login.json();
  const answer = await fetch(`${url}/v3/signal-index?region=${region}&signal_type=co2_moer`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!answer.ok) return { problem: answer.status };
  const { data, meta } = await answer.json();
  return meta.units === 'percentile' ? { percentile: data[0].value } : { problem: meta.units };
}

test('the index is a percentile', async () => {
  const reference = await startReference();
  const { percentile } = await readIndex(reference.url, 'CAISO_NORTH');
  assert.ok(percentile >= 0 && percentile <= 100);
  assert.equal(await reference.stop(), 0);
});

test('a rate in its place is refused', async () => {
  const reference = await startReference('--faults', 'wrong-units');
  assert.deepEqual(await readIndex(reference.url, 'CAISO_NORTH'), { problem: 'kg_co2_per_mwh' });
  await reference.stop();
});

test('both profiles are understood', async () => {
  for (const profile of ['specification', 'published']) {
    const reference = await startReference('--profile', profile);
    assert.ok('percentile' in (await readIndex(reference.url, 'PSCO')));
    await reference.stop();
  }
});

test('wrong use ends with exit code 2', async () => {
  const child = spawn(program, [...words, 'reference', '--faults', fileURLToPath(import.meta.url)], {
    stdio: 'ignore',
  });
  assert.deepEqual(await once(child, 'exit'), [2, null]);
});
