import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bootName } from '../../src/platform/boot.ts';

let runtime: string;
beforeEach(() => {
  runtime = mkdtempSync(join(tmpdir(), 'gridtide-boot-'));
});
afterEach(() => rmSync(runtime, { recursive: true }));
const hidden = '/nonexistent/boot_id';

describe('the name of the boot', () => {
  it("is the kernel's where it can be read", () => {
    writeFileSync(join(runtime, 'kernel'), '1f0c\n');
    expect(bootName(runtime, join(runtime, 'kernel'))).toBe('1f0c');
    expect(readdirSync(runtime)).toEqual(['kernel']);
  });

  it('is kept in the runtime directory where the kernel hides its own', () => {
    const first = bootName(runtime, hidden);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(bootName(runtime, hidden)).toBe(first);
    expect(readdirSync(runtime)).toEqual(['boot']);
  });

  it('is another after a boot, which empties the runtime directory', () => {
    const first = bootName(runtime, hidden);
    rmSync(join(runtime, 'boot'));
    expect(bootName(runtime, hidden)).not.toBe(first);
  });

  it('is unknown where nothing can tell', () => {
    expect(bootName(undefined, hidden)).toBeUndefined();
    expect(bootName('/nonexistent', hidden)).toBeUndefined();
  });
});
