/** Finds the answer of a request: path, method, authentication, request limit, then the path's own work. */

import { login, register, requestPasswordReset } from '../routes/account-routes.ts';
import { fuelMix } from '../routes/fuel-mix.ts';
import { myAccess } from '../routes/my-access.ts';
import { maps, regionFromLoc } from '../routes/place-routes.ts';
import { forecast, historical, pastForecasts, signalIndex } from '../routes/signal-routes.ts';
import { answerV1Request } from '../routes/v1-routes.ts';
import { answerOtherMethod, V1_PREFIX } from './methods.ts';
import { type ApiResponse, notFound, tooManyRequests, unauthorised } from './response.ts';
import type { ApiRequest, AuthorizedRoute, PublicRoute, ServiceParts } from './route-types.ts';

type Route =
  | { readonly method: 'GET' | 'POST'; readonly open: PublicRoute }
  | { readonly method: 'GET'; readonly authorized: AuthorizedRoute };

const routes: Readonly<Record<string, Route>> = {
  '/register': { method: 'POST', open: register },
  '/login': { method: 'GET', open: login },
  '/password': { method: 'GET', open: requestPasswordReset },
  '/v3/my-access': { method: 'GET', authorized: myAccess },
  '/v3/region-from-loc': { method: 'GET', authorized: regionFromLoc },
  '/v3/maps': { method: 'GET', authorized: maps },
  '/v3/forecast': { method: 'GET', authorized: forecast },
  '/v3/forecast/historical': { method: 'GET', authorized: pastForecasts },
  '/v3/historical': { method: 'GET', authorized: historical },
  '/v3/signal-index': { method: 'GET', authorized: signalIndex },
};

const fuelMixRoute: Route = { method: 'GET', authorized: fuelMix };

const parseBearerToken = (request: ApiRequest) => {
  const header = request.headers.authorization;
  return typeof header === 'string' ? /^bearer +(\S+) *$/i.exec(header)?.[1] : undefined;
};

async function answerAuthorized(
  service: ServiceParts,
  request: ApiRequest,
  handler: AuthorizedRoute,
): Promise<ApiResponse> {
  const token = parseBearerToken(request);
  const username = token === undefined ? undefined : service.tokens.findUsername(token, request.now);
  const account = username === undefined ? undefined : service.accounts.findByName(username);
  if (account === undefined)
    return unauthorised(
      service.profile.authErrors,
      'The access token is missing, invalid or expired; log in again.',
      'Bearer',
    );
  const wait = service.requestLimits.countOrWait(account.username, request.now);
  if (wait !== undefined) return tooManyRequests('At most 3,000 requests in any 5 minutes', wait);
  return handler(service, request, request.plan === undefined ? account : { ...account, plan: request.plan });
}

/** Authentication comes before validation. */
export async function answerRequest(service: ServiceParts, request: ApiRequest): Promise<ApiResponse> {
  if (request.path.startsWith(V1_PREFIX)) return answerV1Request(service, request);
  if (request.path === '*') return answerOtherMethod(request, 'GET') ?? notFound('*');
  const { path } = request;
  const found =
    service.profile.extras && path === '/v3/fuel-mix'
      ? fuelMixRoute
      : Object.hasOwn(routes, path)
        ? routes[path]
        : undefined;
  if (found === undefined) return notFound(request.path);
  const other = answerOtherMethod(request, found.method);
  if (other !== undefined) return other;
  return 'open' in found ? found.open(service, request) : answerAuthorized(service, request, found.authorized);
}
