import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog, type LogOptions } from '../../src/platform/log.ts';
import type { Instant } from '../../src/units.ts';
import { makeProgram } from '../doubles/program.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gridtide-log-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function written(use: (logging: Awaited<ReturnType<typeof createLog>>) => void, options?: Partial<LogOptions>) {
  const path = join(directory, 'log');
  const fd = openSync(path, 'w');
  use(await createLog({ level: 'info', fd, now: () => NOON, ...options }));
  closeSync(fd);
  return readFileSync(path, 'utf8');
}

describe('the log', () => {
  it('is one JSON line an event, for machines', async () => {
    const text = await written(({ log }) => log('warn', 'no forecast', { region: 'CAISO_NORTH' }));
    expect(JSON.parse(text)).toEqual({
      level: 'warn',
      time: '2026-03-01T12:00:00.000Z',
      region: 'CAISO_NORTH',
      msg: 'no forecast',
    });
  });

  it('writes from its level on', async () => {
    const text = await written(({ log }) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const) log(level, level);
    });
    expect(text.trim().split('\n').length).toBe(3);
  });

  it('a name with line breaks or terminal codes cannot fake a line', async () => {
    const nasty = 'car\n{"level":"error"}\u001b[2J\u2028\u0085';
    for (const interactive of [false, true]) {
      const text = await written(({ log }) => log('info', `load ${nasty}`, { load: nasty }), { interactive });
      expect(text.trimEnd().split('\n').length).toBe(1);
      expect(text).not.toContain('\u001b[2J');
    }
  });

  //  what                     event
  const canary = 'pa"ss/wörd-7731';
  const rows: readonly (readonly [string, string, Record<string, unknown>])[] = [
    ['in the message', `login with ${canary} failed`, {}],
    ['in a field', 'x', { url: `https://x/?p=${canary}` }],
    ['percent-encoded', 'x', { url: encodeURIComponent(canary) }],
    ['as basic authorisation', 'x', { header: `Basic ${Buffer.from(canary).toString('base64')}` }],
    ['deep in an error', 'x', { err: new Error(`bad ${canary}`) }],
  ];
  it.each(rows)('hides a secret it was told of: %s', async (_, message, fields) => {
    for (const interactive of [false, true]) {
      const text = await written(
        ({ log, conceal }) => {
          conceal(canary);
          log('info', message, fields);
        },
        { interactive },
      );
      expect(text).toContain('[hidden]');
      for (const form of ['7731', Buffer.from(canary).toString('base64').slice(0, 12)])
        expect(text).not.toContain(form);
    }
  });

  it('hides fields that are secret by name', async () => {
    const text = await written(({ log }) => log('info', 'x', { token: 'tok1', request: { authorization: 'tok2' } }));
    expect(text).not.toMatch(/tok[12]/);
  });

  it('goes on when nobody reads any more', async () => {
    const program = await makeProgram(join(import.meta.dirname, 'talker.ts'));
    const child = spawn(process.execPath, [program.path]);
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.stdout.once('data', () => {
      child.stdout.once('close', () => child.stdin.write('go'));
      child.stdout.destroy();
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    await program.remove();
    expect(errors).toBe('still here');
    expect(code).toBe(7);
  });
});
