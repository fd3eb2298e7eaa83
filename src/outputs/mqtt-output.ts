/** A load behind an MQTT device: its commands, its reported level and its release. */

import type { Level, MqttOutputConfig } from '../domain/load-types.ts';
import type { Broker, Clock, Log } from '../domain/ports.ts';
import { seconds } from '../domain/units.ts';
import { buildBusyFailure, createCommandSender } from './command-sender.ts';
import { createDeviceLink } from './device-link.ts';
import { createLevelKeeper } from './level-keeper.ts';
import type { DeviceLease, Output, OutputFailure } from './output.ts';

/** For the link and the first state at the start; then the agent goes on without. */
export const OPEN_TIMEOUT = seconds(3);

export interface MqttOutputParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: DeviceLease;
  /** Sends of one command; fewer where a person waits for the end of it. */
  readonly maxSends?: number;
}

export function createMqttOutput(parts: MqttOutputParts): Output {
  const { load, config, broker, lease } = parts;
  let report: (news: Level | OutputFailure) => void = () => {};
  /** What the device reports until then is the answer of `open`. */
  let isOpened = false;

  const link = createDeviceLink({
    ...parts,
    onLevel(level) {
      if (!sender.isSending()) keeper.checkLevel(level);
    },
    async onUp() {
      await lease.acquire();
      if (!sender.isSending()) await keeper.resend();
    },
  });
  const sender = createCommandSender({ ...parts, link });
  const keeper = createLevelKeeper({ ...parts, link, sender, report: (news) => isOpened && report(news) });

  return {
    async open() {
      await link.start();
      if (config.stateTopic !== undefined)
        await link.waitUntil(
          () => link.reportedLevel() !== undefined || !link.isStarted() || broker.state.kind === 'offline',
          OPEN_TIMEOUT,
        );
      isOpened = true;
      const other = lease.otherHolder();
      if (other !== undefined) return buildBusyFailure(other);
      const level = link.reportedLevel();
      return level === undefined ? {} : { level };
    },
    async apply(level) {
      const command = { payload: getCommandPayload(load, config, level), level };
      await link.start();
      isOpened = true;
      keeper.setCommand(command);
      return sender.send(command);
    },
    read: async () => (link.isOnline() ? link.reportedLevel() : undefined),
    watch(listener) {
      report = listener;
    },
    async release() {
      const { releasePayload } = config;
      const command = releasePayload === undefined ? undefined : { payload: requirePayload(load, releasePayload) };
      keeper.setCommand(command);
      if (command !== undefined) await sender.send(command);
    },
    async close() {
      keeper.stop();
      sender.cancel();
      link.stop();
      await lease.release();
    },
  };
}

function getCommandPayload(load: string, config: MqttOutputConfig, level: Level): string {
  if (level === 'on') return requirePayload(load, config.onPayload);
  if (level === 'off') return requirePayload(load, config.offPayload);
  throw new Error(`load ${load}: an MQTT device knows on and off, not "${level}"`);
}

/** Some devices answer an empty command as a question (Tasmota), and a broker forgets what it stored. */
function requirePayload(load: string, payload: string): string {
  if (payload === '') throw new Error(`load ${load}: an empty MQTT payload is no command`);
  return payload;
}
