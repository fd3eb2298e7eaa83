/** The Debian packages, as far as a quick test sees them: refused architectures, the flags of the code cache, and the list of parts. `scripts/package-test` installs them. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const PROJECT = join(import.meta.dirname, '..', '..');
const SCRIPTS = join(PROJECT, 'scripts', 'package.d');
const run = (...words: readonly string[]) =>
  spawnSync('bash', [join(PROJECT, 'scripts', 'package'), ...words], { encoding: 'utf8' });

describe('scripts/package', () => {
  it.each([
    ['armhf', 'armhf is not supported: Node has no 32-bit build for ARM any more'],
    ['riscv64', '"riscv64" is no architecture of a package: amd64 and arm64 are'],
  ])('refuses %s', (architecture, sentence) => {
    const { status, stderr } = run(architecture);
    expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  });

  it.each(['preinst', 'postinst', 'prerm', 'postrm', 'trial', 'npm-trial', 'guest-trial', 'trial-steps'])(
    '%s is a script of any shell',
    (name) => expect(spawnSync('sh', ['-n', join(SCRIPTS, name)]).status).toBe(0),
  );

  it('changes only paths of the units, in which the installation finds the flags of Node', () => {
    const units = readdirSync(join(PROJECT, 'systemd')).filter((name) => name.endsWith('.service'));
    const texts = units.map((name) => readFileSync(join(PROJECT, 'systemd', name), 'utf8'));
    const ofNode = texts.filter((text) => /^ExecStart=.*\bnode\b/m.test(text));
    expect(ofNode).toHaveLength(3);
    for (const text of ofNode) {
      expect(text).toMatch(
        /^ExecStart=\/usr\/bin\/env node --lite-mode .* \/usr\/local\/lib\/gridtide\/dist\/main\.js /m,
      );
    }
  });
});

describe('the list of parts', () => {
  //  licence              in the document
  it.each([
    ['MIT', [{ license: { id: 'MIT' } }]],
    ['(MIT OR Apache-2.0)', [{ expression: '(MIT OR Apache-2.0)' }]],
  ])('names a package under %s, with the checksum of the lock file in hexadecimal', async (license, licenses) => {
    const { buildComponent } = await import(join(PROJECT, 'scripts', 'sbom.mjs'));
    const part = buildComponent({ name: '@a/b', version: '1.0.0', license, integrity: 'sha512-AP8=' });
    const hashes = [{ alg: 'SHA-512', content: '00ff' }];
    expect(part).toMatchObject({ purl: 'pkg:npm/%40a/b@1.0.0', licenses, hashes });
  });
});
