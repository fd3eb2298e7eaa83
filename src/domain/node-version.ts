/** Whether this Node.js runs gridtide. */

/** A sentence when `version`, such as `20.19.0`, is older than the package's `engines` allow. */
export function findOldNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `gridtide needs Node.js 20.19 or newer, and this is ${version}: install a newer one (nodejs.org)`;
}
