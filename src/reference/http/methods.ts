/** What a path answers to the methods that it does not do itself: OPTIONS, and 405 for the rest (RFC 9110, 9.3.7 and 15.5.6). */

import { type ApiResponse, errorResponse, NO_TEXT, v1Error } from './response.ts';
import type { ApiRequest } from './route-types.ts';

export const V1_PREFIX = '/api/v1/';

/** Undefined when the path itself answers. HEAD is GET without a body. */
export function answerOtherMethod({ method, path }: ApiRequest, own: 'GET' | 'POST'): ApiResponse | undefined {
  const allow = own === 'GET' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS';
  if (method === 'OPTIONS') return { status: 204, headers: { allow }, body: NO_TEXT };
  if (method === own || (own === 'GET' && method === 'HEAD')) return undefined;
  return path.startsWith(V1_PREFIX)
    ? v1Error(405, `Method "${method}" not allowed.`, { allow })
    : errorResponse(405, 'method_not_allowed', `${path} takes ${allow} only, not ${method}.`, { allow });
}
