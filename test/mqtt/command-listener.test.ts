/** Two messages of one command that arrive in the same moment, before the first has its answer. */

import { expect, it } from 'vitest';
import type { BrokerMessage, ClockReading } from '../../src/domain/ports.ts';
import type { Uptime } from '../../src/domain/units.ts';
import { createCommandLimiter } from '../../src/mqtt/command-limiter.ts';
import { createCommandListener } from '../../src/mqtt/command-listener.ts';
import { parseCommand } from '../../src/mqtt/parse-command.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const NOW = { wall: Date.UTC(2026, 2, 1), uptime: 0, trusted: true } as ClockReading;

it('are carried out once, and both are answered', async () => {
  const load = buildLoad({ kind: 'dry-run', as: 'relay' }, { name: 'car' });
  const commands: string[] = [];
  const answers: Record<string, unknown>[] = [];
  let onAnswered = () => {};
  const answered = new Promise<void>((resolve) => {
    onAnswered = resolve;
  });
  const listen = createCommandListener({
    ...{ load: 'car', limiter: createCommandLimiter<object>(), clock: { now: () => NOW }, log: () => {} },
    parse: (payload, now) => parseCommand(payload, load, now),
    publishAnswer(document) {
      answers.push({ ...document });
      if (answers.length === 2) onAnswered();
    },
    clearRetained() {},
    async onCommand({ kind }) {
      commands.push(kind);
      return { accepted: true, text: 'done' };
    },
  });
  const payload = Buffer.from('{"id":"a","command":"override","level":"on"}');
  const message: BrokerMessage = { topic: 'gridtide/cellar/loads/car/set', payload, retained: false, duplicate: false };
  listen(message, 0 as Uptime);
  listen(message, 0 as Uptime);
  await answered;
  expect(commands).toEqual(['override']);
  expect(answers.map(({ ok, duplicate }) => [ok, duplicate])).toEqual([
    [true, undefined],
    [true, true],
  ]);
});
