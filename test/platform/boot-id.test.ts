import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readBootId } from '../../src/platform/boot-id.ts';

let runtime: string;
beforeEach(() => {
  runtime = mkdtempSync(join(tmpdir(), 'gridtide-boot-'));
});
afterEach(() => rmSync(runtime, { recursive: true }));
const hidden = '/nonexistent/boot_id';

describe('the name of the boot', () => {
  it("is the kernel's where it can be read", () => {
    writeFileSync(join(runtime, 'kernel'), '1f0c\n');
    expect(readBootId(runtime, join(runtime, 'kernel'))).toBe('1f0c');
    expect(readdirSync(runtime)).toEqual(['kernel']);
  });

  it('is kept in the runtime directory where the kernel hides its own', () => {
    const first = readBootId(runtime, hidden);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(readBootId(runtime, hidden)).toBe(first);
    expect(readdirSync(runtime)).toEqual(['boot']);
  });

  it('is another after a boot, which empties the runtime directory', () => {
    const first = readBootId(runtime, hidden);
    rmSync(join(runtime, 'boot'));
    expect(readBootId(runtime, hidden)).not.toBe(first);
  });

  it('is unknown where nothing can tell', () => {
    expect(readBootId(undefined, hidden)).toBeUndefined();
    expect(readBootId('/nonexistent', hidden)).toBeUndefined();
  });
});
