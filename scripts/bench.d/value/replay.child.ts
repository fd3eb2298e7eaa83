/** Replays the rolling plan over recorded months and prints what its parent, the bench, asked for: built also of other sources than the present ones. */

import { readRecord, replay } from './replay.ts';

const record = await readRecord(process.argv.slice(2));
const { results, seconds } = replay(record, 'plan-rolling');
console.log(JSON.stringify({ results, seconds }));
