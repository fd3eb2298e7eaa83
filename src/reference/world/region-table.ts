/** The table of regions: the cells of the map that each fills, its name, and how its grid behaves. */

export type Archetype = 'solar' | 'wind' | 'coal' | 'hydro';

/** A rectangle of cells; rows run from north to south, `.` is not covered. Patches never touch one another. */
export interface Patch {
  readonly west: number;
  readonly north: number;
  /** Degrees of longitude and latitude of a cell. */
  readonly cell: readonly [number, number];
  readonly rows: readonly string[];
}

/** A roundish area: an island in the sea, or an enclave cut out of its host. An enclave without a name is a lake. */
export interface RoundArea {
  readonly name: string;
  readonly host?: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Degrees. */
  readonly radius: number;
}

export const northAmerica: Patch = {
  west: -125,
  north: 56.2,
  cell: [3.625, 2.4],
  rows: [
    'BCHA BCHA BCHA AESO AESO AESO SPC SPC MHEB MHEB IESO_NORTH IESO_NORTH . HQ HQ NLH',
    'BCHA BCHA BCHA AESO AESO SPC SPC MHEB MHEB IESO_NORTH IESO_NORTH IESO_NORTH . HQ HQ NLH',
    'BCHA BCHA FBC AESO AESO SPC SPC MHEB MHEB IESO_NORTH IESO_NORTH IESO_NORTH IESO_NORTH HQ HQ HQ',
    'SCL BPAT AVA AVA NWMT NWMT WAUW SPP_ND MISO_ND MISO_MN . MISO_UP IESO_EAST HQ HQ ISONE_ME',
    'PGE BPAT PACW IPCO NWMT NWMT WAUW SPP_SD MISO_MN MISO_WI MISO_WI MISO_MI IESO_EAST NYISO_NORTH ISONE_VT ISONE_ME',
    'PACW PACW IPCO IPCO PACE_WY PACE_WY WACM SPP_NE MISO_IA MISO_WI . MISO_MI IESO_WEST NYISO_WEST ISONE_WCMA ISONE_NEMA',
    'CAISO_NORTH NEVP_RENO NEVP PACE_UT PACE_UT PSCO WAUE NPPD MISO_IA MISO_IL PJM_CHICAGO PJM_OHIO PJM_PITTSBURGH PJM_PA ISONE_CT .',
    'CAISO_NORTH CAISO_NORTH NEVP NEVP WACM PSCO SPP_WKS SPP_KS SPP_KC AECI MISO_IN LGEE PJM_APS PJM_DC . .',
    'CAISO_CENTRAL CAISO_CENTRAL NEVP_VEGAS AZPS PNM PNM SPP_TX SPP_OK GRDA SWPA TVA TVA_EAST DUK PJM_DOM . .',
    '. CAISO_SOUTH IID SRP TEPC EPE ERCOT_WEST ERCOT_NORTH MISO_TX MISO_MS SOCO_AL SOCO_GA SC . . .',
    '. . CFE_BC CFE_SON CFE_CHIH CFE_CHIH ERCOT_FARWEST ERCOT_AUSTIN ERCOT_HOUSTON MISO_LA SOCO_FL TAL JEA . . .',
    '. . . CFE_BCS CFE_SON CFE_CHIH CFE_NE ERCOT_SANANTONIO . . . FPC FMPP . . .',
    '. . . CFE_BCS CFE_SIN CFE_DGO CFE_NE ERCOT_SOUTH . . . TEC FPL . . .',
  ],
};

