/** `gridtide install-service`: makes gridtide a systemd service by the installation script that stands beside the program. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import { locateProgramFile } from '../shared/program-files.ts';

export const spec = {
  name: 'install-service',
  positionals: '',
  options: {
    'mqtt-only': { help: 'no load uses a GPIO line: the unit with fewer rights, without onoff' },
    page: { help: 'also installs and starts the page for browsers, on loopback; later runs keep it' },
    'volatile-journal': { help: "keeps the system's journal in memory, which spares the SD card" },
    root: { value: 'DIRECTORY', help: 'lays the files under DIRECTORY and touches nothing else (images, tests)' },
    uninstall: { help: 'removes the service; configuration, credentials and state stay' },
    purge: { help: 'with --uninstall: removes them too, and what the agent left at the broker' },
  },
  notes: [
    'Run it as root, after `npm install --global gridtide` and after each upgrade by npm: the service has a copy of its own, and the one',
    'before comes back when the new one does not start.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

/** The words of the script are those of this command. */
const listWords = (args: Arguments<Row>) =>
  (Object.keys(spec.options) as Row[]).flatMap((name) => {
    if (name !== 'root') return args.flag(name) ? [`--${name}`] : [];
    const directory = args.text(name);
    return directory === undefined ? [] : [`--${name}`, directory];
  });

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const script = locateProgramFile('../scripts/install');
  if (!existsSync(script))
    throw new JobError(
      `there is no ${script}, because this program is an installed one; run this command of the npm package ("$(npm prefix --global)"/bin/gridtide install-service), or upgrade the Debian package with apt`,
    );
  const child = spawn('bash', [script, ...listWords(args)], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.setEncoding('utf8').on('data', terminal.out);
  child.stderr.setEncoding('utf8').on('data', terminal.err);
  const [code] = (await once(child, 'close').catch((error: Error) => {
    throw new JobError(`bash does not start (${error.message}), and it runs the installation: install it`);
  })) as [number | null];
  return code ?? 1;
}
