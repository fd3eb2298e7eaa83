/** The names under which systemd hands over the files of the settings directory. */

import { basename, join, relative } from 'node:path';

/** The units hand over the whole directory under this id: systemd names each file by it and its path inside, with `_` for each `/`. */
const SETTINGS_ID = 'etc';
const SETTINGS_DIRECTORY = '/etc/gridtide';

/** The path inside `directory`; undefined when it lies elsewhere. */
function findPathInside(directory: string, path: string): string | undefined {
  const inside = relative(directory, path);
  return inside === '' || inside.startsWith('..') ? undefined : inside;
}

/** Where the owner keeps the file that a unit's configuration names beside itself, in the directory `credentials`. */
export function findOriginalPath(credentials: string, path: string): string {
  const inside = findPathInside(credentials, path);
  return inside === undefined ? path : join(SETTINGS_DIRECTORY, inside);
}

/** Every complete name that the file may have in the directory `credentials`: one of its own, or that of the settings. */
export function listCredentialNames(credentials: string, path: string): readonly string[] {
  const name = findPathInside(credentials, path);
  const inside = name ?? findPathInside(SETTINGS_DIRECTORY, path);
  const ofSettings = inside === undefined ? [] : [`${SETTINGS_ID}_${inside.replaceAll('/', '_')}`];
  return [name ?? basename(path), ...ofSettings];
}
