/** In the machine: holds one line through an interface of the project and does what its input says, one JSON answer a word. */

import { createInterface } from 'node:readline';
import { createGpio, type GpioInterface } from '../../../src/platform/gpio-interface.ts';

const [, , line = '', level = '', user = '0', chosen = 'onoff'] = process.argv;
if (user !== '0') process.setuid?.(Number(user));

const printAnswer = (answer: unknown) => process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);

const { pins, failsafe } = createGpio(chosen as GpioInterface, `/tmp/lines-${user}/socket`);
const pin = await pins.open(Number(line), { initiallyHigh: level === 'high' });
if ('kind' in pin) {
  printAnswer(pin);
} else {
  printAnswer(await pin.read());
  for await (const word of createInterface({ input: process.stdin })) {
    if (word === 'end') break;
    if (word === 'read') printAnswer(await pin.read());
    if (word === 'safe low') printAnswer(await failsafe?.save([{ line: Number(line), high: false }]));
    if (word === 'high' || word === 'low') printAnswer(await pin.write(word === 'high'));
  }
  await pin.close();
}
