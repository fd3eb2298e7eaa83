/** A start that needs the region of its own place: nothing but the stored one, as inside the agent. */

import { createDisk } from '../../../src/platform/disk.ts';
import { homeRegion } from '../../../src/region/home.ts';
import { placeOf } from './points.ts';

const [state = '', longitude = '0', latitude = '0'] = process.argv.slice(2);
console.log((await homeRegion(createDisk(state), 'co2_moer', placeOf(Number(longitude), Number(latitude))))?.region);
