/** Run by the storage tests as a process of its own: writes numbers into a diary and says each acknowledged one, as JSON lines. */

import { createFileDisk } from '../../src/platform/file-disk.ts';
import { createNumberedWriter } from './numbered-writer.ts';

const [, , directory = '', limit = 'Infinity'] = process.argv;
const writer = createNumberedWriter(createFileDisk(directory));
const from = await writer.readLastNumber();
for (let n = from + 1; n <= from + Number(limit); n += 1) console.log(JSON.stringify(await writer.write(n)));
