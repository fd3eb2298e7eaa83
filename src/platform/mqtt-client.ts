/** One attempt at a broker link through mqtt.js: its options and the cause of its end. */

import type { IClientOptions, MqttClient } from 'mqtt';
import type { BrokerCredentials, BrokerOptions, BrokerWill } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import type { DisconnectReason } from './broker-disconnect.ts';
import { createPacketSizeCheck } from './packet-size-limit.ts';
import type { PingTimer } from './ping-timer.ts';

export type MqttVersion = 5 | 4;

/**
 * A pulled cable is noticed by the broker after one and a half of it, here after two at most. Not 20 s: mosquitto looks every five
 * seconds, and with the delay of the will a device was free after 36.
 */
const KEEPALIVE = seconds(18);
const CONNECT_TIMEOUT = seconds(10);
/** Largest packet accepted; a broker of version 5 learns of it. */
const MAX_PACKET = 65_536;

export interface AttemptParts {
  readonly version: MqttVersion;
  readonly pingTimer: PingTimer;
}

/** Parsed here: mqtt.js would use Node's old address parser, which warns on standard error from Node 24 on. */
function parseBrokerUrl(url: string): IClientOptions {
  const { protocol, hostname, port } = new URL(url);
  return {
    protocol: protocol === 'mqtts:' ? 'mqtts' : 'mqtt',
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port === '' ? {} : { port: Number(port) }),
  };
}

function buildWillPacket({ topic, payload, delaySeconds, retain = true }: BrokerWill, version: MqttVersion) {
  const hasDelay = version === 5 && delaySeconds !== undefined;
  const properties = hasDelay ? { properties: { willDelayInterval: delaySeconds } } : {};
  return { topic, payload: Buffer.from(payload), qos: 1, retain, ...properties } as const;
}

/** A session that is to go on outlives the delay of its will: its end would send it. */
const SESSION_MARGIN_SECONDS = 60;
const keepsSession = (will: BrokerWill | undefined) => will?.retain === false;

/** The broker forgets a session at once unless it is told to wait for as long as the will does. */
function buildProperties(will: BrokerWill | undefined): NonNullable<IClientOptions['properties']> {
  const wait = will?.delaySeconds && will.delaySeconds + (keepsSession(will) ? SESSION_MARGIN_SECONDS : 0);
  return { maximumPacketSize: MAX_PACKET, ...(wait === undefined ? {} : { sessionExpiryInterval: wait }) };
}

function buildClientOptions(
  { url, clientId, will, keepalive = KEEPALIVE }: BrokerOptions,
  { username, password, ca, certificate, key }: BrokerCredentials,
  { version, pingTimer }: AttemptParts,
): IClientOptions {
  return {
    ...parseBrokerUrl(url),
    clientId,
    clean: version === 4 || !keepsSession(will),
    protocolVersion: version,
    keepalive: keepalive / 1_000,
    timerVariant: pingTimer.timers,
    connectTimeout: CONNECT_TIMEOUT,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // 65,536 small buffers, 7 MiB, to write a number faster.
    writeCache: false,
    rejectUnauthorized: true,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(ca === undefined ? {} : { ca: [...process.getBuiltinModule('node:tls').rootCertificates, ca] }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(will === undefined ? {} : { will: buildWillPacket(will, version) }),
    ...(version === 5 ? { properties: buildProperties(will) } : {}),
  };
}

/** A client that connects once. Loads mqtt.js; throws its error on a bad address or certificate. */
export async function openMqttClient(
  options: BrokerOptions,
  credentials: BrokerCredentials,
  parts: AttemptParts,
): Promise<MqttClient> {
  // The default is the module in Node and in a bundle's chunk alike; its names are not.
  const { connect } = (await import('mqtt')).default;
  return connect(buildClientOptions(options, credentials, parts));
}

export type ClientEnd = Pick<DisconnectReason, 'code' | 'message' | 'reasonCode'>;

/** Collects why the attempt or its link ends; a packet that is too large ends it. */
export function watchClientEnd(client: MqttClient, onEnd: (end: ClientEnd) => void): void {
  let end: ClientEnd = {};
  const isTooLarge = createPacketSizeCheck(MAX_PACKET);
  client.on('error', (error) => {
    const code = getMqttErrorCode(error);
    end = { message: getErrorMessage(error), ...(code === undefined ? {} : { code }), ...end };
  });
  client.on('disconnect', ({ reasonCode }) => {
    if (reasonCode !== undefined) end = { ...end, reasonCode };
  });
  client.stream.on('data', (chunk: Uint8Array) => {
    if (!isTooLarge(chunk)) return;
    end = { message: `a message of more than ${MAX_PACKET} bytes`, ...end };
    client.stream.destroy();
  });
  client.once('close', () => {
    client.end(true);
    onEnd(end);
  });
}

export const getErrorMessage = (error: unknown) => (error instanceof Error ? error.message : `${error}`);

export function getMqttErrorCode(error: Error): string | number | undefined {
  if (!('code' in error)) return undefined;
  return typeof error.code === 'string' || typeof error.code === 'number' ? error.code : undefined;
}
