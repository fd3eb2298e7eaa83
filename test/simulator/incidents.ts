/** What happens to a simulated house from outside: the kinds of incidents, how often each seed draws them, and each as a line of text. */

import { type Chance, createChance } from './chance.ts';
import type { DiskTrouble } from './model-files.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export type NetworkTrouble = 'down' | 'slow' | 'cut' | 'foreign' | 'swapped' | 'lost' | 'hang';
/** `neutral`: it goes back to rules of its own, as chargers do when a car leaves; `late`, `later`: it reports after 7 or 25 s. */
export type DeviceTrouble = 'reboot' | 'deaf' | 'mute' | 'gone' | 'press' | 'late' | 'later' | 'neutral';
/** `stalls`: it does nothing for a while, and then all of it. */
type BrokerTrouble = 'down' | 'refuses' | 'acks-lost' | 'forgets' | 'stalls';

/** How a life of the agent ends: at the so-many-th thing it does from then on, before or after it is done. */
interface LifeEnd {
  readonly acts: number;
  readonly side: 'before' | 'after';
  readonly away: number;
}

export type Incident = { readonly at: number } & (
  | ({ readonly kind: 'kill'; readonly failsafe: boolean } & LifeEnd)
  | ({
      readonly kind: 'power-cut';
      readonly clockLost: boolean;
      readonly seed: number;
      /** When the next answer to a command has reached the broker. */
      readonly atAnswer?: boolean;
    } & LifeEnd)
  | { readonly kind: 'restart'; readonly away: number }
  /** The process does nothing, as when it is stopped or its memory is swapped out. */
  | { readonly kind: 'stall'; readonly for: number }
  | { readonly kind: 'reconfigure'; readonly away: number; readonly variant: number }
  | { readonly kind: 'network'; readonly trouble: NetworkTrouble; readonly for: number; readonly path?: string }
  | {
      readonly kind: 'service';
      readonly fault: string;
      readonly for: number;
      readonly path?: string;
      readonly value?: string | number;
    }
  | { readonly kind: 'password'; readonly for: number }
  | { readonly kind: 'clock'; readonly jump: number }
  | { readonly kind: 'untrusted'; readonly for: number }
  | { readonly kind: 'service-clock'; readonly ahead: number; readonly for: number }
  /** Without `of` both directories. */
  | { readonly kind: 'disk'; readonly trouble: DiskTrouble; readonly of?: 'state' | 'run'; readonly for: number }
  | { readonly kind: 'broker'; readonly trouble: BrokerTrouble; readonly for: number }
  | { readonly kind: 'device'; readonly load: number; readonly trouble: DeviceTrouble; readonly for: number }
  | { readonly kind: 'line'; readonly load: number; readonly trouble: 'io' | 'stuck'; readonly for: number }
  | { readonly kind: 'command'; readonly load: number; readonly command: Readonly<Record<string, unknown>> }
);

export type IncidentKind = Incident['kind'];

/** Paths of which one alone may be in trouble. */
const PATHS = ['/login', '/v3/signal-index', '/v3/forecast', '/v3/maps', '/v3/region-from-loc', '/v3/my-access'];

const SERVICE_FAULTS: readonly (readonly [string, (string | number)?])[] = [
  ['401-mid-life', 3],
  ['html-401', 3],
  ['html-403', 3],
  ['429', 30],
  ['429', -1],
  ['429', '-1'],
  ['429', 100_000],
  ['429-bare'],
  ['500'],
  ['502-html'],
  ['503'],
  ['redirect'],
  ['captive-portal'],
  ['text-values', 'NaN'],
  ['nulls'],
  ['repeated-points'],
  ['unsorted-points'],
  ['missing-points'],
  ['older-generated-at', 45],
  ['model-switch'],
  ['wrong-units', 'g_co2_per_kwh'],
  ['wrong-region', 'PACW'],
  ['no-warnings-field'],
  ['warnings', 'maintenance'],
  ['map-border'],
  ['plan-change', 'free'],
];

const drawLifeEnd = (chance: Chance): LifeEnd => ({
  acts: chance.hits(0.3) ? 0 : chance.whole(0, 40),
  side: chance.hits(0.5) ? 'before' : 'after',
  away: Math.round(chance.hits(0.7) ? chance.spread(1_000, 2 * MINUTE) : chance.spread(MINUTE, 6 * HOUR)),
});

const drawLength = (chance: Chance) => Math.round(chance.spread(10_000, 8 * HOUR));

type Draw = (chance: Chance, at: number) => Incident;

