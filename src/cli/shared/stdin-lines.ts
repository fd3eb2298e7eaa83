/** Reads stdin line by line, until it ends or the command is stopped. */

import { waitForAbort } from '../../domain/abortable-wait.ts';
import type { Terminal } from './command.ts';

/** Longer than any valid line. */
const MAX_LINE_LENGTH = 4_096;

/** The lines without line breaks; leaving the loop releases the input, so that a pending read does not keep the process alive. */
export async function* readStdinLines({
  input,
  stop,
}: Pick<Terminal, 'input' | 'stop'>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const chunks = input[Symbol.asyncIterator]();
  const stopped = waitForAbort(stop).then(() => 'stopped' as const);
  let partialLine = '';
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), stopped]);
      if (next === 'stopped') return;
      if (next.done === true) break;
      const lines = (partialLine + decoder.decode(next.value, { stream: true })).split('\n');
      partialLine = (lines.pop() ?? '').slice(0, MAX_LINE_LENGTH);
      yield* lines;
    }
    if (partialLine !== '') yield partialLine;
  } finally {
    // Not imported, because Node would then load its streams at each start of a command.
    if (input instanceof process.getBuiltinModule('node:stream').Readable) input.destroy();
  }
}
