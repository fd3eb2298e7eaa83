/** Property tests draw from GRIDTIDE_SEED where it is given, so that a red run says something of the change and not of its luck. */

import fc from 'fast-check';

const seed = Number(process.env.GRIDTIDE_SEED);
if (Number.isSafeInteger(seed) && seed > 0) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
