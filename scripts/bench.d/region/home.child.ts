/** A start as the agent makes it, that asks for the region of its own place (`ask`) or does not: the difference is what the question costs. */

import { createFileDisk } from '../../../src/platform/file-disk.ts';
import { resolveHome } from '../../../src/region/home-region.ts';
import { placeOf } from './points.ts';

const [how, state = '', longitude = '0', latitude = '0'] = process.argv.slice(2);
const disk = createFileDisk(state);
await disk.read('none');
const place = placeOf(Number(longitude), Number(latitude));
console.log(how === 'ask' ? (await resolveHome(disk, 'co2_moer', place))?.region : 'not asked');
