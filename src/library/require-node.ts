/** Refuses an old Node.js before anything else of the library is loaded. Throws `Error`. */

import { findOldNode } from '../domain/node-version.ts';

const mistake = findOldNode(process.versions.node);
if (mistake !== undefined) throw new Error(mistake);
