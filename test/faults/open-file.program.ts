/** Run by the test of failing system calls as a process of its own: opens and reads a file that cannot be looked at, and tells what was said and how many descriptors are left. */

import { readdirSync } from 'node:fs';
import { createFileDisk } from '../../src/platform/file-disk.ts';

const [directory = '', name = ''] = process.argv.slice(2);
const disk = createFileDisk(directory);
const reason = (error: unknown) => (error as Error).message;
const countDescriptors = () => readdirSync('/proc/self/fd').length;

await disk.list();
const before = countDescriptors();
const results = [await disk.open(name).then(() => 'opened', reason), await disk.read(name).then(() => 'read', reason)];
console.log(JSON.stringify({ said: results, left: countDescriptors() - before }));
