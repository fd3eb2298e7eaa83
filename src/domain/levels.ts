/** The levels of each load type, and which of them run the load. */

import type { ContactInput, Level, LoadConfig, MqttOutputConfig, OutputConfig, WebOutputConfig } from './load-types.ts';

export const isSgReady = ({ output }: LoadConfig) =>
  output.kind === 'sg-ready' || (output.kind === 'dry-run' && output.as === 'sg-ready');

/** The lines of the board that an output drives. */
export function listOutputLines(output: OutputConfig): readonly number[] {
  if (output.kind === 'relay') return [output.pin];
  return output.kind === 'sg-ready' && 'pins' in output ? output.pins : [];
}

/** The contacts of a load that the board reads, each with its option. */
export function listInputs(output: OutputConfig): readonly (readonly [key: 'feedback' | 'button', ContactInput])[] {
  if (output.kind !== 'relay') return [];
  const { feedback, button } = output;
  return [...(feedback ? [['feedback', feedback] as const] : []), ...(button ? [['button', button] as const] : [])];
}

/** The devices on MQTT that an output commands. */
export function listMqttDevices(output: OutputConfig): readonly MqttOutputConfig[] {
  if (output.kind === 'mqtt') return [output];
  return output.kind === 'sg-ready' && 'switches' in output ? output.switches : [];
}

/** The device over HTTP that an output commands. */
export const findWebDevice = (output: OutputConfig): WebOutputConfig | undefined =>
  output.kind === 'http' || output.kind === 'home-assistant' ? output : undefined;

/** Whether a level is only sent, and confirmed by a device of its own or not at all. */
export const commandsDevice = (output: OutputConfig): boolean =>
  listMqttDevices(output).length > 0 || findWebDevice(output) !== undefined;

/** Whether the device has rules of its own, to which the agent hands the decision back at a stop. */
export const hasRelease = (output: OutputConfig): boolean =>
  (output.kind === 'mqtt' && output.releasePayload !== undefined) ||
  (output.kind === 'http' && output.release !== undefined) ||
  (output.kind === 'home-assistant' && output.releaseState !== undefined);

/** The topics of its devices that the agent reads. */
export const listReadTopics = (output: OutputConfig): readonly string[] =>
  listMqttDevices(output).flatMap(({ stateTopic, current, availability, meter, vehicle = [] }) =>
    [
      stateTopic,
      current?.topic,
      availability?.topic,
      meter?.power?.topic,
      meter?.energy?.topic,
      ...vehicle.map(({ topic }) => topic),
    ].flatMap((topic) => topic ?? []),
  );

/** The level of a load that is left alone. */
export const getIdleLevel = (load: LoadConfig): Level => (isSgReady(load) ? 'normal' : 'off');

/** The level with which a load runs. */
export const getRunLevel = (load: LoadConfig): Level => (isSgReady(load) ? 'recommend' : 'on');

export const isRunning = (level: Level | undefined) => level === 'on' || level === 'recommend' || level === 'force';

/** A level for people: a load that is left at a running one may run. */
export const formatMayRun = (level: Level) => (isRunning(level) ? `${level}: it may run` : level);

/** The level of this load that comes closest to `level`: `on` is `recommend` to a heat pump, `block` is `off` to a relay. */
export function toSupportedLevel(load: LoadConfig, level: Level): Level {
  const isSupported = isSgReady(load) ? level !== 'on' && level !== 'off' : level === 'on' || level === 'off';
  if (isSupported) return level;
  return isRunning(level) ? getRunLevel(load) : getIdleLevel(load);
}
