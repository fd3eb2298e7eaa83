/** In the machine: holds one line through the project's pins and does what its input says, one JSON answer a word. */

import { createInterface } from 'node:readline';
import { createOnoffLines } from '../../../src/platform/onoff-lines.ts';

const [, , line = '', level = '', user = '0'] = process.argv;
if (user !== '0') process.setuid?.(Number(user));

const printAnswer = (answer: unknown) => process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);

const pin = await createOnoffLines().open(Number(line), { initiallyHigh: level === 'high' });
if ('kind' in pin) {
  printAnswer(pin);
} else {
  printAnswer(await pin.read());
  for await (const word of createInterface({ input: process.stdin })) {
    if (word === 'end') break;
    if (word === 'read') printAnswer(await pin.read());
    if (word === 'high' || word === 'low') printAnswer(await pin.write(word === 'high'));
  }
  await pin.close();
}
