/** Ten devices as their vendors' documents describe them, as scripts on a broker: what each reports, what it falls back to, and what it leaves. */

import { connectAsync, type MqttClient } from 'mqtt';
import type { MqttOutputOptions } from '../../src/config/presets.ts';

/** What a device does: a level, or rules of its own. */
type Mode = 'on' | 'off' | 'neutral';

export interface DeviceState {
  readonly mode: Mode;
  readonly isPlugged: boolean;
  /** It takes energy when it may. */
  readonly hasRoom: boolean;
  readonly kwh: number;
  /** The current that it was told, where it takes one. */
  readonly amps?: number;
}

type Message = readonly [topic: string, payload: string, retain: boolean];

export interface DeviceScript {
  readonly name: string;
  readonly options: MqttOutputOptions;
  readonly commandTopic: string;
  /** Where it is asked for its state, when that is not the command topic. */
  readonly queryTopic?: string;
  /** Where it takes a current of its own. */
  readonly ampsTopic?: string;
  /** The current in a command. */
  readonly parseAmps?: (text: string) => number | undefined;
  /** Undefined: not a command, but a question. */
  readonly parse: (text: string) => Mode | 'query' | undefined;
  readonly report: (state: DeviceState) => readonly Message[];
  readonly will?: Message;
  readonly birth?: Message;
  /** What it does after a restart. */
  readonly afterReboot: Mode;
  /** A charger; what it does once a car is plugged in or gone: undefined keeps its mode. */
  readonly charger?: { readonly afterPlugIn?: Mode; readonly afterUnplug?: Mode };
  /** Whether a person can switch it, and the agent can tell that from a fall. */
  readonly hasPress: boolean;
}

const POWER_KW = 3.5;
export const chargesNow = ({ mode, isPlugged, hasRoom }: DeviceState) => isPlugged && hasRoom && mode !== 'off';
const watts = (state: DeviceState) => (chargesNow(state) ? POWER_KW * 1_000 : 0);
const plugWatts = ({ mode }: DeviceState) => (mode === 'on' ? POWER_KW * 1_000 : 0);
const byMode = (mode: Mode, on: string, off: string, neutral: string) =>
  mode === 'on' ? on : mode === 'off' ? off : neutral;

const GOE = 'go-eCharger/123456';
const goe: DeviceScript = {
  name: 'go-e',
  options: { preset: 'go-e', topic: GOE },
  commandTopic: `${GOE}/frc/set`,
  ampsTopic: `${GOE}/amp/set`,
  parse: (text) => ({ 0: 'neutral', 1: 'off', 2: 'on' })[text] as Mode | undefined,
  report: (state) => [
    [`${GOE}/nrg`, JSON.stringify([230, 230, 230, 0, 0, 0, 0, 0, 0, 0, 0, watts(state), 0, 0, 0, 0]), true],
    [`${GOE}/eto`, `${state.kwh * 1_000}`, true],
    [`${GOE}/car`, state.isPlugged ? (chargesNow(state) ? '2' : '4') : '1', true],
    [`${GOE}/amp`, `${state.amps ?? 16}`, true],
    [`${GOE}/frc`, byMode(state.mode, '2', '1', '0'), true],
  ],
  will: [`${GOE}/mcc`, 'false', true],
  birth: [`${GOE}/mcc`, 'true', true],
  afterReboot: 'neutral',
  charger: { afterPlugIn: 'neutral', afterUnplug: 'neutral' },
  hasPress: true,
};

const EVSE = 'openevse-1a2b';
const ANNOUNCE = 'openevse/announce/1a2b';
const openevse = (name: string, topic: 'override' | 'claim', release: string): DeviceScript => ({
  name,
  options: { preset: topic === 'claim' ? 'openevse-claim' : 'openevse', topic: EVSE },
  commandTopic: `${EVSE}/${topic}/set`,
  parse(text) {
    if (text === release) return 'neutral';
    const { state } = JSON.parse(text) as { state?: string };
    return state === 'active' ? 'on' : state === 'disabled' ? 'off' : undefined;
  },
  parseAmps: (text) => (text === release ? undefined : JSON.parse(text).charge_current),
  report: (state) => [
    [`${EVSE}/power`, `${watts(state)}`, false],
    [`${EVSE}/total_energy`, `${state.kwh}`, false],
    [`${EVSE}/vehicle`, state.isPlugged ? '1' : '0', false],
    [`${EVSE}/state`, state.mode === 'off' ? '254' : chargesNow(state) ? '3' : state.isPlugged ? '2' : '1', false],
    [
      `${EVSE}/${topic}`,
      JSON.stringify({ state: byMode(state.mode, 'active', 'disabled', 'null'), charge_current: state.amps }),
      true,
    ],
  ],
  will: [ANNOUNCE, '{"state":"disconnected","id":"x1a2b"}', true],
  birth: [ANNOUNCE, '{"state":"connected","id":"x1a2b","mqtt":"openevse-1a2b"}', true],
  afterReboot: 'neutral',
  // An override is released with the car; a claim stays.
  charger: topic === 'override' ? { afterUnplug: 'neutral' } : {},
  hasPress: topic === 'override',
});

