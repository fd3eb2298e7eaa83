/** Writes lines to a file descriptor without waiting for its reader: stores a bounded amount, drops and counts the rest. */

import { type Duration, milliseconds } from '../domain/units.ts';

/** As for the disk: an import of node:fs would load its streams too. */
const { constants, fstatSync, openSync, writeSync } = process.getBuiltinModule('node:fs');

export interface NonblockingLines {
  write(line: string): void;
  /**
   * Waits briefly for a slow reader and blocks everything else: for the end of the process. Returns the code of a full disk that refused
   * the last lines.
   */
  flush(): string | undefined;
}

/** Bytes stored for a reader that is away: some thousand lines. */
const CAPACITY = 256 * 1024;
const RETRY_INTERVAL = milliseconds(250);
/** The end of the process waits no longer for its last lines: the loads' safe levels come right after it. */
const FLUSH_LIMIT = milliseconds(500);
const FLUSH_POLL_INTERVAL = milliseconds(10);
const FULL_DISK_CODES = ['ENOSPC', 'EDQUOT'];
/** The reader may come back; after any other error it never does. */
const NO_ROOM_CODES = ['EAGAIN', 'EINTR', ...FULL_DISK_CODES];

/** A second descriptor of the same reader, on which a write returns after what has room. */
function openNonblocking(fd: number): number {
  try {
    const kind = fstatSync(fd);
    // A terminal stops too, at Ctrl-S or with the line it hangs on; others may share its descriptor.
    if (kind.isCharacterDevice() || kind.isFIFO()) return reopenNonblocking(fd) ?? setNonblocking(fd, kind.isFIFO());
    return setNonblocking(fd, kind.isSocket());
  } catch {
    return fd;
  }
}

/** Undefined where it may not be opened: a pipe belongs to the user who made it. */
function reopenNonblocking(fd: number): number | undefined {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return undefined;
  }
}

/** A stream made of a socket (the journal is one) or a pipe sets it so, and is not used for anything else. */
function setNonblocking(fd: number, isStream: boolean): number {
  // Loaded here alone: it costs a start a tenth of its time.
  if (isStream) new (process.getBuiltinModule('node:net').Socket)({ fd, readable: false, writable: true }).unref();
  return fd;
}

export interface ReaderEvents {
  /** Called with the number of dropped lines once the reader is back. */
  readonly onLost: (lines: number) => void;
  /** Called once when a line shows that nobody can read any more. */
  readonly onReaderGone?: (() => void) | undefined;
}

export function createNonblockingLines(fd: number, { onLost, onReaderGone }: ReaderEvents): NonblockingLines {
  const target = openNonblocking(fd);
  /** The first may have gone out in part. */
  const waiting: Buffer[] = [];
  let bytes = 0;
  let dropped = 0;
  let isReaderGone = false;
  /** Of the last write that failed. */
  let errorCode = '';
  let retryTimer: NodeJS.Timeout | undefined;

  /** Bytes that found room. */
  function writeNow(line: Buffer): number {
    try {
      return writeSync(target, line);
    } catch (error) {
      errorCode = (error as NodeJS.ErrnoException).code ?? '';
      isReaderGone = !NO_ROOM_CODES.includes(errorCode);
      if (isReaderGone) onReaderGone?.();
      return 0;
    }
  }

  /** False while the first line found no room. */
  function writeWaiting(): boolean {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const written = writeNow(first);
      if (isReaderGone) waiting.length = 0;
      else if (written === 0) return false;
      else if (written === first.length) waiting.shift();
      else waiting[0] = first.subarray(written);
      bytes -= written;
    }
    return true;
  }

  function drain(): void {
    retryTimer = undefined;
    if (!writeWaiting()) retryTimer = setTimeout(drain, RETRY_INTERVAL).unref();
    else reportLost();
  }

  function reportLost(): void {
    if (dropped === 0 || isReaderGone) return;
    const count = dropped;
    dropped = 0;
    onLost(count);
  }

  return {
    write(text) {
      if (isReaderGone) return;
      const line = Buffer.from(text);
      waiting.push(line);
      bytes += line.length;
      if (retryTimer === undefined) drain();
      // The newest lines matter most; the first stays, because part of it may be out already.
      while (bytes > CAPACITY && waiting.length > 1) {
        bytes -= waiting.splice(1, 1)[0]?.length ?? 0;
        dropped += 1;
      }
    },
    flush() {
      const until = performance.now() + FLUSH_LIMIT;
      while (!writeWaiting()) {
        if (performance.now() >= until) return FULL_DISK_CODES.find((code) => code === errorCode);
        sleep(FLUSH_POLL_INTERVAL);
      }
      reportLost();
      return undefined;
    },
  };
}

function sleep(length: Duration): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, length);
}
