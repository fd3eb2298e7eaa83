/** Tells whether a stream of this process goes to systemd's journal, which reads the priority of a line from `<4>` before it. */

/** `$JOURNAL_STREAM` names the stream; a child whose output goes elsewhere inherits the variable too. */
export function isJournal(
  fd: number,
  { JOURNAL_STREAM: stream }: Readonly<Record<string, string | undefined>>,
): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = process.getBuiltinModule('node:fs').fstatSync(fd);
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}