const LOADPOINT = 'evcc/loadpoints/1';
const evcc: DeviceScript = {
  name: 'evcc',
  options: { preset: 'evcc', topic: LOADPOINT },
  commandTopic: `${LOADPOINT}/mode/set`,
  parse: (text) => ({ now: 'on', off: 'off', pv: 'neutral' })[text] as Mode | undefined,
  report: (state) => [
    [`${LOADPOINT}/chargePower`, `${watts(state)}`, true],
    [`${LOADPOINT}/chargedEnergy`, `${state.kwh * 1_000}`, true],
    [`${LOADPOINT}/connected`, `${state.isPlugged}`, true],
    [`${LOADPOINT}/charging`, `${chargesNow(state)}`, true],
    [`${LOADPOINT}/mode`, byMode(state.mode, 'now', 'off', 'pv'), true],
  ],
  will: ['evcc/status', 'offline', true],
  birth: ['evcc/status', 'online', true],
  afterReboot: 'neutral',
  charger: { afterUnplug: 'neutral' },
  hasPress: false,
};

const WARP = 'warp/Abc';
const warp: DeviceScript = {
  name: 'WARP',
  options: { preset: 'warp', topic: WARP },
  commandTopic: `${WARP}/evse/external_current_update`,
  parse: (text) => (JSON.parse(text).current === 0 ? 'off' : 'on'),
  parseAmps: (text) => JSON.parse(text).current / 1_000,
  report: (state) => [
    [`${WARP}/meter/values`, JSON.stringify({ power: watts(state), energy_rel: 1, energy_abs: state.kwh }), true],
    [`${WARP}/evse/state`, JSON.stringify({ charger_state: state.isPlugged ? (chargesNow(state) ? 3 : 1) : 0 }), true],
    [
      `${WARP}/evse/external_current`,
      JSON.stringify({ current: { on: (state.amps ?? 32) * 1_000, off: 0, neutral: 16_000 }[state.mode] }),
      true,
    ],
  ],
  afterReboot: 'neutral',
  charger: { afterUnplug: 'neutral' },
  hasPress: false,
};

const plugModes = (on: string, off: string) => (text: string) =>
  text === on ? 'on' : text === off ? 'off' : undefined;

const tasmota: DeviceScript = {
  name: 'Tasmota',
  options: { preset: 'tasmota', topic: 'plug' },
  commandTopic: 'cmnd/plug/POWER',
  parse: (text) => (text === '' ? 'query' : plugModes('ON', 'OFF')(text)),
  report: (state) => [
    ['tele/plug/SENSOR', JSON.stringify({ ENERGY: { Power: plugWatts(state), Total: state.kwh } }), false],
    ['stat/plug/POWER', byMode(state.mode, 'ON', 'OFF', 'OFF'), false],
  ],
  will: ['tele/plug/LWT', 'Offline', true],
  birth: ['tele/plug/LWT', 'Online', true],
  afterReboot: 'off',
  hasPress: true,
};

const SHELLY1 = 'shellies/shelly1pm-98F4';
const shelly1: DeviceScript = {
  name: 'Shelly 1',
  options: { preset: 'shelly-gen1', topic: SHELLY1 },
  commandTopic: `${SHELLY1}/relay/0/command`,
  parse: plugModes('on', 'off'),
  report: (state) => [
    [`${SHELLY1}/relay/0/power`, `${plugWatts(state)}`, false],
    [`${SHELLY1}/relay/0/energy`, `${state.kwh * 60_000}`, false],
    [`${SHELLY1}/relay/0`, byMode(state.mode, 'on', 'off', 'off'), true],
  ],
  will: [`${SHELLY1}/online`, 'false', true],
  birth: [`${SHELLY1}/online`, 'true', true],
  afterReboot: 'off',
  hasPress: true,
};

const SHELLY2 = 'shellyplus1pm-a8032a';
const shelly2: DeviceScript = {
  name: 'Shelly 2',
  options: { preset: 'shelly-gen2', topic: SHELLY2 },
  commandTopic: `${SHELLY2}/command/switch:0`,
  parse: (text) => (text === 'status_update' ? 'query' : plugModes('on', 'off')(text)),
  report: (state) => [
    [
      `${SHELLY2}/status/switch:0`,
      JSON.stringify({
        id: 0,
        output: state.mode === 'on',
        apower: plugWatts(state),
        aenergy: { total: state.kwh * 1_000 },
      }),
      false,
    ],
  ],
  will: [`${SHELLY2}/online`, 'false', true],
  birth: [`${SHELLY2}/online`, 'true', true],
  afterReboot: 'off',
  hasPress: true,
};

/** Its page on topics: `set` takes JSON alone, and states are not retained unless the owner asks for it. */
const zigbee: DeviceScript = {
  name: 'zigbee2mqtt',
  options: { preset: 'zigbee2mqtt', topic: 'zigbee2mqtt/heater' },
  commandTopic: 'zigbee2mqtt/heater/set',
  queryTopic: 'zigbee2mqtt/heater/get',
  parse: plugModes('{"state":"ON"}', '{"state":"OFF"}'),
  report: (state) => [
    [
      'zigbee2mqtt/heater',
      JSON.stringify({ state: state.mode === 'on' ? 'ON' : 'OFF', power: plugWatts(state), energy: state.kwh }),
      false,
    ],
  ],
  will: ['zigbee2mqtt/heater/availability', '{"state":"offline"}', true],
  birth: ['zigbee2mqtt/heater/availability', '{"state":"online"}', true],
  afterReboot: 'off',
  hasPress: true,
};

