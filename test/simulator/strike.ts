/** Makes an incident happen to a simulated house, and ends what of it lasts. */

import type { Config } from '../../src/config/config.ts';
import { listOutputLines } from '../../src/domain/levels.ts';
import { buildTopics } from '../../src/mqtt/topics.ts';
import type { FaultName } from '../../src/reference/faults/fault-rules.ts';
import { createChance } from './chance.ts';
import { ACCOUNT, DEVICE, type House, OTHER_PASSWORD, placeCredentials, readConfiguration } from './house.ts';
import { formatIncident, type Incident, type IncidentKind } from './incidents.ts';
import { endLife, lightFuse, stallLife, startLifeAfter, stopLife } from './lives.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type IncidentOf<Kind extends IncidentKind> = Extract<Incident, { readonly kind: Kind }>;
type Strikes = { readonly [Kind in IncidentKind]: (house: House, incident: IncidentOf<Kind>) => void };

/** Of subjects that say nothing about what the agent can see of the service. */
const BESIDES_SIGHT = /^(load|disk|broker)/;

/** Remembers when something was wrong last; to be called whenever that changes, and now and then. */
export function noteTroubles({ troubles, clock, auditor }: House): void {
  const { lasting } = troubles;
  if ([...lasting].some(([subject, { isMapAlone }]) => !isMapAlone && !BESIDES_SIGHT.test(subject)))
    troubles.anyAt = clock.now();
  if (lasting.has('broker')) troubles.brokerAt = clock.now();
  for (const subject of lasting.keys())
    if (subject.startsWith('load ')) auditor.disturbLoad(subject.split(' ')[1] ?? '');
}

interface Lasting {
  readonly subject: string;
  readonly length: number;
  /** Undoes it, unless it has begun anew meanwhile. */
  readonly end: () => void;
  readonly isMapAlone?: boolean;
}

function begin(house: House, { subject, length, end, isMapAlone = false }: Lasting): void {
  const { clock, troubles } = house;
  const entry = { isMapAlone };
  troubles.lasting.set(subject, entry);
  noteTroubles(house);
  clock.runAt(clock.now() + length, () => {
    if (troubles.lasting.get(subject) !== entry) return;
    noteTroubles(house);
    troubles.lasting.delete(subject);
    end();
  });
}

const synchronise = ({ machine }: House): void => {
  machine.ahead = 0;
  machine.trusted = true;
};

function losePower(house: House, { away, clockLost, seed }: IncidentOf<'power-cut'>): void {
  const { files, lines, broker, devices, machine, clock, auditor } = house;
  endLife(house, 'power-cut');
  house.lineCause = 'power';
  lines.losePower();
  files.losePower(createChance(seed, 'power'));
  for (const path of [...files.names.keys()]) if (path.startsWith('/run/')) files.remove(path);
  broker.restart({ forgets: false });
  for (const [name, device] of devices) {
    device.beginTrouble('gone');
    begin(house, { subject: `load ${name}`, length: Math.max(0, away - 500), end: () => device.endTrouble('gone') });
  }
  machine.boots += 1;
  // Whole, so that a reading of the clock is exact: a wake-up that reads a moment too early would be asked for again and again.
  machine.bootedAt = Math.floor(clock.now()) + away - 20_000;
  if (clockLost) {
    const chance = createChance(seed, 'clock');
    machine.ahead -= away + chance.within(0, HOUR);
    machine.trusted = false;
    auditor.clockDisturbed();
    begin(house, { subject: 'clock', length: away + chance.spread(1_000, 3 * HOUR), end: () => synchronise(house) });
  }
  startLifeAfter(house, away);
}

function runFailsafeProgram(house: House, lines: readonly { readonly line: number; readonly high: boolean }[]): void {
  house.lineCause = 'failsafe';
  for (const { line, high } of lines) house.lines.set(line, high);
}

/** The so-many-th load of those behind MQTT devices, or of the others. */
function pickLoad({ config, devices }: House, index: number, hasDevice: boolean): Config['loads'][number] | undefined {
  const fitting = config.loads.filter(({ name }) => devices.has(name) === hasDevice);
  return fitting[index % Math.max(1, fitting.length)];
}

const buildRule = ({ fault, path, value }: IncidentOf<'service'>) => ({
  fault: fault as FaultName,
  ...(path === undefined ? {} : { path }),
  ...(value === undefined ? {} : { value }),
});

