/** The profile of the reference service that the contract suite asks: vitest.config.ts runs the suite once with each. */

import { profileNames } from '../../src/reference/http/profile.ts';

const named = process.env.GRIDTIDE_PROFILE ?? 'specification';
const found = profileNames.find((name) => name === named);
if (found === undefined) throw new Error(`GRIDTIDE_PROFILE=${named}: expected ${profileNames.join(' or ')}`);

export const PROFILE = found;
export const isPublished = PROFILE === 'published';
/** A time as the profile writes it. */
export const inZone = (time: string) => (isPublished ? time.replace('+00:00', 'Z') : time);
