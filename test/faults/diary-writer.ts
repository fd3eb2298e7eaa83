/** Run by the storage tests as a process of its own: writes numbers into a diary and says each acknowledged one, as JSON lines. */

import { createDisk } from '../../src/platform/disk.ts';
import { openDiary } from './diary.ts';

const [, , directory = '', limit = 'Infinity'] = process.argv;
const diary = openDiary(createDisk(directory));
const from = await diary.resume();
for (let n = from + 1; n <= from + Number(limit); n += 1) console.log(JSON.stringify(await diary.write(n)));
