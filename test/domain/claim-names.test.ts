/** The names under which agents claim devices: topics that show no secret of an address. */

import { expect, it } from 'vitest';
import { listClaimNames } from '../../src/domain/levels.ts';
import type { HttpCall, OutputConfig } from '../../src/domain/load-types.ts';

const overHttp = (on: HttpCall): OutputConfig => ({ kind: 'http', on, off: on, headers: {}, allowsPlainHttp: true });
const get = (url: string) => overHttp({ method: 'GET', url });
const entity: OutputConfig = {
  ...{ kind: 'home-assistant', url: 'http://ha.local:8123', tokenFile: 't', allowsPlainHttp: true },
  ...{ entity: 'number.car', onState: '16', offState: '0' },
};

it('names an entity', () => expect(listClaimNames(entity)).toEqual(['home-assistant/ha_local:8123/number_car']));

it('shows the host of an address alone', () => {
  const [name] = listClaimNames(get('http://plug.local/rpc/on?auth=secret'));
  expect(name).toMatch(/^http\/plug_local\/[0-9a-z]+$/);
});

it('tells two requests of one host apart', () =>
  expect(listClaimNames(get('http://plug.local/0/on'))).not.toEqual(listClaimNames(get('http://plug.local/1/on'))));

it('claims no contact of the board', () =>
  expect(listClaimNames({ kind: 'relay', pin: 17, activeLow: false })).toEqual([]));
