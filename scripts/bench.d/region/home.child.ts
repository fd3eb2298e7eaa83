/** A start as the agent makes it, that asks for the region of its own place (`ask`) or does not: the difference is what the question costs. */

import { createDisk } from '../../../src/platform/disk.ts';
import { homeRegion } from '../../../src/region/home.ts';
import { placeOf } from './points.ts';

const [how, state = '', longitude = '0', latitude = '0'] = process.argv.slice(2);
const disk = createDisk(state);
await disk.read('none');
const place = placeOf(Number(longitude), Number(latitude));
console.log(how === 'ask' ? (await homeRegion(disk, 'co2_moer', place))?.region : 'not asked');
