/** From a call to its answer: path, method, authentication, request budget, then the path's own work. Sends nothing. */

import { myAccess } from './access-path.ts';
import { login, password, register } from './account-paths.ts';
import { type Answer, notFound, tooMany, unauthorised, wrongMethod } from './answer.ts';
import { fuelMix } from './extras.ts';
import { maps, regionFromLoc } from './place-paths.ts';
import type { AccountPath, Call, OpenPath, Service } from './service.ts';
import { forecast, historical, pastForecasts, signalIndex } from './signal-paths.ts';
import { routeV1, V1 } from './v1.ts';

type Route =
  | { readonly method: 'GET' | 'POST'; readonly open: OpenPath }
  | { readonly method: 'GET'; readonly held: AccountPath };

const routes: Readonly<Record<string, Route>> = {
  '/register': { method: 'POST', open: register },
  '/login': { method: 'GET', open: login },
  '/password': { method: 'GET', open: password },
  '/v3/my-access': { method: 'GET', held: myAccess },
  '/v3/region-from-loc': { method: 'GET', held: regionFromLoc },
  '/v3/maps': { method: 'GET', held: maps },
  '/v3/forecast': { method: 'GET', held: forecast },
  '/v3/forecast/historical': { method: 'GET', held: pastForecasts },
  '/v3/historical': { method: 'GET', held: historical },
  '/v3/signal-index': { method: 'GET', held: signalIndex },
};

const extra: Route = { method: 'GET', held: fuelMix };

const bearerOf = (call: Call) => {
  const header = call.headers.authorization;
  return typeof header === 'string' ? /^bearer +(\S+) *$/i.exec(header)?.[1] : undefined;
};

async function withAccount(service: Service, call: Call, path: AccountPath): Promise<Answer> {
  const token = bearerOf(call);
  const username = token === undefined ? undefined : service.tokens.holder(token, call.now);
  const account = username === undefined ? undefined : service.accounts.named(username);
  if (account === undefined)
    return unauthorised(service.authErrors, 'The access token is missing, invalid or expired; log in again.', 'Bearer');
  const wait = service.requests.take(account.username, call.now);
  if (wait !== undefined) return tooMany('At most 3,000 requests in any 5 minutes', wait);
  return path(service, call, call.plan === undefined ? account : { ...account, plan: call.plan });
}

/** Answers one call. Authentication comes before validation. */
export async function route(service: Service, call: Call): Promise<Answer> {
  if (call.path.startsWith(V1)) return routeV1(service, call);
  const { path } = call;
  const found =
    service.extras && path === '/v3/fuel-mix' ? extra : Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (found === undefined) return notFound(call.path);
  if (call.method !== found.method) return wrongMethod(call.path, found.method);
  return 'open' in found ? found.open(service, call) : withAccount(service, call, found.held);
}
