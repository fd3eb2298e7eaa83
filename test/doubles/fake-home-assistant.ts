/** Home Assistant's REST API as far as one entity needs it, and its bad days: a refused token, entities that are missing or unavailable, a failing integration, a ban. */

import {
  type ScriptedRequest,
  type ScriptedResponse,
  type ScriptedService,
  scriptedJson,
  startScriptedService,
} from './scripted-service.ts';

export const HOME_ASSISTANT_TOKEN = 'long-lived-token-of-the-owner';
const API_USER = 'user-of-the-token';

export interface FakeEntity {
  state: string;
  unit?: string;
  user?: string | null;
}

export interface FakeHomeAssistant extends ScriptedService {
  readonly entities: Map<string, FakeEntity>;
  /** The actions that were called, such as `switch.turn_on`. */
  readonly actions: readonly string[];
  /** What the integration does with an action; the real program answers 500 when it fails. */
  integration: 'works' | 'fails' | 'ignores';
  /** Refused tokens so far; the program bans an address after some. */
  refusedTokens: number;
  isDown: boolean;
}

/** The entity states that an action leads to; undefined: the action does not exist. */
function computeState(domain: string, action: string, data: Readonly<Record<string, unknown>>): string | undefined {
  if (['switch', 'input_boolean'].includes(domain))
    return action === 'turn_on' ? 'on' : action === 'turn_off' ? 'off' : undefined;
  if (domain.endsWith('select')) return action === 'select_option' ? String(data.option) : undefined;
  return action === 'set_value' ? Number(data.value).toFixed(1) : undefined;
}

export async function startFakeHomeAssistant(
  entities: Readonly<Record<string, FakeEntity>>,
): Promise<FakeHomeAssistant> {
  const actions: string[] = [];
  const house: Pick<FakeHomeAssistant, 'entities' | 'integration' | 'refusedTokens' | 'isDown'> = {
    entities: new Map(Object.entries(entities)),
    integration: 'works',
    refusedTokens: 0,
    isDown: false,
  };

  const readState = (entity: string): ScriptedResponse => {
    const found = house.entities.get(entity);
    if (found === undefined) return scriptedJson({ message: 'Entity not found.' }, 404);
    return scriptedJson({
      entity_id: entity,
      state: found.state,
      attributes: found.unit === undefined ? {} : { unit_of_measurement: found.unit },
      last_changed: '2026-03-01T12:00:00.000000+00:00',
      context: { id: '01H', parent_id: null, user_id: found.user ?? null },
    });
  };
  const callAction = (domain: string, action: string, body: string): ScriptedResponse => {
    actions.push(`${domain}.${action}`);
    const data = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const state = computeState(domain, action, data);
    if (state === undefined) return { status: 400, body: '400: Bad Request' };
    if (house.integration === 'fails') return { status: 500, body: '500 Internal Server Error' };
    const entity = house.entities.get(String(data.entity_id));
    if (entity === undefined || house.integration === 'ignores') return scriptedJson([]);
    Object.assign(entity, { state, user: API_USER });
    return scriptedJson([{ entity_id: data.entity_id, state }]);
  };
  const answer = ({ method, path, headers, body }: ScriptedRequest): ScriptedResponse => {
    if (house.isDown) return (response) => response.socket?.destroy();
    if (headers.authorization !== `Bearer ${HOME_ASSISTANT_TOKEN}`) {
      house.refusedTokens += 1;
      return { status: 401, body: '401: Unauthorized' };
    }
    const [, api, part, first = '', second = ''] = path.split('/');
    if (api !== 'api') return { status: 404, body: '404: Not Found' };
    if (method === 'GET' && part === 'states') return readState(first);
    if (method === 'POST' && part === 'services') return callAction(first, second, body);
    return { status: 405, body: '405: Method Not Allowed' };
  };
  const service = await startScriptedService(answer);
  return Object.assign(house, service, { actions });
}
