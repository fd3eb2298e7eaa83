/** In the machine: holds one line through the project's pins and does what its input says, one JSON answer a word. */

import { createInterface } from 'node:readline';
import { createPins } from '../../../src/platform/pins.ts';

const [, , line = '', level = '', user = '0'] = process.argv;
if (user !== '0') process.setuid?.(Number(user));

const say = (answer: unknown) => process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);

const pin = await createPins().open(Number(line), { initiallyHigh: level === 'high' });
if ('kind' in pin) {
  say(pin);
} else {
  say(await pin.read());
  for await (const word of createInterface({ input: process.stdin })) {
    if (word === 'end') break;
    if (word === 'read') say(await pin.read());
    if (word === 'high' || word === 'low') say(await pin.write(word === 'high'));
  }
  await pin.close();
}
