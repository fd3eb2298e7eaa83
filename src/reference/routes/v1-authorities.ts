/** `/api/v1/balancing_authorities/`: who runs the grid at a place, by the borders of the v3 map (specification 2.9, 4.5). */

import { type ApiResponse, jsonResponse, okResponse } from '../http/response.ts';
import type { PublicRoute } from '../http/route-types.ts';
import type { CatalogueRegion, Signal } from '../world/catalogue.ts';

const isos = ['AESO', 'CAISO', 'ERCOT', 'IESO', 'ISONE', 'MISO', 'NYISO', 'PJM', 'SPP'];
const states: Readonly<Record<string, string>> = {
  AECI: 'IA MO OK',
  AK: 'AK',
  AVA: 'WA ID',
  AZPS: 'AZ',
  BANC: 'CA',
  BPAT: 'WA OR ID MT',
  CAISO: 'CA',
  CHPD: 'WA',
  CPLW: 'NC',
  DOPD: 'WA',
  DUK: 'NC SC',
  EPE: 'TX NM',
  ERCOT: 'TX',
  FMPP: 'FL',
  FPC: 'FL',
  FPL: 'FL',
  GCPD: 'WA',
  GRDA: 'OK',
  GVL: 'FL',
  HECO: 'HI',
  HST: 'FL',
  IID: 'CA',
  IPCO: 'ID OR',
  ISONE: 'CT MA ME NH RI VT',
  JEA: 'FL',
  LDWP: 'CA',
  LGEE: 'KY',
  MISO: 'AR IA IL IN LA MI MN MO MS ND WI',
  NEVP: 'NV',
  NPPD: 'NE',
  NWMT: 'MT',
  NYISO: 'NY',
  OVEC: 'IN OH',
  PACE: 'UT WY ID',
  PACW: 'OR WA CA',
  PGE: 'OR',
  PJM: 'DC DE IL IN KY MD MI NC NJ OH PA TN VA WV',
  PNM: 'NM',
  PREPA: 'PR',
  PSCO: 'CO',
  SC: 'SC',
  SCL: 'WA',
  SEC: 'FL',
  SOCO: 'AL GA MS',
  SPP: 'KS ND NE OK SD',
  SRP: 'AZ',
  SWPA: 'AR MO OK',
  TAL: 'FL',
  TEC: 'FL',
  TEPC: 'AZ',
  TIDC: 'CA',
  TPWR: 'WA',
  TVA: 'AL KY MS TN',
  WACM: 'CO NE WY',
  WAUE: 'IA MN MT ND NE SD',
  WAUW: 'MT',
};

const findAuthorityType = (abbrev: string) => (isos.includes(abbrev) ? 'ISO' : 'BA');

function describeAuthority({ name, fullName }: CatalogueRegion, origin: string) {
  return {
    name: fullName,
    ba_type: findAuthorityType(name),
    url: `${origin}/api/v1/balancing_authorities/?abbrev=${name}`,
    abbrev: name,
    link: `https://authorities.invalid/${name.toLowerCase()}`,
    states: states[name]?.split(' ') ?? [],
    notes: '',
  };
}

/** Longitude and latitude of a GeoJSON point, with or without quotes, or of `POINT (lon lat)`. */
function parsePointParameter(text: string): readonly [number, number] | undefined {
  const number = '(-?\\d+(?:\\.\\d+)?(?:e-?\\d+)?)';
  const geojson = new RegExp(
    `coordinates["']?\\s*:\\s*\\[\\s*${number}\\s*,\\s*${number}\\s*(?:,\\s*${number}\\s*)?\\]`,
    'i',
  );
  const wkt = new RegExp(`^\\s*(?:SRID=\\d+;)?POINT\\s*\\(\\s*${number}\\s+${number}\\s*\\)\\s*$`, 'i');
  const found = /point/i.test(text) ? (geojson.exec(text) ?? wkt.exec(text)) : null;
  if (found === null) return undefined;
  const [longitude, latitude] = [Number(found[1]), Number(found[2])];
  return Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90 ? [longitude, latitude] : undefined;
}

function findAuthorities(signal: Signal, query: URLSearchParams): readonly CatalogueRegion[] | ApiResponse {
  const loc = query.get('loc');
  if (loc === null || loc === '') return [...signal.regions.values()];
  const point = parsePointParameter(loc);
  if (point === undefined)
    return jsonResponse(400, { loc: ['Expected a GeoJSON point or POINT (longitude latitude).'] });
  const region = signal.findRegion(point[1], point[0]);
  return region === undefined ? [] : [region];
}

export const authorities: PublicRoute = ({ catalogue }, request) => {
  const regions = findAuthorities(catalogue.co2_aoer, request.query);
  if ('status' in regions) return regions;
  const abbrev = request.query.get('abbrev') || undefined;
  const type = request.query.get('ba_type') || undefined;
  return okResponse(
    regions
      .filter(
        ({ name: region }) =>
          (abbrev ?? region) === region && (type ?? findAuthorityType(region)) === findAuthorityType(region),
      )
      .map((region) => describeAuthority(region, request.origin)),
  );
};
