/** Writes THIRD_PARTY_NOTICES.txt: the licence of each package that the bundler has put into the build. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const LICENCE_FILE = /^(licen[cs]e|copying|notice)(\.(md|txt))?$/i;

/** The directories of the bundled packages, relative to `root`, by the files the bundler read. */
export function listBundledPackages(metafiles) {
  const files = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const found = files.map((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]);
  return [...new Set(found.filter((directory) => directory !== undefined))].sort();
}

async function readNotice(root, directory) {
  const { name, version, license, author } = JSON.parse(await readFile(join(root, directory, 'package.json'), 'utf8'));
  const names = (await readdir(join(root, directory))).filter((file) => LICENCE_FILE.test(file)).sort();
  const texts = await Promise.all(names.map((file) => readFile(join(root, directory, file), 'utf8')));
  // Some packages name their licence and ship no text of it.
  const holder = typeof author === 'string' ? author : (author?.name ?? 'its authors');
  const body =
    texts.length > 0 ? texts.map((text) => text.trim()).join('\n\n') : `Licensed under ${license} by ${holder}.`;
  return { directory, name, version, license: license ?? 'see below', body };
}

/** Throws for a package without a licence: the build must not ship it. */
export async function writeNotices(out, root, metafiles) {
  const notices = await Promise.all(listBundledPackages(metafiles).map((directory) => readNotice(root, directory)));
  const unlicensed = notices.filter(({ license }) => license === 'see below' || license === 'UNLICENSED');
  if (unlicensed.length > 0) throw new Error(`no licence: ${unlicensed.map(({ name }) => name).join(', ')}`);
  const parts = notices.map(({ name, version, license, body }) => `${name} ${version} (${license})\n\n${body}\n`);
  const rule = `\n${'-'.repeat(78)}\n\n`;
  const head = 'gridtide contains the following packages, under the licences below.\n';
  await writeFile(join(out, 'THIRD_PARTY_NOTICES.txt'), [head, ...parts].join(rule));
  return notices;
}
