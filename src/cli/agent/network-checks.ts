/** The checks that `gridtide check` makes over the network: broker, account, access and region. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import { formatDuration } from '../../domain/duration-text.ts';
import { isLoopback } from '../../domain/loopback.ts';
import { formatInstant, minutes } from '../../domain/units.ts';
import { buildTopics } from '../../mqtt/topics.ts';
import { createFileDisk } from '../../platform/file-disk.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { resolveHome } from '../../region/home-region.ts';
import { createRelayedService } from '../../relay/relayed-service.ts';
import type { SignalQuery } from '../../service/api/query-types.ts';
import type { ServiceClient } from '../../service/client.ts';
import { applyGate, deriveEntitlements, type Entitlements } from '../../service/entitlements/entitlements.ts';
import type { Outcome } from '../../service/failure.ts';
import { failureText } from '../../service/failure-text.ts';
import { readCaFile } from '../shared/ca-file.ts';
import { openServiceLink, type ServiceLink } from '../shared/service-access.ts';
import { openBrokerLink } from './broker-link.ts';
import { findMissingRights } from './broker-rights.ts';
import { type Check, type CheckContext, type Finding, note, ok, skipped, wrong } from './device-checks.ts';

const MAX_SKEW = minutes(5);

export const checkBroker: Check = async ({ config, env, stop }) => {
  const { mqtt } = config;
  if (mqtt === undefined)
    return [note('mqtt', 'no broker is configured: the agent publishes nothing and receives no commands')];
  const link = await openBrokerLink(config, env, { purpose: 'check', stop });
  if (typeof link === 'string') return [wrong('mqtt.url', link)];
  try {
    const availability = await link.readRetained(buildTopics(config).availability);
    const problems = await findMissingRights(link.broker, config, createSystemClock());
    if (problems.length > 0) return problems.map((problem) => wrong('mqtt', problem));
    const agent = availability === 'online' ? '; an agent with this name is running' : '';
    return [ok('mqtt.url', `${mqtt.url} accepts this user${agent}`)];
  } finally {
    await link.close();
  }
};

async function openCheckedService({ config: { service }, env, stop }: CheckContext, url: string): Promise<ServiceLink> {
  const { fleet, usernameFile, passwordFile } = service;
  const ca = service.ca === undefined ? undefined : await readCaFile(service.ca);
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  const credentials = async () => {
    const [username, password] = [await secrets.read(usernameFile), await secrets.read(passwordFile)];
    return username === undefined || password === undefined ? undefined : { username, password };
  };
  return openServiceLink({ url, fleet, credentials, log: () => {}, ...(ca === undefined ? {} : { ca }) }, stop);
}

/** Reported apart from a wrong password: a wrong clock also makes certificates and tokens look invalid. */
function checkSkew(client: ServiceClient, isOnThisMachine: boolean): readonly Finding[] {
  const skew = client.skew();
  if (skew === undefined || Math.abs(skew) <= MAX_SKEW) return [];
  const difference = `${formatDuration(minutes(Math.round(Math.abs(skew) / 60_000)))} ${skew > 0 ? 'behind' : 'ahead of'}`;
  if (isOnThisMachine)
    return [
      note(
        'clock',
        `this machine's clock is ${difference} the service that runs on it: gridtide run --now TIME follows its time`,
      ),
    ];
  return [
    wrong(
      'clock',
      `this machine's clock is ${difference} the service, so it would use the wrong hours: check its time source`,
    ),
  ];
}

/** The parts of the service that the agent uses, and what it does without each. */
const USES = [
  ['forecast', 'the forecast', 'loads follow the live index and the profile of past days'],
  ['index', 'the live index', 'the agent computes it from the forecast'],
] as const;

/** What the account opens for the region; where its description does not list the forecast, one request shows. */
async function readEntitlements(client: ServiceClient, query: SignalQuery): Promise<Outcome<Entitlements>> {
  const access = await client.myAccess({ signalType: query.signalType });
  if (!access.ok) return access;
  const listed = deriveEntitlements(access.value, query);
  if (listed.forecast !== 'unknown') return { ok: true, value: listed };
  const forecast = await client.forecast({ ...query, horizonHours: 0 });
  if (!forecast.ok && forecast.failure.kind !== 'not-entitled') return forecast;
  return { ok: true, value: applyGate(listed, 'forecast', forecast.ok ? 'open' : 'closed') };
}