const otherPatches: readonly Patch[] = [
  {
    west: -10,
    north: 66,
    cell: [5, 4.5],
    rows: [
      '. . . NO SE_NORTH SE_NORTH FI FI',
      '. GB_SCOTLAND . NO SE_SOUTH SE_SOUTH EE EE',
      'IE GB_NORTH . DK DE_NORTH PL LT LT',
      '. GB_SOUTH BE DE_WEST CZ SK UA UA',
      '. FR FR CH IT_NORTH HU RO RO',
      'PT ES ES . IT_SOUTH RS BG TR',
      'PT ES_SOUTH . . . . GR TR',
    ],
  },
  {
    west: 115,
    north: -12,
    cell: [8, 8],
    rows: ['. AU_NT AU_NT AU_QLD .', 'AU_WA AU_NT AU_SA AU_QLD AU_QLD', 'AU_WA . AU_SA AU_VIC AU_NSW'],
  },
  {
    west: 130,
    north: 45,
    cell: [4, 3.5],
    rows: ['. . JP_HOKKAIDO', '. . JP_TOHOKU', '. JP_CHUBU JP_TOKYO', 'JP_KYUSHU JP_KANSAI .'],
  },
  {
    west: 70,
    north: 33,
    cell: [5, 6],
    rows: ['IN_NORTH IN_NORTH . .', 'IN_WEST IN_WEST IN_EAST IN_EAST', '. IN_WEST IN_SOUTH .', '. IN_SOUTH . .'],
  },
  {
    west: -60,
    north: -3,
    cell: [6, 7],
    rows: [
      'BR_NORTH BR_NORTH BR_NORTHEAST',
      'BR_NORTH BR_CENTRAL BR_NORTHEAST',
      'BR_SOUTH BR_CENTRAL .',
      'BR_SOUTH . .',
    ],
  },
  { west: 18, north: -24, cell: [5, 4], rows: ['ZA ZA ZA', 'ZA ZA .'] },
  { west: -165, north: 70, cell: [8, 5], rows: ['AK_NORTH AK_NORTH AK_NORTH', 'AK_WEST AK_RAILBELT AK_RAILBELT'] },
  // One region on both sides of the date line, and a border between two along it.
  { west: 172, north: 69, cell: [4, 3.5], rows: ['RU_FE RU_FE', 'RU_FE RU_FE'] },
  { west: -180, north: 69, cell: [4, 3.5], rows: ['RU_FE', 'RU_FE'] },
  { west: 176, north: -15, cell: [4, 4], rows: ['FJ'] },
  { west: -180, north: -15, cell: [4, 4], rows: ['TO'] },
];

export const patches: readonly Patch[] = [northAmerica, ...otherPatches];

