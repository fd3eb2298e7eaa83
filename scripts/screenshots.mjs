/** Takes the pictures of docs/images from a day of the demo: node scripts/screenshots.mjs (after npm run build; needs chromium). */

import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const ROOT = join(import.meta.dirname, '..');
const IMAGES = join(ROOT, 'docs', 'images');
const VIEWS = [
  { name: 'page-1440', viewport: { width: 1440, height: 1010 }, colorScheme: 'light' },
  { name: 'page-360', viewport: { width: 360, height: 1180 }, colorScheme: 'dark' },
];

const args = ['demo', '--page', '--listen', '127.0.0.1:0', '--hours', '7.5', '--speed', '20000'];
const demo = spawn(process.execPath, [join(ROOT, 'dist', 'main.js'), ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
try {
  let url = '';
  for await (const line of createInterface({ input: demo.stderr })) {
    url = /^page: (\S+)/.exec(line)?.[1] ?? url;
    if (line.startsWith('the day is over')) break;
  }
  await mkdir(IMAGES, { recursive: true });
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  for (const { name, ...view } of VIEWS) {
    const page = await browser.newPage(view);
    await page.goto(url);
    await page.locator('#chart canvas').waitFor();
    await page.locator('.load').first().waitFor();
    await page.evaluate(() => new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(resume))));
    await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  }
  await browser.close();
} finally {
  demo.kill('SIGTERM');
}