function drawCommand(chance: Chance): Readonly<Record<string, unknown>> {
  const lengths = ['10m', '45m', '2h', '5h'];
  const roll = chance.fraction();
  if (roll < 0.55) return { command: 'override', level: chance.pick(['on', 'off']), for: chance.pick(lengths) };
  if (roll < 0.8) return { command: 'arm', need: chance.pick(['30m', '1h', '3h']), hoursAhead: chance.whole(2, 12) };
  return { command: 'clear' };
}

/** Each kind with the mean time between two, drawn within these hours. */
const FAMILIES: Readonly<Record<IncidentKind, { readonly hours: readonly [number, number]; readonly draw: Draw }>> = {
  kill: {
    hours: [1, 30],
    draw: (chance, at) => ({ at, kind: 'kill', failsafe: chance.hits(0.7), ...drawLifeEnd(chance) }),
  },
  'power-cut': {
    hours: [4, 60],
    draw: (chance, at) => ({
      at,
      kind: 'power-cut',
      clockLost: chance.hits(0.5),
      seed: chance.whole(0, 1e9),
      ...drawLifeEnd(chance),
    }),
  },
  restart: { hours: [4, 60], draw: (chance, at) => ({ at, kind: 'restart', away: drawLifeEnd(chance).away }) },
  stall: {
    hours: [1, 40],
    draw: (chance, at) => ({ at, kind: 'stall', for: Math.round(chance.spread(500, 2 * MINUTE)) }),
  },
  reconfigure: {
    hours: [12, 80],
    draw: (chance, at) => ({ at, kind: 'reconfigure', away: chance.whole(1_000, MINUTE), variant: chance.whole(0, 3) }),
  },
  network: {
    hours: [2, 40],
    draw: (chance, at) => ({
      at,
      kind: 'network',
      trouble: chance.pick(['down', 'slow', 'cut', 'foreign', 'swapped', 'lost', 'hang']),
      for: drawLength(chance),
      ...(chance.hits(0.4) ? { path: chance.pick(PATHS) } : {}),
    }),
  },
  service: {
    hours: [2, 40],
    draw(chance, at) {
      const [fault, value] = chance.pick(SERVICE_FAULTS);
      const path = chance.hits(0.4) ? { path: chance.pick(PATHS) } : {};
      return {
        at,
        kind: 'service',
        fault,
        for: drawLength(chance),
        ...path,
        ...(value === undefined ? {} : { value }),
      };
    },
  },
  password: { hours: [24, 100], draw: (chance, at) => ({ at, kind: 'password', for: drawLength(chance) }) },
  clock: {
    hours: [6, 60],
    draw: (chance, at) => ({
      at,
      kind: 'clock',
      jump: Math.round(chance.spread(1_000, 400 * 24 * HOUR) * (chance.hits(0.5) ? 1 : -1)),
    }),
  },
  untrusted: { hours: [12, 80], draw: (chance, at) => ({ at, kind: 'untrusted', for: drawLength(chance) }) },
  'service-clock': {
    hours: [24, 100],
    draw: (chance, at) => ({
      at,
      kind: 'service-clock',
      ahead: Math.round(chance.spread(1_000, 100 * HOUR) * (chance.hits(0.5) ? 1 : -1)),
      for: drawLength(chance),
    }),
  },
  disk: {
    hours: [4, 60],
    draw: (chance, at) => ({
      at,
      kind: 'disk',
      trouble: chance.pick(['full', 'read-only', 'io']),
      ...(chance.hits(0.5) ? { of: chance.pick(['state', 'state', 'run'] as const) } : {}),
      for: drawLength(chance),
    }),
  },
  broker: {
    hours: [3, 40],
    draw(chance, at) {
      const trouble = chance.pick(['down', 'down', 'refuses', 'acks-lost', 'forgets', 'stalls', 'stalls'] as const);
      const length = trouble === 'stalls' ? Math.round(chance.spread(2_000, 3 * MINUTE)) : drawLength(chance);
      return { at, kind: 'broker', trouble, for: length };
    },
  },
  device: {
    hours: [2, 30],
    draw: (chance, at) => ({
      at,
      kind: 'device',
      load: chance.whole(0, 5),
      trouble: chance.pick(['reboot', 'deaf', 'mute', 'gone', 'press', 'late', 'later', 'neutral', 'neutral']),
      for: Math.round(chance.spread(1_000, HOUR)),
    }),
  },
  line: {
    hours: [12, 80],
    draw: (chance, at) => ({
      at,
      kind: 'line',
      load: chance.whole(0, 5),
      trouble: chance.pick(['io', 'stuck']),
      for: Math.round(chance.spread(1_000, HOUR)),
    }),
  },
  command: {
    hours: [1, 24],
    draw: (chance, at) => ({ at, kind: 'command', load: chance.whole(0, 5), command: drawCommand(chance) }),
  },
};