const strikes: Strikes = {
  kill(house, incident) {
    const { life } = house;
    if (life === undefined) return;
    lightFuse(house, incident, () => {
      endLife(house, 'kill');
      if (incident.failsafe) runFailsafeProgram(house, life.failsafeLines);
      startLifeAfter(house, incident.away);
    });
  },
  'power-cut'(house, incident) {
    if (incident.atAnswer) house.onAnswer = () => losePower(house, incident);
    else lightFuse(house, incident, () => losePower(house, incident));
  },
  restart: (house, { away }) => stopLife(house, () => startLifeAfter(house, away)),
  stall: (house, { for: length }) => stallLife(house, length),
  reconfigure: (house, { away, variant }) =>
    stopLife(house, () => {
      house.config = readConfiguration(house.scenario, variant);
      startLifeAfter(house, away);
    }),
  network(house, { trouble, path, for: length }) {
    const { network } = house;
    network.trouble = { kind: trouble, path };
    const end = () => {
      network.trouble = undefined;
    };
    begin(house, { subject: 'network', length, end, isMapAlone: path === '/v3/maps' });
  },
  service(house, incident) {
    house.reference.setFaults([buildRule(incident)]);
    const end = () => house.reference.setFaults([]);
    begin(house, { subject: 'service', length: incident.for, end, isMapAlone: incident.path === '/v3/maps' });
  },
  password(house, { for: length }) {
    placeCredentials(house.files, OTHER_PASSWORD);
    begin(house, { subject: 'password', length, end: () => placeCredentials(house.files, ACCOUNT.password) });
  },
  clock(house, { jump }) {
    house.machine.ahead += jump;
    house.auditor.clockDisturbed();
    begin(house, { subject: 'clock', length: HOUR, end: () => synchronise(house) });
  },
  untrusted(house, { for: length }) {
    house.machine.trusted = false;
    house.auditor.clockDisturbed();
    begin(house, { subject: 'clock', length, end: () => synchronise(house) });
  },
  'service-clock'(house, { ahead, for: length }) {
    const { service, auditor } = house;
    service.ahead = ahead;
    auditor.clockDisturbed();
    const end = () => {
      service.ahead = 0;
      auditor.clockDisturbed();
    };
    begin(house, { subject: 'service-clock', length, end });
  },
  disk(house, { trouble, of, for: length }) {
    const { files } = house;
    files.trouble = { kind: trouble, since: house.clock.now(), ...(of && { below: `/${of}` }) };
    const end = () => {
      files.trouble = undefined;
    };
    begin(house, { subject: 'disk', length, end });
  },
  broker(house, { trouble, for: length }) {
    const { broker, devices } = house;
    if (trouble === 'down' || trouble === 'forgets') broker.restart({ forgets: trouble === 'forgets' });
    broker.endStall();
    broker.trouble = trouble === 'forgets' ? undefined : trouble;
    if (trouble === 'stalls') broker.beginStall();
    const end = () => {
      broker.trouble = undefined;
      broker.endStall();
      for (const device of devices.values()) device.reconnect();
    };
    begin(house, { subject: 'broker', length: trouble === 'forgets' ? MINUTE : length, end });
  },
  device(house, { load, trouble, for: length }) {
    const target = pickLoad(house, load, true);
    const device = target === undefined ? undefined : house.devices.get(target.name);
    if (target === undefined || device === undefined) return;
    if (trouble === 'press') {
      house.auditor.commandSent(target.name);
      house.auditor.pressed(target.name);
    }
    device.beginTrouble(trouble);
    begin(house, { subject: `load ${target.name} ${trouble}`, length, end: () => device.endTrouble(trouble) });
  },
  line(house, { load, trouble, for: length }) {
    const { lines } = house;
    const target = pickLoad(house, load, false);
    const { output } = target ?? {};
    const pin = output && listOutputLines(output).at(-1);
    if (target === undefined || pin === undefined) return;
    lines.troubles.set(pin, trouble);
    begin(house, { subject: `load ${target.name} line`, length, end: () => void lines.troubles.delete(pin) });
  },
  command(house, { load, command: { hoursAhead, ...command } }) {
    const { config, broker, auditor, scenario, clock } = house;
    const target = config.loads[load % config.loads.length];
    if (target === undefined) return;
    house.commands += 1;
    const at = scenario.start + clock.now() + Number(hoursAhead) * HOUR;
    const by = hoursAhead === undefined ? {} : { by: new Date(at).toISOString().replace(/\.\d+Z/, 'Z') };
    auditor.commandSent(target.name);
    const payload = JSON.stringify({ id: `c${house.commands}`, ...command, ...by });
    broker.publish(buildTopics({ device: DEVICE }).command(target.name), payload, { retain: false });
  },
};

export function strike(house: House, incident: Incident): void {
  const { history } = house;
  history.note(`! ${formatIncident(incident).split(' ').slice(2).join(' ')}`);
  history.count(`incident ${incident.kind}`);
  noteTroubles(house);
  const run = strikes[incident.kind] as (house: House, incident: Incident) => void;
  run(house, incident);
}
