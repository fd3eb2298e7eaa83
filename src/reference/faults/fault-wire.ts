/** Faults of the wire: bodies that drip, end early, never come, or blow up when inflated. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { ApiResponse } from '../http/response.ts';
import { formatBody, sendResponse } from '../http/send-response.ts';
import { type FaultRule, readAmount } from './fault-rules.ts';

const MEGABYTE = 1_048_576;

/** One byte at a time until done or the reader leaves. */
function sendSlowly(response: ServerResponse, bytes: Buffer, pause: number): void {
  let next = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(next, next + 1));
    next += 1;
    if (next < bytes.length) return;
    clearInterval(timer);
    response.end();
  }, pause);
  response.once('close', () => clearInterval(timer));
}

/** A small body that inflates to so many megabytes of blanks before its first word: gzip members one after another. */
function buildGzipBomb(megabytes: number): Buffer {
  const blanks = gzipSync(Buffer.alloc(MEGABYTE, 0x20), { level: 9 });
  return Buffer.concat([...Array.from({ length: megabytes }, () => blanks), gzipSync('{}')]);
}

/** Sends the answer as a wire fault would have it; false when the rule is none. */
export async function sendWithFault(
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
  answer: ApiResponse,
  rule: FaultRule,
): Promise<boolean> {
  const { request, response } = exchange;
  const json = { 'content-type': 'application/json; charset=utf-8' };
  const plain = () => Buffer.from(formatBody(answer));
  switch (rule.fault) {
    case 'slow-body':
      response.writeHead(answer.status, json);
      sendSlowly(response, plain(), readAmount(rule, 100));
      return true;
    case 'cut-body': {
      const bytes = plain();
      response.writeHead(answer.status, { ...json, 'content-length': bytes.length });
      response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
      return true;
    }
    case 'hang':
      return true;
    case 'gzip-bomb':
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' });
      response.end(buildGzipBomb(readAmount(rule, 200)));
      return true;
    case 'truncated-json': {
      const text = formatBody(answer);
      const half = text.slice(0, text.length >> 1);
      await sendResponse(request, response, {
        ...answer,
        body: { kind: 'text', text: half, type: json['content-type'] },
      });
      return true;
    }
    default:
      return false;
  }
}
