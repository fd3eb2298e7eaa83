/** The shapes of answers: values, ready bytes, streams, and every error body of the service. */

import type { AuthErrors, Profile } from './profile.ts';

type ResponseBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string; readonly type: string }
  /** Ready JSON; its gzip is made once. */
  | { readonly kind: 'ready'; readonly bytes: Buffer; readonly gzipped: () => Buffer }
  /** JSON in pieces, made while it is sent. */
  | { readonly kind: 'pieces'; readonly pieces: Iterable<string> };

export interface ApiResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
}

export const NO_TEXT = { kind: 'text', text: '', type: 'text/html; charset=utf-8' } as const;
const DOCS_URL = 'https://reference.invalid/docs';
/** Characters a streamed piece grows to. */
const PIECE_LENGTH = 65_536;

export const jsonResponse = (status: number, value: unknown, headers: ApiResponse['headers'] = {}): ApiResponse => ({
  status,
  headers,
  body: { kind: 'json', value },
});

export const okResponse = (value: unknown) => jsonResponse(200, value);

function* joinPieces(head: string, items: Iterable<string>, tail: string): Generator<string> {
  let piece = head;
  let separator = '';
  for (const item of items) {
    piece += separator + item;
    separator = ',';
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece + tail;
}

/** A document with a list in it, made while it is sent: what stands before the items, the items as JSON, what stands after. */
export const listResponse = (head: string, items: Iterable<string>, tail: string): ApiResponse => ({
  status: 200,
  body: { kind: 'pieces', pieces: joinPieces(head, items, tail) },
});

/** The error body of data paths and of everything about accounts: `{error, message, docs}`. */
export const errorResponse = (status: number, error: string, message: string, headers: ApiResponse['headers'] = {}) =>
  jsonResponse(status, { error, message, docs: DOCS_URL }, headers);

/** The error body of the earlier interface. */
export const v1Error = (status: number, text: string, headers: ApiResponse['headers'] = {}) =>
  jsonResponse(status, { detail: text }, headers);

export interface InputProblem {
  readonly in: 'query' | 'body' | 'header';
  /** Absent for the body as a whole. */
  readonly name?: string;
  readonly message: string;
  readonly kind: 'missing' | 'value_error' | 'type_error';
}

const joinProblems = (problems: readonly InputProblem[]) =>
  problems.map(({ name, message }) => (name === undefined ? message : `${name}: ${message}`)).join('; ');

/** Invalid input on data paths and my-access: 400. */
export const badRequest = (problems: readonly InputProblem[]) =>
  errorResponse(400, 'invalid_request', joinProblems(problems));

/** Invalid input on register, password, region-from-loc and maps: 422. */
export const unprocessable = (profile: Profile, problems: readonly InputProblem[]) =>
  jsonResponse(422, {
    ...(profile.namesErrorBesideDetail ? { error: joinProblems(problems) } : {}),
    detail: problems.map(({ in: place, name, message, kind }) => ({
      loc: name === undefined ? [place] : [place, name],
      msg: message,
      type: kind,
    })),
  });

/** A region or path the plan does not include: 403, and never a reason to log in. */
export const outOfScope = (profile: Profile, path: string, region?: string) =>
  profile.gateErrors === 'html'
    ? htmlPage(403, 'Forbidden')
    : errorResponse(
        403,
        'invalid_scope',
        `Invalid scope. ${region === undefined ? '' : `"${region}" at `}${path} is not part of this account's plan.`,
      );

export const notFound = (path: string) => errorResponse(404, 'not_found', `There is nothing at ${path}.`);

/** Another address of the service. */
export const redirectTo = (location: string): ApiResponse => ({ status: 301, headers: { location }, body: NO_TEXT });

/** `wait` in milliseconds; `Retry-After` in whole seconds, at least 1. */
export const tooManyRequests = (what: string, wait: number) => {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return errorResponse(429, 'too_many_requests', `${what}; try again in ${seconds} s.`, {
    'retry-after': String(seconds),
  });
};

export const htmlPage = (status: number, title: string): ApiResponse => ({
  status,
  body: {
    kind: 'text',
    type: 'text/html; charset=utf-8',
    text: `<!doctype html>\n<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>\n`,
  },
});

export function unauthorised(style: AuthErrors, message: string, scheme: 'Basic' | 'Bearer'): ApiResponse {
  const plain = style === 'html' ? htmlPage(401, 'Unauthorized') : errorResponse(401, 'unauthorized', message);
  return { ...plain, headers: { 'www-authenticate': `${scheme} realm="gridtide reference"` } };
}
