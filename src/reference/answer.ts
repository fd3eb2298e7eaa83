/** The shapes of answers: values, ready bytes, streams, and every error body of the service. Sends nothing. */

export type Body =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string; readonly type: string }
  /** Ready JSON with its gzip made once. */
  | { readonly kind: 'ready'; readonly bytes: Buffer; readonly gzipped: Buffer }
  /** JSON in pieces, made while it is sent. */
  | { readonly kind: 'pieces'; readonly pieces: Iterable<string> };

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Body;
}

const DOCS = 'https://reference.invalid/docs';
/** Characters a streamed piece grows to. */
const PIECE = 65_536;

export const json = (status: number, value: unknown, headers: Answer['headers'] = {}): Answer => ({
  status,
  headers,
  body: { kind: 'json', value },
});

export const ok = (value: unknown) => json(200, value);

function* inPieces(head: string, items: Iterable<string>, tail: string): Generator<string> {
  let piece = head;
  let separator = '';
  for (const item of items) {
    piece += separator + item;
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece + tail;
}

/** A document with a list in it, made while it is sent: what stands before the items, the items as JSON, what stands after. */
export const listed = (head: string, items: Iterable<string>, tail: string): Answer => ({
  status: 200,
  body: { kind: 'pieces', pieces: inPieces(head, items, tail) },
});

/** The error body of data paths and of everything about accounts: `{error, message, docs}`. */
export const refusal = (status: number, error: string, message: string, headers: Answer['headers'] = {}) =>
  json(status, { error, message, docs: DOCS }, headers);

/** The error body of the earlier interface. */
export const detail = (status: number, text: string, headers: Answer['headers'] = {}) =>
  json(status, { detail: text }, headers);

export interface Problem {
  readonly in: 'query' | 'body' | 'header';
  /** Absent for the body as a whole. */
  readonly name?: string;
  readonly message: string;
  readonly kind: 'missing' | 'value_error' | 'type_error';
}

/** Invalid input on data paths and my-access: 400. */
export const invalid = (...problems: readonly Problem[]) =>
  refusal(
    400,
    'invalid_request',
    problems.map(({ name, message }) => (name === undefined ? message : `${name}: ${message}`)).join('; '),
  );

/** Invalid input on register, password, region-from-loc and maps: 422. */
export const unprocessable = (...problems: readonly Problem[]) =>
  json(422, {
    detail: problems.map(({ in: place, name, message, kind }) => ({
      loc: name === undefined ? [place] : [place, name],
      msg: message,
      type: kind,
    })),
  });

/** A region or path the plan does not include: 403, and never a reason to log in. */
export const outOfScope = (path: string, region?: string) =>
  refusal(
    403,
    'invalid_scope',
    `Invalid scope. ${region === undefined ? '' : `"${region}" at `}${path} is not part of this account's plan.`,
  );

export const notFound = (path: string) => refusal(404, 'not_found', `There is nothing at ${path}.`);

export const wrongMethod = (path: string, allowed: string) =>
  refusal(405, 'method_not_allowed', `${path} takes ${allowed} only.`, { allow: allowed });

/** `wait` in milliseconds; `Retry-After` in whole seconds, at least 1. */
export const tooMany = (what: string, wait: number) => {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return refusal(429, 'too_many_requests', `${what}; try again in ${seconds} s.`, { 'retry-after': String(seconds) });
};

/** Authentication errors come as JSON, or as the page of a front-end server. */
export type AuthErrors = 'json' | 'html';

export const htmlPage = (status: number, title: string): Answer => ({
  status,
  body: {
    kind: 'text',
    type: 'text/html; charset=utf-8',
    text: `<!doctype html>\n<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>\n`,
  },
});

export function unauthorised(style: AuthErrors, message: string, scheme: 'Basic' | 'Bearer'): Answer {
  const plain = style === 'html' ? htmlPage(401, 'Unauthorized') : refusal(401, 'unauthorized', message);
  return { ...plain, headers: { 'www-authenticate': `${scheme} realm="gridtide reference"` } };
}