export const roundAreas: readonly RoundArea[] = [
  { name: 'BANC', host: 'CAISO_NORTH', latitude: 38.6, longitude: -121.35, radius: 0.25 },
  { name: 'TIDC', host: 'CAISO_NORTH', latitude: 37.75, longitude: -120.8, radius: 0.2 },
  { name: 'LDWP', host: 'CAISO_SOUTH', latitude: 33.6, longitude: -119.6, radius: 0.35 },
  { name: 'CAISO_SANDIEGO', host: 'IID', latitude: 33.1, longitude: -116.6, radius: 0.35 },
  { name: 'TPWR', host: 'SCL', latitude: 47.6, longitude: -123.4, radius: 0.3 },
  { name: 'CHPD', host: 'BPAT', latitude: 47.6, longitude: -120.3, radius: 0.25 },
  { name: 'DOPD', host: 'BPAT', latitude: 47.7, longitude: -119.4, radius: 0.2 },
  { name: 'GCPD', host: 'BPAT', latitude: 46.9, longitude: -119.1, radius: 0.25 },
  { name: 'NYISO_NYC', host: 'ISONE_CT', latitude: 40.7, longitude: -73.1, radius: 0.3 },
  { name: 'NYISO_LONGISLAND', host: 'ISONE_CT', latitude: 40.6, longitude: -72.1, radius: 0.25 },
  { name: 'ISONE_RI', host: 'ISONE_CT', latitude: 41.2, longitude: -71.4, radius: 0.2 },
  { name: 'CPLW', host: 'TVA_EAST', latitude: 35.7, longitude: -82.8, radius: 0.35 },
  { name: 'OVEC', host: 'LGEE', latitude: 38.3, longitude: -83.2, radius: 0.2 },
  { name: 'GVL', host: 'FPC', latitude: 28.9, longitude: -82.9, radius: 0.2 },
  { name: 'SEC', host: 'FPC', latitude: 28.1, longitude: -83.6, radius: 0.2 },
  { name: 'HST', host: 'FPL', latitude: 25.9, longitude: -80.3, radius: 0.2 },
  { name: '', host: 'PACE_UT', latitude: 40.8, longitude: -112.2, radius: 0.4 },
  { name: 'PACE_UT', latitude: 40.8, longitude: -112.2, radius: 0.1 },
  { name: 'ISONE_SEMA', latitude: 40.6, longitude: -68.9, radius: 0.35 },
  { name: 'HECO_OAHU', latitude: 21.45, longitude: -158, radius: 0.25 },
  { name: 'HECO_MAUI', latitude: 20.8, longitude: -156.4, radius: 0.3 },
  { name: 'HECO_MAUI', latitude: 21.13, longitude: -157.05, radius: 0.12 },
  { name: 'HECO_HAWAII', latitude: 19.6, longitude: -155.5, radius: 0.5 },
  { name: 'PREPA', latitude: 18.2, longitude: -66.4, radius: 0.5 },
  { name: 'PREPA', latitude: 18.13, longitude: -65.42, radius: 0.08 },
  { name: 'NZ_NORTH', latitude: -38.5, longitude: 175.5, radius: 1.3 },
  { name: 'NZ_SOUTH', latitude: -44, longitude: 170, radius: 1.5 },
  { name: 'AU_TAS', latitude: -42, longitude: 146.5, radius: 1.1 },
  { name: 'SG', latitude: 1.35, longitude: 103.82, radius: 0.2 },
  { name: 'KR', latitude: 36.5, longitude: 127.6, radius: 1.2 },
  { name: 'IS', latitude: 64.9, longitude: -18.5, radius: 1.6 },
  { name: 'AK_WEST', latitude: 52.9, longitude: 173, radius: 0.25 },
  { name: 'AK_WEST', latitude: 51.9, longitude: -176.7, radius: 0.3 },
];

