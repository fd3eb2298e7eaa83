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

export const ok = (value: unknown): Answer => ({ status: 200, body: { kind: 'json', value } });

/** The error body of data paths and of everything about accounts: `{error, message, docs}`. */
export const refusal = (status: number, error: string, message: string, headers = {}): Answer => ({
  status,
  headers,
  body: { kind: 'json', value: { error, message, docs: DOCS } },
});

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
export const unprocessable = (...problems: readonly Problem[]): Answer => ({
  status: 422,
  body: {
    kind: 'json',
    value: {
      detail: problems.map(({ in: place, name, message, kind }) => ({
        loc: name === undefined ? [place] : [place, name],
        msg: message,
        type: kind,
      })),
    },
  },
});

/** A region or path the plan does not include: 403, and never a reason to log in. */
export const outOfScope = (path: string, region?: string) =>
  refusal(
    403,
    'invalid_scope',
    `Invalid scope. ${region === undefined ? '' : `"${region}" at `}${path} is not part of this account's plan.`,
  );

export const notFound = (path: string) => refusal(404, 'not_found', `There is nothing at ${path}.`);

/** `wait` in milliseconds; `Retry-After` in whole seconds, at least 1. */
export const tooMany = (what: string, wait: number) => {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return refusal(429, 'too_many_requests', `${what}; try again in ${seconds} s.`, { 'retry-after': String(seconds) });
};

/** Authentication errors come as JSON, or as the page of a front-end server. */
export type AuthErrors = 'json' | 'html';

const page = (status: number, title: string): Answer => ({
  status,
  body: {
    kind: 'text',
    type: 'text/html; charset=utf-8',
    text: `<!doctype html>\n<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>\n`,
  },
});

export const htmlPage = page;

export function unauthorised(style: AuthErrors, message: string, scheme: 'Basic' | 'Bearer'): Answer {
  const plain = style === 'html' ? page(401, 'Unauthorized') : refusal(401, 'unauthorized', message);
  return { ...plain, headers: { 'www-authenticate': `${scheme} realm="gridtide reference"` } };
}