export const incidentKinds = Object.keys(FAMILIES) as readonly IncidentKind[];

/** Kinds that show most where they come often and others do not blur what they did. */
const FOCUSES: readonly (readonly IncidentKind[])[] = [
  ['kill', 'command'],
  ['power-cut', 'command'],
  ['device', 'command'],
  ['device', 'restart', 'broker'],
  ['stall', 'broker', 'command'],
  ['disk', 'restart', 'kill'],
  ['network', 'service'],
];

/** The incidents of a seed: some kinds of them only, since a run with everything at once finds less than many with a few. */
export function drawIncidents(seed: number, hours: number): readonly Incident[] {
  const swarm = createChance(seed, 'swarm');
  const share = swarm.pick([0.15, 0.35, 0.6]);
  const focus = swarm.hits(0.4) ? swarm.pick(FOCUSES) : undefined;
  const incidents = incidentKinds.flatMap((kind): readonly Incident[] => {
    const isDrawn = swarm.hits(share);
    const { hours: range, draw } = FAMILIES[kind];
    const drawnMean = swarm.spread(range[0], range[1]) * HOUR;
    if (!(focus?.includes(kind) ?? isDrawn)) return [];
    const mean = focus === undefined ? drawnMean : range[0] * HOUR;
    const chance = createChance(seed, kind);
    const drawPause = () => -Math.log(1 - chance.fraction()) * mean;
    const own: Incident[] = [];
    let at = drawPause();
    while (at < hours * HOUR) {
      own.push(draw(chance, Math.round(at)));
      at += drawPause();
    }
    return own;
  });
  return [...drawBeginning(seed), ...incidents, ...drawFollowers(seed, incidents)].sort((a, b) => a.at - b.at);
}

/** Some houses begin in trouble: a new device knows no region, and has no data to go on with. */
function drawBeginning(seed: number): readonly Incident[] {
  const chance = createChance(seed, 'beginning');
  if (chance.hits(0.7)) return [];
  const incident = FAMILIES[chance.pick(['network', 'service'] as const)].draw(chance, 0);
  // Longer than other troubles: an agent with data outlives an hour, a new one shows what it is worth.
  const length = { for: Math.round(chance.spread(10 * MINUTE, 24 * HOUR)) };
  const path = chance.hits(0.5) ? '/v3/maps' : chance.pick(PATHS);
  return [{ ...incident, ...length, ...(chance.hits(0.7) ? { path } : {}) } as Incident];
}

/** Some commands are followed by a power cut, at their answer or at an act of keeping them: what was answered must be kept. */
function drawFollowers(seed: number, incidents: readonly Incident[]): readonly Incident[] {
  const chance = createChance(seed, 'followers');
  const hasPowerCuts = incidents.some(({ kind }) => kind === 'power-cut');
  return incidents.flatMap(({ at, kind }) => {
    const isFollowed = chance.hits(0.4);
    const cut = FAMILIES['power-cut'].draw(chance, at);
    const moment = chance.hits(0.5) ? { acts: 0, atAnswer: true, clockLost: false } : { acts: chance.whole(0, 30) };
    return kind === 'command' && hasPowerCuts && isFollowed ? [{ ...cut, ...moment } as Incident] : [];
  });
}

export const formatElapsed = (at: number): string => {
  const [days, rest] = [Math.floor(at / (24 * HOUR)), at % (24 * HOUR)];
  const clock = new Date(rest).toISOString().slice(11, 23);
  return `${days}d ${clock}`;
};

/** `0d 13:04:05.000 kill {…}` */
export function formatIncident({ at, kind, ...rest }: Incident): string {
  return `${formatElapsed(at)} ${kind} ${JSON.stringify(rest)}`;
}

export function parseIncident(line: string): Incident {
  const match = /^(\d+)d (\d\d):(\d\d):(\d\d\.\d{3}) (\S+) (\{.*\})$/.exec(line);
  if (match === null) throw new Error(`no incident: ${line}`);
  const [, days, h, m, s, kind, rest] = match;
  const at = Number(days) * 24 * HOUR + Number(h) * HOUR + Number(m) * MINUTE + Math.round(Number(s) * 1_000);
  return { at, kind, ...JSON.parse(rest ?? '{}') } as Incident;
}