/** Spoken names; a zone adds its own word to that of its authority. */
const authorityNames: Readonly<Record<string, string>> = {
  AECI: 'Associated Electric Cooperative',
  AESO: 'Alberta Electric System Operator',
  AK: 'Alaska',
  AU: 'Australia',
  AVA: 'Avista',
  AZPS: 'Arizona Public Service',
  BANC: 'Balancing Authority of Northern California',
  BCHA: 'British Columbia Hydro',
  BE: 'Belgium',
  BG: 'Bulgaria',
  BPAT: 'Bonneville Power',
  BR: 'Brazil',
  CAISO: 'California ISO',
  CFE: 'Mexico',
  CH: 'Switzerland',
  CHPD: 'Chelan County',
  CPLW: 'Carolina Power West',
  CZ: 'Czechia',
  DE: 'Germany',
  DK: 'Denmark',
  DOPD: 'Douglas County',
  DUK: 'Duke Energy Carolinas',
  EE: 'Estonia and Latvia',
  EPE: 'El Paso Electric',
  ERCOT: 'Texas',
  ES: 'Spain',
  FBC: 'Fortis British Columbia',
  FI: 'Finland',
  FJ: 'Fiji',
  FMPP: 'Florida Municipal Power Pool',
  FPC: 'Florida Power Corporation',
  FPL: 'Florida Power and Light',
  FR: 'France',
  GB: 'Great Britain',
  GCPD: 'Grant County',
  GR: 'Greece',
  GRDA: 'Grand River Dam Authority',
  GVL: 'Gainesville',
  HECO: 'Hawaii',
  HQ: 'Hydro Quebec',
  HST: 'Homestead',
  HU: 'Hungary',
  IE: 'Ireland',
  IESO: 'Ontario',
  IID: 'Imperial Irrigation District',
  IN: 'India',
  IPCO: 'Idaho Power',
  IS: 'Iceland',
  ISONE: 'ISO New England',
  IT: 'Italy',
  JEA: 'Jacksonville',
  JP: 'Japan',
  KR: 'Korea',
  LDWP: 'Los Angeles Water and Power',
  LGEE: 'Louisville and Kentucky',
  LT: 'Lithuania',
  MHEB: 'Manitoba Hydro',
  MISO: 'Midcontinent ISO',
  NEVP: 'Nevada Power',
  NLH: 'Newfoundland and Labrador',
  NO: 'Norway',
  NPPD: 'Nebraska Public Power',
  NWMT: 'NorthWestern Montana',
  NYISO: 'New York ISO',
  NZ: 'New Zealand',
  OVEC: 'Ohio Valley',
  PACE: 'PacifiCorp East',
  PACW: 'PacifiCorp West',
  PGE: 'Portland General',
  PJM: 'PJM',
  PL: 'Poland',
  PNM: 'New Mexico',
  PREPA: 'Puerto Rico',
  PSCO: 'Public Service Co of Colorado',
  PT: 'Portugal',
  RO: 'Romania',
  RS: 'Serbia',
  RU: 'Russia',
  SC: 'South Carolina',
  SCL: 'Seattle',
  SE: 'Sweden',
  SEC: 'Seminole Electric',
  SG: 'Singapore',
  SK: 'Slovakia',
  SOCO: 'Southern Company',
  SPC: 'Saskatchewan Power',
  SPP: 'Southwest Power Pool',
  SRP: 'Salt River Project',
  SWPA: 'Southwestern Power',
  TAL: 'Tallahassee',
  TEC: 'Tampa Electric',
  TEPC: 'Tucson Electric',
  TIDC: 'Turlock Irrigation District',
  TO: 'Tonga',
  TPWR: 'Tacoma',
  TR: 'Turkey',
  TVA: 'Tennessee Valley',
  UA: 'Ukraine',
  WACM: 'Western Area Colorado Missouri',
  WAUE: 'Western Area Upper Great Plains East',
  WAUW: 'Western Area Upper Great Plains West',
  ZA: 'South Africa',
};

const archetypes: Readonly<Record<Archetype, string>> = {
  solar: 'CAISO BANC TIDC LDWP IID SRP AZPS TEPC NEVP HECO ES IT GR AU_SA AU_QLD CFE BR_NORTHEAST JP_KYUSHU',
  wind: 'SPP WAUE NPPD ERCOT MISO_IA MISO_ND MISO_MN GB IE DK DE_NORTH PT AU_VIC AK_WEST',
  coal: 'PSCO PACE NWMT WAUW WACM AECI LGEE OVEC MISO_IN PJM_OHIO PJM_APS AESO SPC PL CZ RS BG ZA IN AU_NSW KR',
  hydro: 'BCHA FBC MHEB HQ NLH BPAT CHPD DOPD GCPD SCL TPWR AVA NO SE_NORTH IS CH NZ_SOUTH AU_TAS BR_NORTH',
};

/** The authority a zone belongs to: what stands before the underscore. */
export const findAuthority = (region: string) => region.split('_')[0] ?? region;

/** `California ISO North`. */
export function formatRegionName(region: string): string {
  const [authority = region, zone] = region.split('_');
  const name = authorityNames[authority] ?? authority;
  if (zone === undefined) return name;
  return `${name} ${zone.length <= 4 ? zone : zone[0] + zone.slice(1).toLowerCase()}`;
}

/** How the grid behaves; undefined where the table does not say. */
export function findArchetype(region: string): Archetype | undefined {
  const all = Object.entries(archetypes) as [Archetype, string][];
  const lists = all.map(([archetype, list]) => [archetype, list.split(' ')] as const);
  const exact = lists.find(([, list]) => list.includes(region));
  return (exact ?? lists.find(([, list]) => list.includes(findAuthority(region))))?.[0];
}
