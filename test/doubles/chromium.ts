/** Debian's Chromium through playwright-core; where it is not installed its tests are skipped loudly, in CI they fail. */

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { describe, it } from 'vitest';

const CHROMIUM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = CHROMIUM_PATHS.find((path) => existsSync(path));

/** `describe` for tests that need a browser. */
export function describeWithChromium(name: string, body: () => void): void {
  if (executablePath !== undefined) return void describe(name, body);
  if (process.env.CI === 'true')
    return void describe(name, () =>
      it('has chromium', () => {
        throw new Error('chromium is not installed and these tests must run in CI: apt install chromium');
      }),
    );
  console.warn(`\n*** SKIPPED: ${name}: chromium is not installed (apt install chromium) ***\n`);
  describe.skip(name, body);
}

export function launchChromium(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('chromium is not installed');
  // A browser of the superuser has no sandbox; it sees loopback alone.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}
