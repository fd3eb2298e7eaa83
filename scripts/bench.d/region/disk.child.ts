/** What an agent has loaded before it asks for its region: the same without the question. */

import { createDisk } from '../../../src/platform/disk.ts';

console.log((await createDisk(process.argv[2] ?? '').read('none')) === undefined);
