/** The agent at a terminal, as its owner tries it first: the built program on a real pseudo-terminal. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProcess } from '../doubles/running-process.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js');

const hasScript = spawnSync('script', ['--version']).status === 0;
if (!hasScript) {
  if (process.env.CI === 'true') throw new Error('script must be there in CI: apt install bsdutils');
  console.warn('\n  SKIPPED: the agent at a terminal; there is no "script"\n');
}

describe.skipIf(!hasScript)('at a terminal', () => {
  it('the agent tells people what it does, in lines with colours', async () => {
    if (!existsSync(MAIN)) throw new Error('dist/main.js is missing: npm run build');
    const directory = mkdtempSync(join(tmpdir(), 'gridtide-terminal-'));
    afterTest(async () => rmSync(directory, { recursive: true }));
    const config = join(directory, 'gridtide.yaml');
    writeFileSync(
      config,
      `
device: cellar
state: ${directory}/state
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9", usernameFile: ${directory}/none, passwordFile: ${directory}/none}
loads: {water: {type: tank, powerKw: 2, output: {kind: dry-run}}}
`,
    );
    const agent = stopAfterTest(
      startProcess('script', ['-qec', `'${process.execPath}' '${MAIN}' run --config '${config}'`, '/dev/null']),
    );
    const line = await agent.waitForLine(/runs 1 load/);
    expect(line).toContain('\u001b[32mINFO\u001b[39m: ');
    expect(await agent.waitForLine(/dry run: "water"/)).toContain('INFO');
    // `script` ends the agent before itself; killed, it would leave one that still writes its state into the directory.
    await agent.terminate();
  });
});
