/** Whether this Node.js runs gridtide. */

/** A sentence when `version`, such as `20.19.0`, is one that the package's `engines` exclude; 21 and 22.0 to 22.2 lack what 20.19 has. */
export function findOldNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 20 && minor >= 19) || (major === 22 && minor >= 3)) return undefined;
  return `gridtide needs Node.js 20.19, 22.3 or newer, and this is ${version}: install a newer one (nodejs.org)`;
}
