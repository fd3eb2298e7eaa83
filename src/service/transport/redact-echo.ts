/** Removes credentials and tokens from the text of an answer: a service or a proxy may repeat them, and the text reaches the log and the broker. */

import type { HttpRequest, HttpResponse } from '../../domain/ports.ts';

const REDACTED = '[hidden]';
/** A shorter text is too common in honest words. */
const MIN_SECRET_LENGTH = 4;

/** The token, or user name and password, of the header; a password in the body. */
function findSecrets({ headers, body }: HttpRequest): string[] {
  const [scheme, secret = ''] = (headers.authorization ?? '').split(' ');
  const pair = scheme === 'Basic' ? Buffer.from(secret, 'base64').toString('utf8') : '';
  const password = pair.slice(pair.indexOf(':') + 1);
  return [secret, pair, password, findBodyPassword(body)].filter((text) => text.length >= MIN_SECRET_LENGTH);
}

function findBodyPassword(body: string | undefined): string {
  const { password } = body === undefined ? {} : (JSON.parse(body) as { password?: unknown });
  return typeof password === 'string' ? password : '';
}

const listEncodings = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
];

/** As `reply`, with the same removed from the body and headers of an answer without JSON. */
export function redactEcho(reply: HttpResponse, request: HttpRequest): HttpResponse {
  const encodings = findSecrets(request).flatMap(listEncodings);
  const redact = (text: string) => encodings.reduce((left, form) => left.replaceAll(form, REDACTED), text);
  const headers = Object.fromEntries(Object.entries(reply.headers).map(([name, value]) => [name, redact(value)]));
  const isAnswer = reply.status >= 200 && reply.status < 300;
  const body = isAnswer ? reply.body : new TextEncoder().encode(redact(new TextDecoder().decode(reply.body)));
  return { ...reply, headers, body };
}
