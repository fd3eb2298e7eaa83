import { spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Instant } from '../../src/domain/units.ts';
import { isJournal } from '../../src/platform/journal.ts';
import { createLogging, type LogOptions } from '../../src/platform/pino-log.ts';
import { bundleProgram } from '../doubles/bundle-program.ts';
import { afterTest } from '../doubles/stop-after-test.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gridtide-log-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function written(
  use: (logging: Awaited<ReturnType<typeof createLogging>>) => void,
  options?: Partial<LogOptions>,
) {
  const path = join(directory, 'log');
  const fd = openSync(path, 'w');
  use(await createLogging({ level: 'info', fd, now: () => NOON, ...options }));
  closeSync(fd);
  return readFileSync(path, 'utf8');
}

describe('the log', () => {
  it('is a sentence with its priority for the journal, with the secrets hidden', async () => {
    const text = await written(
      ({ log, hideSecret }) => {
        hideSecret('canary-4711');
        log('info', 'car on: clean', { load: 'car' });
        log('warn', 'no forecast\nof canary-4711');
        log('error', 'it ends', { err: Object.assign(new Error('x'), { stack: 'Error: x\n    at y' }) });
      },
      { isJournal: true },
    );
    expect(text).toBe('<6>car on: clean\n<4>no forecast of [hidden]\n<3>it ends\n<3>Error: x\n<3>    at y\n');
  });
  it.each(['"quoted-4711', 'slashed-4711\\', '\\begun-4711', 'n    at y-4711'])(
    'is still written to the journal when the secret %j is hidden in it',
    async (secret) => {
      const text = await written(
        ({ log, hideSecret }) => {
          hideSecret(secret);
          log('error', `of ${secret}`, {
            err: Object.assign(new Error('x'), { stack: `Error: ${secret}\n    at y-4711` }),
          });
        },
        { isJournal: true },
      );
      expect(text).toMatch(/^<3>.*of \[hidden\]/);
    },
  );
  it('takes a stream for the journal only when it is the one that systemd names', () => {
    const { dev, ino } = fstatSync(1);
    const [own, other] = [{ JOURNAL_STREAM: `${dev}:${ino}` }, { JOURNAL_STREAM: `${dev}:${ino + 1}` }];
    expect([isJournal(1, own), isJournal(1, other), isJournal(1, {}), isJournal(999, own)]).toEqual([
      ...[true, false, false, false],
    ]);
  });
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
        ({ log, hideSecret: conceal }) => {
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

  //  a secret that is no more than a word, a number, or short
  it.each(['heating', 'mosquitto', '1883', 'on', 'a1-b2'])(
    'does not show the secret %j by hiding it in honest words',
    async (word) => {
      const message = `the ${word} is ${word}, as mqtt://house:${word}@broker`;
      const header = `Basic ${Buffer.from(`house:${word}`).toString('base64')}`;
      const text = await written(({ log, hideSecret: conceal }) => {
        conceal(word);
        log('info', message, { header });
      });
      expect(text).toContain(`the ${word} is ${word}, as mqtt://house[hidden]broker`);
    },
  );

  it('hides fields that are secret by name', async () => {
    const text = await written(({ log }) => log('info', 'x', { token: 'tok1', request: { authorization: 'tok2' } }));
    expect(text).not.toMatch(/tok[12]/);
  });

  async function talker() {
    const program = await bundleProgram(join(import.meta.dirname, 'log-flood.program.ts'));
    const child = spawn(process.execPath, ['--expose-gc', program.path]);
    const code = new Promise((resolve) => child.once('close', resolve));
    afterTest(async () => {
      child.kill('SIGKILL');
      await code;
      await program.remove();
    });
    const errors = createInterface(child.stderr)[Symbol.asyncIterator]();
    return { child, code, nextError: async () => (await errors.next()).value };
  }

  it('goes on when nobody reads any more', async () => {
    const { child, code, nextError } = await talker();
    expect(await nextError()).toBe('ready');
    child.stdout.destroy();
    child.stdin.write('go');
    expect(await nextError()).toMatch(/still here/);
    child.stdin.write('go');
    expect(await code).toBe(7);
  });

  it('goes on within its memory while nobody reads, and says how much was lost when somebody does', async () => {
    const { child, code, nextError } = await talker();
    expect(await nextError()).toBe('ready');
    child.stdin.write('go');
    const [, , storedBytes] = `${await nextError()}`.split(' ');
    console.log(`100,000 lines nobody read: ${storedBytes} bytes held`);
    expect(Number(storedBytes)).toBeLessThan(5e6);

    const lineNumbers: number[] = [];
    let lost = 0;
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    while (lost === 0) {
      const { n, msg } = JSON.parse((await lines.next()).value ?? '{"n":-1,"msg":"closed"}');
      expect(n).not.toBe(-1);
      if (n === undefined) lost = Number(/^(\d+) lines of the log lost: /.exec(msg)?.[1]);
      else lineNumbers.push(n);
    }
    expect(lost).toBeGreaterThan(50_000);
    expect(lost + lineNumbers.length).toBe(100_000);
    expect(lineNumbers).toEqual(lineNumbers.toSorted((a, b) => a - b));
    // The newest are those that were kept.
    expect(lineNumbers.at(-1)).toBe(99_999);
    child.stdin.write('go');
    expect(JSON.parse((await lines.next()).value ?? '{}').msg).toBe('the last word');
    expect(await code).toBe(7);
  });
});