async function checkAccess(client: ServiceClient, query: SignalQuery): Promise<readonly Finding[]> {
  const { region, signalType } = query;
  const entitlements = await readEntitlements(client, query);
  if (!entitlements.ok) return [wrong('service', failureText(entitlements.failure))];
  const open = USES.filter(([part]) => entitlements.value[part] === 'open');
  if (open.length === 0)
    return [
      wrong(
        'service',
        `the account includes no ${signalType} of ${region}, neither forecast nor live index: loads would stay at their fail-safe level; choose a plan that includes one`,
      ),
    ];
  return [
    ok('service', `the account includes ${open.map(([, name]) => name).join(' and ')} of ${region}`),
    ...USES.filter((use) => !open.includes(use)).map(([, name, instead]) =>
      note('service', `the account does not include ${name} of ${region}: ${instead}`),
    ),
  ];
}

/** The region of the place: by the local map, which has its own check; without one the service is asked, as the agent asks it. */
async function checkRegion(client: ServiceClient, { config }: CheckContext) {
  const { place, service } = config;
  const stored = service.region ?? (await findStoredRegion(config));
  if (stored !== undefined) return { region: stored, findings: [] };
  const answer = await client.regionFromLoc({ signalType: service.signalType, place });
  if (answer.ok)
    return {
      region: answer.value.region,
      findings: [ok('place', `${answer.value.region}, ${answer.value.regionFullName}, according to the service`)],
    };
  return { region: undefined, findings: [wrong('place', failureText(answer.failure))] };
}

/** Whether the present forecast of a relay is signed with the configured key and valid. */
export const checkRelay: Check = async ({ config, env, stop }) => {
  const { relay, publicKey = [], signalType } = config.service;
  if (relay !== true) return [];
  const region = config.service.region ?? (await findStoredRegion(config));
  if (region === undefined)
    return [
      wrong(
        'service.region',
        'no region is known: set service.region, import a map with gridtide map import, or start the agent where a relay publishes one with --map',
      ),
    ];
  const link = await openBrokerLink(config, env, { purpose: 'check', stop });
  if (typeof link === 'string') return [skipped('relay', 'the broker accepts no link')];
  const service = createRelayedService({
    ...{ broker: link.broker, clock: createSystemClock(), random: createSystemRandom(), publicKeys: publicKey },
    ...{ account: undefined, onNews() {}, onRefusal() {} },
  });
  try {
    const forecast = await service.forecast({ region, signalType });
    if (!forecast.ok) return [wrong('service.relay', failureText(forecast.failure))];
    const { generatedAt } = forecast.value;
    return [ok('service.relay', `a signed forecast of ${region}, generated at ${formatInstant(generatedAt)}`)];
  } finally {
    service.stop();
    await link.close();
  }
};

const findStoredRegion = ({ state, service: { signalType }, place }: LocatedConfig) =>
  resolveHome(createFileDisk(state), signalType, place).then(
    (home) => home?.region,
    () => undefined,
  );

export const checkService: Check = async (context) => {
  const { url, signalType } = context.config.service;
  if (url === undefined) return [skipped('service', 'no account is configured (service.url)')];
  const { service, close } = await openCheckedService(context, url);
  try {
    const checkOwnSkew = () => checkSkew(service, isLoopback(new URL(url).hostname));
    const login = await service.login();
    if (!login.ok) return [wrong('service', failureText(login.failure)), ...checkOwnSkew()];
    const { region, findings } = await checkRegion(service, context);
    const accessFindings = region === undefined ? [] : await checkAccess(service, { region, signalType });
    return [ok('service', `${url} accepts the account`), ...accessFindings, ...findings, ...checkOwnSkew()];
  } finally {
    await close();
  }
};