const esphome: DeviceScript = {
  name: 'ESPHome',
  options: { preset: 'esphome', topic: 'node/switch/relay' },
  commandTopic: 'node/switch/relay/command',
  parse: plugModes('ON', 'OFF'),
  report: (state) => [['node/switch/relay/state', byMode(state.mode, 'ON', 'OFF', 'OFF'), true]],
  will: ['node/status', 'offline', true],
  birth: ['node/status', 'online', true],
  afterReboot: 'off',
  hasPress: true,
};

export const DEVICE_SCRIPTS: readonly DeviceScript[] = [
  goe,
  openevse('OpenEVSE override', 'override', 'clear'),
  openevse('OpenEVSE claim', 'claim', 'release'),
  evcc,
  warp,
  tasmota,
  shelly1,
  shelly2,
  zigbee,
  esphome,
];

export interface ScriptedDevice {
  readonly script: DeviceScript;
  /** What it was told, in order, without questions. */
  readonly commands: readonly string[];
  state(): DeviceState;
  whenCommands(count: number): Promise<void>;
  /** While true, it answers nothing until `answer`. */
  setSlow(isSlow: boolean): void;
  answer(): Promise<void>;
  plugIn(): Promise<void>;
  unplug(): Promise<void>;
  /** Its link breaks, the broker publishes its will where it has one, and it comes back as it starts. */
  reboot(): Promise<void>;
  /** Its link breaks and stays so. */
  die(): Promise<void>;
  press(mode: Mode): Promise<void>;
  fill(): Promise<void>;
  stop(): Promise<void>;
}

export async function startScriptedDevice(url: string, script: DeviceScript): Promise<ScriptedDevice> {
  let state: DeviceState = { mode: script.afterReboot, isPlugged: false, hasRoom: true, kwh: 12.5 };
  let client: MqttClient;
  let isSlow = false;
  const commands: string[] = [];
  const waiting = new Set<() => void>();

  const publish = async ([topic, payload, retain]: Message) => {
    await client.publishAsync(topic, payload, { retain, qos: 1 });
  };
  const report = async () => {
    for (const message of script.report(state)) await publish(message);
  };
  const set = async (next: Partial<DeviceState>) => {
    state = { ...state, ...next };
    await report();
  };
  const receive = (text: string): void => {
    const mode = script.parse(text);
    if (mode !== 'query') {
      commands.push(text);
      for (const check of [...waiting]) check();
    }
    if (mode === undefined) return;
    const amps = script.parseAmps?.(text);
    if (mode !== 'query') state = { ...state, mode, ...(amps === undefined ? {} : { amps }) };
    // The link may break meanwhile.
    if (!isSlow) report().catch(() => {});
  };
  const connect = async () => {
    const { will } = script;
    client = await connectAsync(url, {
      protocolVersion: 4,
      reconnectPeriod: 200,
      clientId: `device-${script.name.replaceAll(' ', '-')}`,
      ...(will === undefined
        ? {}
        : { will: { topic: will[0], payload: Buffer.from(will[1]), retain: will[2], qos: 1 } }),
    });
    client.on('error', () => {});
    client.on('message', (topic, payload) => {
      if (topic === script.commandTopic) receive(payload.toString());
      else if (topic === script.queryTopic) report().catch(() => {});
      else state = { ...state, amps: Number(payload.toString()) };
    });
    const begin = async () => {
      await client.subscribeAsync(script.commandTopic, { qos: 1 });
      if (script.queryTopic !== undefined) await client.subscribeAsync(script.queryTopic, { qos: 1 });
      if (script.ampsTopic !== undefined) await client.subscribeAsync(script.ampsTopic, { qos: 1 });
      if (script.birth !== undefined) await publish(script.birth);
      await report();
    };
    await begin();
    // After a restart of the broker.
    client.on('connect', () => void begin().catch(() => {}));
  };
  const breakLink = async () => {
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.options.reconnectPeriod = 0;
    client.stream.destroy();
    await closed;
    client.end(true);
  };

  await connect();
  return {
    script,
    commands,
    state: () => state,
    whenCommands: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (commands.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    setSlow(slow) {
      isSlow = slow;
    },
    answer: report,
    plugIn: () => set({ isPlugged: true, mode: script.charger?.afterPlugIn ?? state.mode }),
    unplug: () => set({ isPlugged: false, mode: script.charger?.afterUnplug ?? state.mode }),
    async reboot() {
      await breakLink();
      state = { ...state, mode: script.afterReboot };
      await connect();
    },
    die: breakLink,
    press: (mode) => set({ mode }),
    fill: () => set({ hasRoom: false }),
    stop: async () => void (await client.endAsync(true)),
  };
}
