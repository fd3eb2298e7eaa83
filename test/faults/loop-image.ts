/** A small ext4 file system in a file, whose power can be cut: what was not synced is gone, and the journal is replayed. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** EXT4_IOC_SHUTDOWN with "do not flush the log": the disk hears nothing more, as when the plug is pulled. */
const CUT_POWER_SCRIPT =
  'open(my $d, "<", $ARGV[0]) or die; my $how = pack("L", 2); ioctl($d, 0x8004587d, $how) or die "no cut: $!"';

function runProgram(program: string, ...options: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, options, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${options.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

export interface LoopImage {
  /** Where it is mounted; its `state` is the directory to write in. */
  readonly directory: string;
  mount(): Promise<void>;
  unmount(): void;
  remount(options: 'ro' | 'rw'): void;
  cutPower(): void;
  /** Bytes that have reached the device since it was mounted. */
  bytesWritten(): number;
  remove(): Promise<void>;
}

/** Whether such an image can be used here: the superuser, ext4 and a loop device are wanted. */
export async function canMountImages(): Promise<boolean> {
  try {
    const image = await createLoopImage(8);
    await image.mount();
    await image.remove();
    return true;
  } catch (error) {
    if (process.env.CI === 'true' && process.getuid?.() === 0) throw error;
    console.warn(
      `\n  SKIPPED: tests on a file system of their own; they want root, ext4 and a loop device (${error})\n`,
    );
    return false;
  }
}

export async function createLoopImage(megabytes: number): Promise<LoopImage> {
  const base = await mkdtemp(join(tmpdir(), 'gridtide-image-'));
  const image = join(base, 'image');
  const mountPoint = join(base, 'mount-point');
  const directory = join(mountPoint, 'state');
  await mkdir(mountPoint);
  await writeFile(image, '');
  await truncate(image, megabytes * 1024 * 1024);
  runProgram('/usr/sbin/mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image);

  let isMounted = false;
  let before = 0;
  const readBytesWritten = () => {
    const device = runProgram('findmnt', '-n', '-o', 'SOURCE', mountPoint).trim().replace('/dev/', '');
    // Seventh figure: sectors of 512 bytes written.
    return Number(readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/)[6]) * 512;
  };
  const unmount = () => {
    if (!isMounted) return;
    // Without power it fails: then there is nothing to write either.
    spawnSync('sync', ['-f', mountPoint]);
    runProgram('umount', mountPoint);
    isMounted = false;
  };
  /**
   * A process anywhere that got a mount namespace of its own meanwhile keeps the mount, without power, until it ends: mounted again,
   * the file would come back as that file system. A copy does not.
   */
  const renewImage = async (): Promise<void> => {
    if (runProgram('losetup', '-j', image) === '') return;
    const copy = `${image}.new`;
    runProgram('cp', '--sparse=always', image, copy);
    await rename(copy, image);
  };
  return {
    directory,
    async mount() {
      await renewImage();
      runProgram('mount', '-o', 'loop', image, mountPoint);
      isMounted = true;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      runProgram('sync', '-f', mountPoint);
      before = readBytesWritten();
    },
    unmount,
    remount(options) {
      runProgram('mount', '-o', `remount,${options}`, mountPoint);
    },
    cutPower() {
      runProgram('perl', '-e', CUT_POWER_SCRIPT, mountPoint);
    },
    bytesWritten: () => {
      runProgram('sync', '-f', mountPoint);
      return readBytesWritten() - before;
    },
    async remove() {
      unmount();
      await rm(base, { recursive: true });
    },
  };
}
