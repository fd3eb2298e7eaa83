/** Takes out of an answer's words what the request proved itself with: a service or a proxy may repeat it, and words reach the log and the broker. */

import type { HttpReply, HttpRequest } from '../world.ts';

const HIDDEN = '[hidden]';
/** A shorter text is too common in honest words. */
const SHORTEST = 4;

/** The token, or user name and password, of the header; a password in the body. */
function proofsOf({ headers, body }: HttpRequest): string[] {
  const [scheme, proof = ''] = (headers.authorization ?? '').split(' ');
  const pair = scheme === 'Basic' ? Buffer.from(proof, 'base64').toString('utf8') : '';
  const password = pair.slice(pair.indexOf(':') + 1);
  return [proof, pair, password, passwordIn(body)].filter((text) => text.length >= SHORTEST);
}

function passwordIn(body: string | undefined): string {
  const { password } = body === undefined ? {} : (JSON.parse(body) as { password?: unknown });
  return typeof password === 'string' ? password : '';
}

const formsOf = (proof: string) => [
  proof,
  JSON.stringify(proof).slice(1, -1),
  encodeURIComponent(proof),
  Buffer.from(proof).toString('base64'),
];

/** As `reply`, but for the words of an answer that is none: its body and what is said of it in the headers. */
export function withoutEcho(reply: HttpReply, request: HttpRequest): HttpReply {
  const forms = proofsOf(request).flatMap(formsOf);
  const clean = (text: string) => forms.reduce((left, form) => left.replaceAll(form, HIDDEN), text);
  const headers = Object.fromEntries(Object.entries(reply.headers).map(([name, value]) => [name, clean(value)]));
  const isAnswer = reply.status >= 200 && reply.status < 300;
  const body = isAnswer ? reply.body : new TextEncoder().encode(clean(new TextDecoder().decode(reply.body)));
  return { ...reply, headers, body };
}
