/**
 * Copies onoff, and what it requires when it runs, into the directory of an installed program; everything else is in the bundle.
 * Copies nothing where onoff is not installed. Usage: lay-onoff.mjs DIRECTORY
 */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const target = join(process.argv[2], 'node_modules');
const laid = new Set();

/** Where Node finds a package that `from` requires; undefined: nowhere. */
const locate = (name, from) =>
  createRequire(join(from, 'package.json'))
    .resolve.paths(name)
    .map((directory) => join(directory, name))
    .find((directory) => existsSync(join(directory, 'package.json')));

function lay(name, source) {
  laid.add(name);
  mkdirSync(join(target, name), { recursive: true });
  for (const file of readdirSync(source))
    if (/^package\.json$|\.js$|^LICENSE/.test(file)) cpSync(join(source, file), join(target, name, file));
  const compiled = 'build/Release/epoll.node';
  if (existsSync(join(source, compiled))) cpSync(join(source, compiled), join(target, name, compiled));
  for (const dependency of Object.keys(
    JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')).dependencies ?? {},
  )) {
    // Headers for the compiler alone.
    if (dependency === 'nan' || laid.has(dependency)) continue;
    const found = locate(dependency, source);
    if (found === undefined)
      throw new Error(`${name} needs ${dependency}, which is not installed; install the packages again`);
    lay(dependency, realpathSync(found));
  }
}

const onoff = locate('onoff', resolve(import.meta.dirname, '..'));
if (onoff !== undefined) lay('onoff', realpathSync(onoff));
