/** The settings of a house in the file of an export, where its owner asks for them: the configuration and the files that it names. */

import { access, chmod, copyFile, mkdir, rename } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import {
  type Arguments,
  explainReadError,
  explainWriteError,
  JobError,
  type Terminal,
  UsageError,
} from '../shared/command.ts';
import { findConfigFile, LOCAL_FILE } from '../shared/config-file.ts';
import { listConfiguredFiles, loadConfigWithPaths } from '../shared/load-configuration.ts';

/** Under this path a configuration of any name is in the archive. */
const CONFIG_PATH = LOCAL_FILE;

/** By the name in the archive the path from the directory of the configuration. */
export type SettingsPaths = Readonly<Record<string, string>>;

const isInside = (path: string) => path !== '' && !isAbsolute(path) && path.split('/').every((part) => part !== '..');

/** Copies them into a directory. A file that lies elsewhere or does not exist is named and left out. */
export async function copySettings(
  args: Arguments<'config' | 'state'>,
  terminal: Terminal,
  directory: string,
): Promise<SettingsPaths> {
  const file = resolve((await findConfigFile(args.text('config'), terminal)) ?? LOCAL_FILE);
  const config = await loadConfigWithPaths(file, terminal, {
    state: args.text('state'),
    allowsMissingCredentials: true,
  });
  const prices = config.tariff?.source.kind === 'file' ? [config.tariff.source.path] : [];
  const named = new Set([...listConfiguredFiles(config).map(({ path }) => path), ...prices]);
  const paths: Record<string, string> = {};
  const add = async (from: string, path: string) => {
    const name = `settings-${Object.keys(paths).length}`;
    await copyFile(from, join(directory, name));
    await chmod(join(directory, name), 0o600);
    paths[name] = path;
  };
  await add(file, CONFIG_PATH);
  for (const from of named) {
    const path = relative(dirname(file), from);
    if (!isInside(path)) terminal.err(`${from} lies outside of ${dirname(file)}: copy it yourself\n`);
    else
      await add(from, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT')
          throw new JobError(`${from}: ${explainReadError(error)}; run this as a user who may read it`);
        terminal.err(`${from} does not exist: the export lacks it\n`);
      });
  }
  return paths;
}

/** Where each file goes. Refuses before anything is written: a path that leads elsewhere, and without `--force` a file that exists. */
export async function planSettings(
  settings: SettingsPaths,
  args: Arguments<'config' | 'force'>,
  terminal: Terminal,
): Promise<ReadonlyMap<string, string>> {
  const file = resolve((await findConfigFile(args.text('config'), terminal)) ?? LOCAL_FILE);
  const targets = new Map<string, string>();
  for (const [name, path] of Object.entries(settings)) {
    if (!isInside(path))
      throw new JobError(
        `the archive names "${path}" as a file of the settings; expected one inside their directory: export it again`,
      );
    const target = path === CONFIG_PATH ? file : join(dirname(file), path);
    const isPresent = await access(target).then(
      () => true,
      () => false,
    );
    if (isPresent && !args.flag('force')) throw new JobError(`${target} exists; --force replaces it`);
    targets.set(name, target);
  }
  if (targets.size === 0)
    throw new UsageError('the archive holds no configuration: export it with --secrets, or import without --secrets');
  return targets;
}

/** Readable by their owner alone; the service gives its group what the group reads. */
export async function writeSettings(targets: ReadonlyMap<string, string>, directory: string): Promise<void> {
  for (const [name, target] of targets) {
    try {
      await mkdir(dirname(target), { recursive: true });
      await copyFile(join(directory, name), `${target}.new`);
      await chmod(`${target}.new`, 0o600);
      await rename(`${target}.new`, target);
    } catch (error) {
      throw new JobError(
        `${target} cannot be written: ${explainWriteError(error)}; name a configuration in a directory that this user may write with --config`,
      );
    }
  }
}
