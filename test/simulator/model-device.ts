/** An MQTT device of the simulated house: does what it is told and reports it, except on its bad days. */

import type { MqttOutputConfig } from '../../src/domain/load-types.ts';
import type { DeviceTrouble } from './incidents.ts';
import type { ModelBroker } from './model-broker.ts';
import type { SimClock } from './sim-clock.ts';

/** `own`: it follows rules of its own. */
type DeviceMode = 'on' | 'off' | 'own';
type ChangeCause = 'agent' | 'device' | 'person';

export interface ModelDevice {
  isRunning(): boolean;
  /** How it was told last. */
  readonly mode: DeviceMode;
  beginTrouble(trouble: DeviceTrouble): void;
  endTrouble(trouble: DeviceTrouble): void;
  /** Announces itself and reports its state, as devices do once their broker is back. */
  reconnect(): void;
}

export interface ModelDeviceParts {
  readonly config: MqttOutputConfig;
  readonly broker: ModelBroker;
  readonly clock: SimClock;
  /** Whether it draws power by its own rules. */
  readonly runsByItself: boolean;
  readonly onChange: (isRunning: boolean, cause: ChangeCause) => void;
}

/** What each device reports when nobody commands it; the others fall to off. */
const OWN_STATES: Readonly<Record<string, string>> = {
  openevse: '{"state":"null"}',
  'openevse-claim': 'null',
  'go-e': '0',
  evcc: 'pv',
};
const RETAINS_STATE = ['openevse', 'openevse-claim', 'go-e', 'esphome', 'evcc', 'warp'];

function formatState(
  { preset, statePath, onPayload, offPayload, ...config }: MqttOutputConfig,
  mode: DeviceMode,
): string {
  const { stateOn = onPayload, stateOff = offPayload } = config;
  if (mode === 'own') return OWN_STATES[preset] ?? stateOff;
  const value = mode === 'on' ? stateOn : stateOff;
  if (statePath === undefined) return value;
  return `{"${statePath}":${/^(true|false|\d+)$/.test(value) ? value : JSON.stringify(value)}}`;
}

export function createModelDevice({ config, broker, clock, runsByItself, onChange }: ModelDeviceParts): ModelDevice {
  const { preset, commandTopic, stateTopic, availability, query } = config;
  const restingMode: DeviceMode = preset in OWN_STATES ? 'own' : 'off';
  const troubles = new Set<DeviceTrouble>();
  let mode: DeviceMode = restingMode;
  let wasRunning = false;

  const isPowered = () => !troubles.has('reboot') && !troubles.has('gone');
  const isRunning = () => isPowered() && (mode === 'on' || (mode === 'own' && runsByItself));
  const note = (cause: ChangeCause): void => {
    if (isRunning() === wasRunning) return;
    wasRunning = isRunning();
    onChange(wasRunning, cause);
  };
  const report = (): void => {
    const length = troubles.has('later') ? 25_000 : troubles.has('late') ? 7_000 : 150;
    clock.runAt(clock.now() + length, () => {
      if (stateTopic === undefined || !isPowered() || troubles.has('mute')) return;
      broker.publish(stateTopic, formatState(config, mode), { retain: RETAINS_STATE.includes(preset) });
    });
  };
  const announce = (isThere: boolean): void => {
    if (availability === undefined) return;
    const { topic, path, online, offline } = availability;
    const word = isThere ? online : offline;
    broker.publish(topic, path === undefined ? word : `{"${path}":"${word}"}`, { retain: true });
  };
  const obey = (payload: string, cause: ChangeCause): void => {
    if (payload === config.onPayload) mode = 'on';
    else if (payload === config.offPayload) mode = 'off';
    else if (payload === config.releasePayload) mode = 'own';
    else return;
    note(cause);
    report();
  };
  const startAgain = (): void => {
    mode = restingMode;
    announce(true);
    note('device');
    report();
  };

  broker.onMessage((topic, payload, isWill) => {
    if (!isPowered() || troubles.has('deaf')) return;
    const isQuery = query !== undefined && topic === query.topic && payload === query.payload;
    if (isQuery) report();
    else if (topic === commandTopic && payload !== '')
      clock.runAt(clock.now() + 40, () => isPowered() && obey(payload, isWill ? 'device' : 'agent'));
  });
  /** Devices whose states grow old repeat them. */
  const repeat = (interval: number): void => {
    clock.runAt(clock.now() + interval, () => {
      report();
      repeat(interval);
    });
  };
  announce(true);
  note('device');
  report();
  if (config.stateMaxAge !== undefined) repeat(config.stateMaxAge / 3);

  return {
    isRunning,
    reconnect() {
      if (!isPowered()) return;
      announce(true);
      report();
    },
    get mode() {
      return mode;
    },
    beginTrouble(trouble) {
      if (trouble === 'press' || trouble === 'neutral') {
        if (!isPowered()) return;
        const isPress = trouble === 'press';
        mode = isPress ? (wasRunning ? 'off' : 'on') : restingMode;
        note(isPress ? 'person' : 'device');
        report();
        return;
      }
      troubles.add(trouble);
      if (isPowered()) return;
      announce(false);
      note('device');
    },
    endTrouble(trouble) {
      if (!troubles.delete(trouble)) return;
      if (isPowered() && (trouble === 'reboot' || trouble === 'gone')) startAgain();
      else if (trouble === 'mute') report();
    },
  };
}
