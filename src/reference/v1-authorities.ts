/** `/api/v1/balancing_authorities/`: who runs the grid at a place, by the same borders as the current interface (specification 2.9, 4.5). */

import { type Answer, json, ok } from './answer.ts';
import type { Place, Signal } from './catalogue.ts';
import type { OpenPath } from './service.ts';

const isos = ['AESO', 'CAISO', 'ERCOT', 'IESO', 'ISONE', 'MISO', 'NYISO', 'PJM', 'SPP'];
const states: Readonly<Record<string, string>> = {
  AVA: 'WA ID',
  AZPS: 'AZ',
  BANC: 'CA',
  BPAT: 'WA OR ID MT',
  CAISO: 'CA',
  DUK: 'NC SC',
  EPE: 'TX NM',
  ERCOT: 'TX',
  FPL: 'FL',
  HECO: 'HI',
  IPCO: 'ID OR',
  ISONE: 'CT MA ME NH RI VT',
  LDWP: 'CA',
  MISO: 'AR IA IL IN LA MI MN MO MS ND WI',
  NEVP: 'NV',
  NWMT: 'MT',
  NYISO: 'NY',
  PACE: 'UT WY ID',
  PACW: 'OR WA CA',
  PGE: 'OR',
  PJM: 'DC DE IL IN KY MD MI NC NJ OH PA TN VA WV',
  PNM: 'NM',
  PSCO: 'CO',
  SC: 'SC',
  SCL: 'WA',
  SOCO: 'AL GA MS',
  SPP: 'KS ND NE OK SD',
  SRP: 'AZ',
  TEPC: 'AZ',
  TVA: 'TN AL KY MS',
};

const authorityType = (abbrev: string) => (isos.includes(abbrev) ? 'ISO' : 'BA');

function describe({ region, fullName }: Place, origin: string) {
  return {
    name: fullName,
    ba_type: authorityType(region),
    url: `${origin}/api/v1/balancing_authorities/?abbrev=${region}`,
    abbrev: region,
    link: `https://authorities.invalid/${region.toLowerCase()}`,
    states: states[region]?.split(' ') ?? [],
    notes: '',
  };
}

/** Longitude and latitude of a GeoJSON point, with or without quotes, or of `POINT (lon lat)`. */
function readPoint(text: string): readonly [number, number] | undefined {
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

function matching(signal: Signal, query: URLSearchParams): readonly Place[] | Answer {
  const loc = query.get('loc');
  if (loc === null || loc === '') return [...signal.places.values()];
  const point = readPoint(loc);
  if (point === undefined) return json(400, { loc: ['Expected a GeoJSON point or POINT (longitude latitude).'] });
  const place = signal.placeAt(point[1], point[0]);
  return place === undefined ? [] : [place];
}

export const authorities: OpenPath = ({ catalogue }, call) => {
  const places = matching(catalogue.co2_aoer, call.query);
  if ('status' in places) return places;
  const abbrev = call.query.get('abbrev') || undefined;
  const type = call.query.get('ba_type') || undefined;
  return ok(
    places
      .filter(
        ({ region }) => (abbrev ?? region) === region && (type ?? authorityType(region)) === authorityType(region),
      )
      .map((place) => describe(place, call.origin)),
  );
};
