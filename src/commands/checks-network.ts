/** What `gridtide check` can find out by asking: does the broker let us in, what does the account open, where does the service say we are. Changes nothing. */

import { readFile } from 'node:fs/promises';
import { isLoopback } from '../config/addresses.ts';
import { durationText } from '../config/written.ts';
import { createSystemClock } from '../platform/clock.ts';
import { createHttp } from '../platform/http.ts';
import { createSystemRandom } from '../platform/random.ts';
import { createSecrets } from '../platform/secrets.ts';
import { sentenceOf } from '../service/describe.ts';
import { createService, type Service } from '../service/service.ts';
import { counted, minutes } from '../units.ts';
import { type BrokerLink, linkToBroker } from './broker-link.ts';
import { type Check, type Finding, note, ok, type Subject, wrong } from './checks.ts';

const LARGEST_SKEW = minutes(5);

export const checkBroker: Check = async ({ config, env, stop }) => {
  const { mqtt } = config;
  if (mqtt === undefined) return [note('mqtt', 'no broker is configured: nothing is told and no command is heard')];
  const link: BrokerLink | string = await linkToBroker(config, env, { purpose: 'check', stop });
  if (typeof link === 'string') return [wrong('mqtt.url', link)];
  try {
    const availability = await link.stored(`gridtide/${config.device}/availability`);
    const { state } = link.broker;
    const denied = state.kind === 'online' ? state.denied : [];
    if (denied.length > 0)
      return [
        wrong(
          'mqtt',
          `the broker denies ${denied.join(', ')}: let this user read and write gridtide/${config.device}/# (see systemd/mosquitto.acl)`,
        ),
      ];
    const agent = availability === 'online' ? '; an agent of this name runs' : '';
    return [ok('mqtt.url', `${mqtt.url} accepts this user${agent}`)];
  } finally {
    await link.close();
  }
};

async function serviceFor({ config: { service }, env }: Subject) {
  const ca = service.ca === undefined ? undefined : await readFile(service.ca, 'utf8').catch(() => undefined);
  const http = createHttp(ca === undefined ? {} : { ca });
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  const client = createService({
    url: service.url,
    http,
    clock: createSystemClock(),
    random: createSystemRandom(),
    credentials: async () => {
      const [username, password] = [await secrets.read(service.usernameFile), await secrets.read(service.passwordFile)];
      return username === undefined || password === undefined ? undefined : { username, password };
    },
    fleet: service.fleet,
    log: () => {},
  });
  return { client, http };
}

/** Told apart from a wrong password: a clock that strays also makes every certificate and every token odd. */
function checkSkew(client: Service, isOnThisMachine: boolean): readonly Finding[] {
  const skew = client.skew();
  if (skew === undefined || Math.abs(skew) <= LARGEST_SKEW) return [];
  const by = `${durationText(minutes(Math.round(Math.abs(skew) / 60_000)))} ${skew > 0 ? 'behind' : 'ahead of'}`;
  if (isOnThisMachine)
    return [
      note(
        'clock',
        `this device is ${by} the service on this machine: gridtide run --now TIME joins the time it is set to`,
      ),
    ];
  return [wrong('clock', `this device is ${by} the service, so it would go by the wrong hours: check its time source`)];
}

/** What the agent asks for, and what it does without it. */
const USES = [
  ['v3/forecast', 'forecast', 'loads go by the live index and by what past days were like'],
  ['v3/signal-index', 'live index', 'it is computed from the forecast'],
] as const;

async function checkAccess(
  client: Service,
  region: string | undefined,
  signalType: string,
): Promise<readonly Finding[]> {
  const access = await client.myAccess({ signalType });
  if (!access.ok) return [wrong('service', sentenceOf(access.failure))];
  const regions = access.value.signalTypes.filter((one) => one.signalType === signalType).flatMap((one) => one.regions);
  const own = regions.find((one) => one.region === region);
  if (region !== undefined && own === undefined)
    return [
      wrong(
        'service',
        `the account opens nothing of ${signalType} for ${region}: loads would stay at their fail-safe level; ask the service for a plan that does`,
      ),
    ];
  const open = new Set(
    (own === undefined ? regions : [own]).flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint)),
  );
  const isOpen = (name: string) => [...open].some((endpoint) => endpoint.replace(/^\//, '') === name);
  const [has, lacks] = [USES.filter(([name]) => isOpen(name)), USES.filter(([name]) => !isOpen(name))];
  if (has.length === 0)
    return [
      wrong('service', 'the plan opens neither forecast nor live index: the loads would stay at their fail-safe level'),
    ];
  const where = region === undefined ? counted(regions.length, 'region') : region;
  return [
    ok('service', `the plan opens ${has.map(([, words]) => words).join(' and ')} for ${where}`),
    ...lacks.map(([, words, instead]) => note('service', `the plan does not open the ${words}: ${instead}`)),
  ];
}

/** Where the service says the place is; the map held has its own check. */
async function checkRegion(client: Service, { config }: Subject) {
  const { place, service } = config;
  const answer = await client.regionFromLoc({ signalType: service.signalType, place });
  if (answer.ok)
    return {
      region: answer.value.region,
      finding: ok('place', `${answer.value.region}, ${answer.value.regionFullName}, says the service`),
    };
  return { region: undefined, finding: wrong('place', sentenceOf(answer.failure)) };
}

export const checkService: Check = async (subject) => {
  const { client, http } = await serviceFor(subject);
  const stop = () => client.stop();
  subject.stop.addEventListener('abort', stop, { once: true });
  const { url, signalType } = subject.config.service;
  try {
    const skewed = () => checkSkew(client, isLoopback(new URL(url)));
    const login = await client.login();
    if (!login.ok) return [wrong('service', sentenceOf(login.failure)), ...skewed()];
    const { region, finding } = await checkRegion(client, subject);
    const opened = await checkAccess(client, region, signalType);
    return [ok('service', `${url} accepts the account`), ...opened, finding, ...skewed()];
  } finally {
    subject.stop.removeEventListener('abort', stop);
    client.stop();
    await http.close();
  }
};
