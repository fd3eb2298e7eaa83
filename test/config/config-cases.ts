/** Configurations that are taken, and ones that are refused with the sentences they get; the schema is held to the same rows. */

type Part = Readonly<Record<string, unknown>>;

export const BASE = {
  device: 'cellar',
  place: { latitude: 38.5, longitude: -122, timezone: 'America/Los_Angeles' },
  service: { url: 'https://signal.example' },
  loads: { heater: { type: 'tank', output: { kind: 'relay', pin: 17 } } },
};

/** JSON is YAML: the base with parts replaced, or taken out where undefined. */
export const toYaml = (parts: Part) => JSON.stringify({ ...BASE, ...parts }, null, 1);
export const withLoad = (part: Part, site: Part = {}) =>
  toYaml({ ...site, loads: { heater: { ...BASE.loads.heater, ...part } } });
const withOutput = (output: unknown, site: Part = {}) => withLoad({ output }, site);
const withPlace = (part: Part) => toYaml({ place: { ...BASE.place, ...part } });
const withGoal = (goal: unknown, more: Part = {}) => withLoad({ goal, ...more });
const withUrl = (url: unknown) => toYaml({ service: { url } });
const BROKER = { mqtt: { url: 'mqtt://localhost' } };
const mqtt = (part: Part) => withOutput({ kind: 'mqtt', topic: 'a/b', ...part }, BROKER);
const web = (part: Part) => withOutput({ kind: 'http', ...part });
const TURNS = {
  on: { url: 'http://192.168.1.20/relay/0?turn=on' },
  off: { url: 'http://192.168.1.20/relay/0?turn=off' },
};
const entity = (part: Part, load: Part = {}) =>
  withLoad({
    output: {
      kind: 'home-assistant',
      url: 'http://homeassistant.local:8123',
      tokenFile: 'token',
      entity: 'switch.heater',
      ...part,
    },
    ...load,
  });
const AMPS = { entity: 'number.amps' };
const PUBLIC_KEY = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const RELAY = { relay: true, publicKey: PUBLIC_KEY, region: 'CAISO_NORTH' };
const SG = { type: 'heat-pump', output: { kind: 'sg-ready', pins: [17, 27] } };

const AS_DOCUMENTED = `
device: cellar                       # names the MQTT tree
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: https://signal.example, usernameFile: u, passwordFile: p, signalType: co2_moer, ca: ca.pem}
mqtt: {url: mqtt://broker.local, usernameFile: u, passwordFile: p, commands: auto}
loads:
  car:
    type: ev
    output: {kind: mqtt, preset: openevse, topic: openevse-1a2b}
    powerKw: 7.2
    goal: {need: 4h, by: {mon-fri: "07:00", sat-sun: "09:00"}}
  heating:
    type: heat-pump
    output: {kind: sg-ready, pins: [17, 27], activeLow: true}
    onBelow: 33
    offAbove: 43
    minOn: 30m
    minOff: 15m
    failSafe: normal
    onStop: failsafe
`;

const tariff = (part: Part, site: Part = {}) =>
  toYaml({ tariff: { currency: 'USD', ...part }, objective: 'balanced', ...site });
const PEAK = { price: 0.62, hours: '16:00-21:00', days: 'mon-fri', months: 'jun-sep' };

export const VALID_CONFIGS: readonly (readonly [string, string])[] = [
  ['the documented shape', AS_DOCUMENTED],
  ['the least', toYaml({})],
  ['a service on loopback without TLS', withUrl('http://127.0.0.1:8080')],
  ['a service on loopback by IPv6', withUrl('http://[::1]:8080')],
  ['a relay without an account', toYaml({ ...BROKER, service: RELAY })],
  [
    'a relay with an account, while its key is being replaced',
    toYaml({ ...BROKER, service: { ...RELAY, ...BASE.service, publicKey: [PUBLIC_KEY, PUBLIC_KEY] } }),
  ],
  ['a NATS server', withOutput({ kind: 'mqtt', topic: 'a/b' }, { mqtt: { url: 'mqtt://localhost', nats: true } })],
  ['a broker over TLS', toYaml({ mqtt: { url: 'mqtts://broker.example:8883' } })],
  ['the address of the page', toYaml({ mqtt: { url: 'mqtt://localhost', page: 'http://cellar.local:7080' } })],
  ['no discovery', toYaml({ mqtt: { url: 'mqtt://localhost', discovery: 'none' } })],
  ['the south-west', withPlace({ latitude: -90, longitude: -180 })],
  ['durations of all units', withLoad({ minOn: '90s', minOff: '1h30m', overrideFor: '1d' })],
  ['a window over midnight', withLoad({ window: '22:00-05:00' })],
  ['a goal armed by command', withGoal({ need: '4h', armedBy: 'command' })],
  ['a goal over midnight', withGoal({ need: '8h', from: '22:00', by: '07:00' })],
  ['an energy that fits', withGoal({ need: '16kWh', from: '22:00', by: '06:00' })],
  [
    'SG-Ready over two channels of a Shelly',
    toYaml({
      mqtt: { url: 'mqtt://localhost' },
      loads: {
        heater: {
          type: 'heat-pump',
          output: {
            kind: 'sg-ready',
            switches: [
              { preset: 'shelly-gen2', topic: 'shellyplus2pm-1', channel: 0 },
              { preset: 'shelly-gen2', topic: 'shellyplus2pm-1', channel: 1 },
            ],
          },
        },
      },
    }),
  ],
  ['SG-Ready with block and force', withLoad({ ...SG, blockAbove: 90, forceBelow: 5 })],
  ['a dry run of SG-Ready', withLoad({ output: { kind: 'dry-run', as: 'sg-ready' }, failSafe: 'recommend' })],
  ['a budget as large as the load', withLoad({ powerKw: 2 }, { budgetKw: 2 })],
  ['own payloads', mqtt({ onPayload: '{"on":true}', offPayload: '{"on":false}', stateTopic: 'a/state' })],
  ['a tariff by hour, weekday and season', tariff({ rates: [PEAK], otherwise: 0.31 })],
  [
    'a tariff without a remainder',
    tariff({
      rates: [
        { price: 0.2, hours: '22:00-06:00' },
        { price: 0.3, hours: '06:00-22:00' },
      ],
    }),
  ],
  ['yen', tariff({ currency: 'JPY', otherwise: 31 })],
  ['a tariff topic', tariff({ topic: 'evcc/site/forecast/grid' }, BROKER)],
  ['a tariff file and a price of carbon', tariff({ file: 'prices.csv' }, { carbonPrice: 200 })],
  ['a counted relay', mqtt({ preset: 'tasmota', channel: 2 })],
  [
    'addresses on the network of the house',
    web({
      ...TURNS,
      state: { url: 'http://192.168.1.20/relay/0', path: 'ison', on: true, off: false },
      headers: { 'X-Site': 'cellar' },
      tokenFile: 'token',
      tokenHeader: 'X-Api-Key',
      allowPlainHttp: true,
    }),
  ],
  ['a switch of Home Assistant', entity({ allowPlainHttp: true })],
  ['one at a private address of IPv6', entity({ url: 'http://[::ffff:192.168.0.5]:8123', allowPlainHttp: true })],
  ['Home Assistant over HTTPS', entity({ url: 'https://ha.example/' })],
  [
    'a number and a plug of Home Assistant',
    entity(
      { ...AMPS, onState: 16, offState: '0', plugEntity: 'binary_sensor.plug', allowPlainHttp: true },
      { goal: { need: '4h', by: '07:00', armedBy: 'plug' } },
    ),
  ],
];

export interface InvalidConfig {
  readonly name: string;
  readonly text: string;
  readonly sentences: readonly string[];
  /** What only the program can know: calendars, sums, what belongs together. The schema takes it. */
  readonly beyondSchema?: true;
}

const invalid = (name: string, text: string, ...sentences: string[]): InvalidConfig => ({ name, text, sentences });
const unfit = (name: string, text: string, ...sentences: string[]): InvalidConfig => ({
  name,
  text,
  sentences,
  beyondSchema: true,
});

const LOAD_KEYS =
  'type, output, powerKw, goal, objective, maxDearer, carbonPrice, onBelow, offAbove, blockAbove, forceBelow, alsoBelow, minOn, minOff, maxOff, minStateTime, maxStartsPerHour, maxStartsPerDay, maxInterruptions, maxBlock, maxBlocksPerDay, startSpread, window, failSafe, initialLevel, onStop, overrideFor, observeOnly';
const DURATION = 'a duration such as 90s, 30m, 4h or 1h30m, within 0s to 12h';
const WEEK = 'a local time such as "07:00", or times by days such as {mon-fri: "07:00", sat-sun: "09:00"}';
const TIME = 'a local time such as "07:00", from 00:00 to 23:59';
const NAME = 'a name of 1 to 64 small letters a-z, digits, _ and -';
const TOPIC = 'an MQTT topic of at most 512 characters without + # and control characters';

/** Mistakes of YAML itself: there is nothing to hold a schema to. */
const YAML_ROWS: readonly InvalidConfig[] = [
  unfit('nothing', '', 'the configuration is empty; gridtide init writes one'),
  unfit('comments only', '# x\n', 'the configuration is empty; gridtide init writes one'),
  unfit(
    'UTF-16',
    '\ufffd\ufffdd\0e\0v\0',
    'the configuration is UTF-16, expected UTF-8; save it as UTF-8 and try again',
  ),
  unfit('a list', '- a\n', 'the configuration is not a list of keys with values; gridtide init writes one'),
  unfit('a key twice', `${AS_DOCUMENTED}device: attic\n`, 'line 21: the key device appears twice; keep one'),
  unfit('a tab', 'device: a\nplace:\n\tlatitude: 1\n', 'line 3: a tab is used to indent; use spaces'),
  unfit(
    'no space after the colon',
    'device:cellar\nplace: {}\n',
    'line 1: a key has no value; write "key: value", with a space after the colon',
  ),
  unfit(
    'no colon at all',
    'device: a\nlast\n',
    'line 2: a key has no value; write "key: value", with a space after the colon',
  ),
  unfit(
    'a sign of YAML',
    'device: @x\n',
    'line 1: the text begins with a sign that means something to YAML; put it in quotes',
  ),
  unfit('a quote left open', 'device: "a\n', 'line 2: Missing closing "quote'),
  unfit(
    'a colon in plain text',
    'device: a: b\n',
    'line 1: a second ": " stands on one line; quote the text or start a new line',
  ),
  unfit('two documents', 'device: a\n---\ndevice: b\n', 'line 2: a second document begins; keep everything in one'),
  unfit('an alias', 'device: &a x\nstate: *a\n', 'line 2: the alias *a is not supported; write the value out'),
  unfit('a tag', 'device: !secret x\n', 'line 1: Unresolved tag: !secret'),
  unfit(
    'a file too large',
    `#${'x'.repeat(262_144)}`,
    'the configuration is larger than 256 KiB and was not read; shorten it',
  ),
  ...['[', '{a: ', '- ', '? ', 'a: ', '[\n'].map((sign) =>
    unfit(
      `nested by ${JSON.stringify(sign)} until a parser ends`,
      `device: x\nloads: ${sign.repeat(20_000)}`,
      `line ${sign === '[\n' ? 202 : 2}: nested deeper than 12 levels; is this the configuration?`,
    ),
  ),
];

const VALUE_ROWS: readonly InvalidConfig[] = [
  invalid('no device', toYaml({ device: undefined }), `device: missing; expected ${NAME}`),
  invalid('a capital in the name', toYaml({ device: 'Cellar' }), `device: "Cellar" is not ${NAME}`),
  invalid(
    'a name of a load with a slash',
    toYaml({ loads: { 'a/b': BASE.loads.heater } }),
    `loads."a/b": "a/b" is not ${NAME}`,
  ),
  invalid('no loads', toYaml({ loads: {} }), 'loads: an empty section is not a section with one part for each load'),
  invalid(
    'an option misspelt',
    withLoad({ onbelow: 20 }),
    'loads.heater.onbelow: unknown option; did you mean onBelow?',
  ),
  invalid(
    'an option in other words',
    withLoad({ 'min-on': '5m' }),
    'loads.heater.min-on: unknown option; did you mean minOn?',
  ),
  invalid(
    'an unknown option',
    withLoad({ colour: 1 }),
    `loads.heater.colour: unknown option; expected one of ${LOAD_KEYS}`,
  ),
  invalid(
    'a short word that is another word',
    tariff({ fixed: 0.3 }),
    'tariff.fixed: unknown option; expected one of currency, rates, otherwise, file, topic',
  ),
  invalid(
    'a password in the file',
    toYaml({ service: { url: 'https://signal.example', password: 'x' } }),
    'service.password: unknown option; did you mean passwordFile?',
  ),
  invalid('nothing after a key', toYaml({ device: null }), `device: has no value; expected ${NAME}`),
  invalid('an index beyond 100', withLoad({ onBelow: 130 }), 'loads.heater.onBelow: 130 is not within 0-100'),
  invalid(
    'a number in quotes',
    withLoad({ onBelow: '30' }),
    'loads.heater.onBelow: "30" is not a number within 0-100; write it without quotes',
  ),
  invalid(
    'a decimal comma',
    withLoad({ onBelow: '30,5' }),
    'loads.heater.onBelow: "30,5" is not a number within 0-100; write a decimal point: 30.5',
  ),
  invalid(
    'a decimal comma in a duration',
    withLoad({ minOn: '1,5h' }),
    'loads.heater.minOn: "1,5h" is not a duration such as 90s, 30m, 4h or 1h30m, within 0s to 12h; write a decimal point: 1.5h',
  ),
  invalid(
    'a decimal comma between braces',
    withLoad({ 5: null }),
    'loads.heater.5: a number without a name; a decimal number is written with a point, such as 7.2',
  ),
  invalid(
    'a list for a number',
    withLoad({ onBelow: [30] }),
    'loads.heater.onBelow: a list is not a number within 0-100',
  ),
  invalid(
    'half a start',
    withLoad({ maxStartsPerDay: 1.5 }),
    'loads.heater.maxStartsPerDay: 1.5 is not a whole number within 1-1000',
  ),
  invalid('yes for true', withLoad({ observeOnly: 'yes' }), 'loads.heater.observeOnly: "yes" is not true or false'),
  invalid(
    'a duration without unit',
    withLoad({ minOn: 30 }),
    `loads.heater.minOn: 30 is not ${DURATION}; write the unit`,
  ),
  invalid('a duration in words', withLoad({ minOn: '30 min' }), `loads.heater.minOn: "30 min" is not ${DURATION}`),
  invalid('units in the wrong order', withLoad({ minOn: '30m1h' }), `loads.heater.minOn: "30m1h" is not ${DURATION}`),
  unfit(
    'a duration too long',
    withLoad({ overrideFor: '25h' }),
    'loads.heater.overrideFor: "25h" is not within 1m to 1d',
  ),
  unfit(
    'a hold devices ignore',
    withLoad({ minStateTime: '5m' }),
    'loads.heater.minStateTime: "5m" is not within 10m to 2h',
  ),
  invalid(
    'a time of day that is none',
    withGoal({ need: '4h', by: '24:61' }),
    `loads.heater.goal.by: "24:61" is not ${WEEK}`,
  ),
  invalid(
    'days that are none',
    withGoal({ need: '4h', by: { 'mon-xyz': '07:00' } }),
    'loads.heater.goal.by.mon-xyz: unknown days; expected mon to sun, a range such as mon-fri, or daily',
  ),
  invalid(
    'a bad time for some days',
    withGoal({ need: '4h', by: { mon: '7' } }),
    `loads.heater.goal.by.mon: "7" is not ${TIME}`,
  ),
  unfit(
    'a day given twice',
    withGoal({ need: '4h', by: { 'mon-fri': '07:00', fri: '08:00' } }),
    'loads.heater.goal.by.fri: names a day that mon-fri names too; give each day once',
  ),
  unfit(
    'a goal without deadline',
    withGoal({ need: '4h' }),
    'loads.heater.goal.by: missing; expected a local time such as "07:00", or armedBy: command',
  ),
  unfit(
    'a charger without its serial number',
    toYaml({
      mqtt: { url: 'mqtt://localhost' },
      loads: { car: { type: 'ev', output: { kind: 'mqtt', preset: 'go-e', topic: 'go-eCharger' } } },
    }),
    'loads.car.output: the topic "go-eCharger" names no device; the preset go-e expects one such as go-eCharger/123456',
  ),
  unfit(
    'a charger whose serial number was left out',
    mqtt({ preset: 'go-e', topic: 'go-eCharger/' }),
    'loads.heater.output: the topic "go-eCharger/" names no device; the preset go-e expects one such as go-eCharger/123456',
  ),
  unfit(
    'a current of a device that takes none',
    toYaml({
      mqtt: { url: 'mqtt://localhost' },
      loads: { plug: { type: 'generic', output: { kind: 'mqtt', preset: 'tasmota', topic: 'plug', amps: 16 } } },
    }),
    'loads.plug.output: amps 16: the preset tasmota takes no current; remove it',
  ),
  invalid(
    'a current below the least of a charger',
    toYaml({
      mqtt: { url: 'mqtt://localhost' },
      loads: { car: { type: 'ev', output: { kind: 'mqtt', preset: 'go-e', topic: 'go-eCharger/1', amps: 5 } } },
    }),
    'loads.car.output.amps: 5 is not within 6-32',
  ),
  unfit(
    'plain HTTP without the word of its owner',
    web(TURNS),
    'loads.heater.output.on.url: is not encrypted; write https://, or allowPlainHttp: true on your own network',
    'loads.heater.output.off.url: is not encrypted; write https://, or allowPlainHttp: true on your own network',
  ),
  unfit(
    'plain HTTP to the internet, as an address of IPv6',
    entity({ url: 'http://[::ffff:203.0.113.7]:8123', allowPlainHttp: true }),
    'loads.heater.output.url: [::ffff:cb00:7107] is an address of the internet, where http:// is never sent; write https://',
  ),
  unfit(
    'plain HTTP to the internet',
    entity({ url: 'http://203.0.113.7:8123', allowPlainHttp: true }),
    'loads.heater.output.url: 203.0.113.7 is an address of the internet, where http:// is never sent; write https://',
  ),
  invalid(
    'a password in the address of a device',
    web({ ...TURNS, on: { url: 'http://admin:secret@192.168.1.20/' }, allowPlainHttp: true }),
    'loads.heater.output.on.url: contains credentials; remove them and give tokenFile',
  ),
  unfit(
    'one request for both levels',
    web({ on: TURNS.on, off: TURNS.on, allowPlainHttp: true }),
    'loads.heater.output.off: is the same request as on; expected two different requests',
  ),
  unfit(
    'a body of GET',
    web({ ...TURNS, on: { ...TURNS.on, method: 'GET', body: 'on' }, allowPlainHttp: true }),
    'loads.heater.output.on.method: GET carries no body; remove it, or write POST or PUT',
  ),
  unfit(
    'a token in the configuration',
    web({ ...TURNS, headers: { Authorization: 'Bearer x' }, allowPlainHttp: true }),
    'loads.heater.output.headers.Authorization: is not for the configuration; remove it, and give a token in tokenFile',
  ),
  unfit(
    'the header of no token',
    web({ ...TURNS, tokenHeader: 'X-Api-Key', allowPlainHttp: true }),
    'loads.heater.output.tokenHeader: needs a tokenFile; add it or remove tokenHeader',
  ),
  unfit(
    'states that are one, and the unit of no counter',
    web({ ...TURNS, state: { url: TURNS.on.url, on: 1, off: '1', energyUnit: 'Wh' }, allowPlainHttp: true }),
    'loads.heater.output.state.off: "1" means on already; expected two different states',
    'loads.heater.output.state.energyUnit: needs an energyPath; add it or remove energyUnit',
  ),
  invalid(
    'an entity without its domain',
    entity({ entity: 'heater' }),
    'loads.heater.output.entity: "heater" is not an entity such as switch.car_charger',
  ),
  unfit(
    'an entity that cannot be switched',
    entity({ entity: 'sensor.heater', allowPlainHttp: true }),
    'loads.heater.output.entity: "sensor.heater" cannot be switched; expected a switch, input_boolean, select, input_select, number, input_number',
  ),
  unfit(
    'a number without its values',
    entity({ ...AMPS, onState: 'fast', allowPlainHttp: true }),
    'loads.heater.output.offState: missing; a number needs the state that it gets',
    'loads.heater.output.onState: "fast" is not a number, as number.amps expects',
  ),
  unfit(
    'the current of a charger, and values that contradict it',
    entity({ ...AMPS, amps: 16, onState: 16, offState: 6, allowPlainHttp: true }),
    'loads.heater.output.onState: amps: 16 is the state already; remove onState',
    'loads.heater.output.offState: 6 A charges a vehicle; expected less than 6, such as 0',
  ),
  unfit(
    'the current of a switch',
    entity({ amps: 16, allowPlainHttp: true }),
    'loads.heater.output.amps: a switch takes no current; remove it, or give the number that is the current',
  ),
  unfit(
    'a state that no switch has',
    entity({ onState: 'fast', allowPlainHttp: true }),
    'loads.heater.output.onState: "fast" is no state of a switch; expected on or off, or remove it',
  ),
  unfit(
    'the address of an interface in place of the base address',
    entity({ url: 'https://ha.example/api' }),
    'loads.heater.output.url: "https://ha.example/api" is more than the base address; write it without /api, query and fragment',
  ),
  unfit(
    'two loads on one entity',
    toYaml({
      loads: Object.fromEntries(
        ['a', 'b'].map((name) => [
          name,
          {
            type: 'tank',
            output: { kind: 'home-assistant', url: 'https://ha.example', tokenFile: 't', entity: 'switch.x' },
          },
        ]),
      ),
    }),
    'loads.b.output.entity: loads.a uses the entity switch.x of https://ha.example already; choose another',
  ),
  unfit(
    'two loads with one request, whose secrets are not repeated',
    toYaml({
      loads: Object.fromEntries(
        ['a', 'b'].map((name) => {
          const on = { url: 'https://plug.example/on?key=canary', body: 'canary' };
          return [name, { type: 'tank', output: { kind: 'http', on, off: { url: 'https://plug.example/off' } } }];
        }),
      ),
    }),
    'loads.b.output.on: loads.a uses a request POST to https://plug.example already; choose another',
  ),
  unfit(
    'the unit of a counter that is nowhere',
    toYaml({
      mqtt: { url: 'mqtt://localhost' },
      loads: { plug: { type: 'generic', output: { kind: 'mqtt', topic: 'plug/set', energyUnit: 'Wh' } } },
    }),
    'loads.plug.output: energyPath and energyUnit need an energyTopic; add it or remove them',
  ),
  unfit(
    'a goal armed by a plug that nothing reports',
    withGoal({ need: '4h', by: '07:00', armedBy: 'plug' }),
    'loads.heater.goal.armedBy: plug needs a charger that reports its vehicle: an output of kind mqtt with preset go-e, openevse, openevse-claim, evcc or warp, or of kind home-assistant with a plugEntity; else use command',
  ),
  unfit(
    'a goal armed by a plug without deadline',
    withGoal({ need: '4h', armedBy: 'plug' }),
    'loads.heater.goal.by: missing; expected a local time such as "07:00", by which a vehicle that is plugged in must be done',
  ),
  unfit(
    'a goal longer than the day',
    withGoal({ need: '25h', by: '07:00' }),
    'loads.heater.goal.need: "25h" is not a duration such as 4h, up to 24h, or an energy such as 12kWh',
  ),
  invalid(
    'a window that is none',
    withLoad({ window: '1-5' }),
    'loads.heater.window: "1-5" is not a daily window such as 01:00-05:00 that is not empty',
  ),
  invalid('a place off the globe', withPlace({ longitude: 200 }), 'place.longitude: 200 is not within -180 to 180'),
  invalid(
    'latitude and longitude swapped',
    withPlace({ latitude: -122, longitude: 38.5 }),
    'place.latitude: -122 is not within -90 to 90; are latitude and longitude swapped?',
  ),
  unfit(
    'a time zone misspelt',
    withPlace({ timezone: 'America/Los_Angelos' }),
    'place.timezone: "America/Los_Angelos" is not a time zone such as America/Los_Angeles; did you mean America/Los_Angeles?',
  ),
  unfit(
    'http beyond loopback',
    withUrl('http://signal.example'),
    'service.url: "http://signal.example" would send the password in clear; write https:// (http:// is for loopback only)',
  ),
  unfit(
    'a host that only begins like loopback',
    withUrl('http://127.0.0.1.example'),
    'service.url: "http://127.0.0.1.example" would send the password in clear; write https:// (http:// is for loopback only)',
  ),
  invalid(
    'an address without a protocol',
    withUrl('signal.example'),
    'service.url: "signal.example" is not an address such as https://signal.example',
  ),
  invalid(
    'a file for an address',
    withUrl('file:///etc/passwd'),
    'service.url: "file:///etc/passwd" is not an address such as https://signal.example',
  ),
  unfit(
    'an address with the version of the interface',
    withUrl('https://signal.example/v3/'),
    'service.url: "https://signal.example/v3/" ends in a version of the interface; write the base address only',
  ),
  unfit(
    'a query in the address',
    withUrl('https://signal.example?a=1'),
    'service.url: "https://signal.example?a=1" has a query or a fragment; write the base address only',
  ),
  invalid(
    'credentials in the address',
    toYaml({ mqtt: { url: 'mqtt://me:secret@localhost' } }),
    'mqtt.url: contains credentials; remove them and give usernameFile and passwordFile',
  ),
  invalid(
    'http for a broker',
    toYaml({ mqtt: { url: 'http://localhost' } }),
    'mqtt.url: "http://localhost" is not an address such as mqtt://localhost:1883 (mqtt or mqtts)',
  ),
  invalid(
    'a broker over a web socket',
    toYaml({ mqtt: { url: 'wss://broker.example/mqtt' } }),
    'mqtt.url: "wss://broker.example/mqtt" is not an address such as mqtt://localhost:1883 (mqtt or mqtts)',
  ),
];

const OUTPUT_ROWS: readonly InvalidConfig[] = [
  invalid(
    'an unknown output',
    withOutput({ kind: 'rely' }),
    'loads.heater.output.kind: "rely" is unknown; did you mean relay?',
  ),
  invalid(
    'an output without a kind',
    withOutput({ pin: 17 }),
    'loads.heater.output.kind: missing; expected relay, sg-ready, mqtt, http, home-assistant, dry-run',
  ),
  invalid(
    'the identity lines',
    withOutput({ kind: 'relay', pin: 1 }),
    'loads.heater.output.pin: 1 is not within 2-27; lines 0 and 1 belong to the identity chip of add-on boards',
  ),
  invalid(
    'a position of the header in place of a line',
    withOutput({ kind: 'relay', pin: 40 }),
    'loads.heater.output.pin: 40 is not within 2-27 (GPIO numbers, not header positions: header pin 40 is GPIO 21)',
  ),
  unfit(
    'a feedback line that is also an output',
    toYaml({ loads: { heater: { type: 'tank', output: { kind: 'relay', pin: 17, feedback: { pin: 17 } } } } }),
    'loads.heater.output.feedback.pin: loads.heater uses GPIO 17 already; choose another',
  ),
  unfit(
    'a button on the line of another load',
    toYaml({
      loads: { ...BASE.loads, pump: { type: 'tank', output: { kind: 'relay', pin: 22, button: { pin: 17 } } } },
    }),
    'loads.pump.output.button.pin: loads.heater uses GPIO 17 already; choose another',
  ),
  invalid(
    'one pin for two contacts',
    withLoad({ ...SG, output: { kind: 'sg-ready', pins: [17] } }),
    'loads.heater.output.pins: a list of 1 is not a list of two GPIO numbers, such as [17, 27]',
  ),
  invalid(
    'the same line twice',
    withLoad({ ...SG, output: { kind: 'sg-ready', pins: [17, 17] } }),
    'loads.heater.output.pins: GPIO 17 is given twice; each contact needs its own line',
  ),
  unfit(
    'a line of another load',
    toYaml({ loads: { ...BASE.loads, heating: { type: 'heat-pump', output: { kind: 'sg-ready', pins: [27, 17] } } } }),
    'loads.heating.output.pins: loads.heater uses GPIO 17 already; choose another',
  ),
  unfit(
    'a topic of another load',
    toYaml({
      ...BROKER,
      loads: {
        a: { type: 'tank', output: { kind: 'mqtt', topic: 'x/set' } },
        b: { type: 'tank', output: { kind: 'mqtt', preset: 'zigbee2mqtt', topic: 'x' } },
      },
    }),
    'loads.b.output.topic: loads.a uses the command topic x/set already; choose another',
  ),
  unfit(
    'MQTT without a broker',
    withOutput({ kind: 'mqtt', topic: 'a' }),
    'loads.heater.output: an MQTT output needs the section mqtt with the url of a broker',
  ),
  invalid('a wildcard', mqtt({ topic: 'a/#' }), `loads.heater.output.topic: "a/#" is not ${TOPIC}`),
  invalid('a NUL in a topic', mqtt({ topic: 'a\u0000b' }), `loads.heater.output.topic: "a?b" is not ${TOPIC}`),
  invalid(
    'a topic too long',
    mqtt({ topic: 'a'.repeat(513) }),
    `loads.heater.output.topic: "${'a'.repeat(40)}…" is not ${TOPIC}`,
  ),
  invalid(
    'an empty message',
    mqtt({ offPayload: '' }),
    'loads.heater.output.offPayload: "" is not a line of text that is not empty',
  ),
  unfit(
    'one message for both',
    mqtt({ onPayload: 'x', offPayload: 'x' }),
    'loads.heater.output: onPayload and offPayload are the same; expected two different payloads',
  ),
  unfit(
    'a channel of what has none',
    mqtt({ preset: 'evcc', channel: 1 }),
    'loads.heater.output: channel 1: the preset evcc has no channels; remove it',
  ),
];

const RULE_ROWS: readonly InvalidConfig[] = [
  unfit(
    'on above off',
    withLoad({ onBelow: 50, offAbove: 40 }),
    'loads.heater.offAbove: 40 is below onBelow 50; it must be at or above',
  ),
  unfit(
    'block below off',
    withLoad({ ...SG, blockAbove: 40 }),
    'loads.heater.blockAbove: 40 is below offAbove 43; it must be at or above',
  ),
  unfit(
    'force above on',
    withLoad({ ...SG, forceBelow: 40 }),
    'loads.heater.forceBelow: 40 is above onBelow 33; it must be at or below',
  ),
  unfit(
    'a maximum time off without a time to run',
    withLoad({ maxOff: '36h', minOn: '0m' }),
    'loads.heater.maxOff: 1d12h needs a minOn above 0, the time that it then runs; set minOn',
  ),
  unfit(
    'a maximum time off below the minimum',
    withLoad({ maxOff: '1h', minOff: '2h' }),
    'loads.heater.maxOff: 1h is shorter than minOff 2h; lengthen it',
  ),
  unfit(
    'a block without SG-Ready',
    withLoad({ blockAbove: 90 }),
    'loads.heater.blockAbove: 90 needs an output of kind sg-ready; remove it',
  ),
  unfit(
    'normal for a relay',
    withLoad({ failSafe: 'normal' }),
    'loads.heater.failSafe: "normal" is not a safe level of an output of kind relay; expected off or on',
  ),
  unfit(
    'on for SG-Ready',
    withLoad({ ...SG, initialLevel: 'on' }),
    'loads.heater.initialLevel: "on" is not a safe level of an output of kind sg-ready; expected normal or recommend',
  ),
  invalid(
    'block as fail-safe',
    withLoad({ ...SG, failSafe: 'block' }),
    'loads.heater.failSafe: "block" is not one of off, on, normal, recommend',
  ),
  unfit(
    'a minimum longer than the time of a goal',
    withLoad({ minOn: '30m', goal: { need: '10m', by: '07:00', from: '06:45' } }),
    'loads.heater.minOn: 30m is longer than the time from 06:45 to its deadline (15m); shorten it or widen the goal',
  ),
  unfit(
    'a minimum longer than the window',
    withLoad({ minOn: '2h', window: '23:30-00:30' }),
    'loads.heater.minOn: 2h is longer than the window 23:30-00:30 (1h); shorten it or widen the window',
  ),
  unfit(
    'a hold longer than a block',
    withLoad({ ...SG, minStateTime: '1h', maxBlock: '30m' }),
    'loads.heater.minStateTime: 1h is longer than maxBlock 30m; a block could not end: shorten it',
  ),
  unfit(
    'a goal longer than its time',
    withGoal({ need: '4h', from: '22:00', by: { 'mon-fri': '01:00', 'sat-sun': '09:00' } }),
    'loads.heater.goal.need: 4h is longer than the time from 22:00 to its deadline (3h); shorten it or widen the goal',
  ),
  unfit(
    'a last part longer than the need',
    withGoal({ need: '1h', by: '07:00', keepLast: '2h' }),
    'loads.heater.goal.keepLast: 2h is longer than the need (1h); shorten it',
  ),
  unfit(
    'an energy beyond the day',
    withGoal({ need: '50kWh', by: '07:00' }, { powerKw: 2 }),
    'loads.heater.goal.need: 50kWh at 2 kW takes 25 h, which is longer than a day (1d); shorten it or widen the goal',
  ),
  unfit(
    'a budget below one load',
    withLoad({ powerKw: 7.2 }, { budgetKw: 5 }),
    'budgetKw: 5 is below loads.heater.powerKw 7.2; that load could never run: raise budgetKw',
  ),
  unfit(
    'a broker password without a name',
    toYaml({ mqtt: { url: 'mqtt://localhost', passwordFile: 'p' } }),
    'mqtt.usernameFile: missing; a passwordFile needs it',
  ),
  unfit(
    'a certificate without its key',
    toYaml({ mqtt: { url: 'mqtts://localhost', certificate: 'c' } }),
    'mqtt.key: missing; a certificate needs it',
  ),
  unfit(
    'a key without its certificate',
    toYaml({ mqtt: { url: 'mqtts://localhost', key: 'k' } }),
    'mqtt.certificate: missing; a key needs it',
  ),
];

const TARIFF_ROWS: readonly InvalidConfig[] = [
  unfit(
    'a tariff with a hole',
    tariff({
      rates: [
        { price: 0.2, hours: '22:00-06:00' },
        { price: 0.3, hours: '06:00-21:30' },
      ],
    }),
    'tariff.rates: no rate covers sun 21:30-22:00 in jan; add one, or otherwise with the price of all other hours',
  ),
  unfit(
    'a tariff with an overlap',
    tariff({ rates: [PEAK, { price: 0.4, hours: '20:00-22:00', days: 'fri' }], otherwise: 0.31 }),
    'tariff.rates: 2 rates cover fri 20:00-21:00 in jun (0.62 and 0.4); each hour needs one',
  ),
  unfit(
    'a price in cents',
    tariff({ otherwise: 31 }),
    'tariff.rates: 31 USD for a kilowatt-hour is above 5; is it in cents? write 0.31',
  ),
  unfit('a tariff without prices', tariff({}), 'tariff: names no source of prices; expected rates, a file or a topic'),
  unfit(
    'a tariff of two sources',
    tariff({ otherwise: 0.31, topic: 'a/b' }, BROKER),
    'tariff: names several sources of prices; expected rates, a file or a topic',
  ),
  unfit(
    'a price topic without a broker',
    tariff({ topic: 'a/b' }),
    'tariff.topic: a topic needs the section mqtt with the url of a broker',
  ),
  invalid(
    'a currency by its sign',
    tariff({ currency: '$', otherwise: 0.31 }),
    'tariff.currency: "$" is not the code of a currency in three capital letters, such as USD',
  ),
  invalid(
    'a season that is none',
    tariff({ rates: [{ ...PEAK, months: 'summer' }], otherwise: 0.31 }),
    'tariff.rates.0.months: "summer" is not months such as jun-sep, dec or all',
  ),
  unfit(
    'an objective without prices',
    withLoad({ objective: 'price' }),
    'loads.heater.objective: price needs the section tariff with prices; add it, or remove objective',
  ),
  unfit(
    'a price of carbon beside price alone',
    tariff({ otherwise: 0.31 }, { objective: 'price', carbonPrice: 200 }),
    'carbonPrice: 200 needs objective: balanced; set it, or remove carbonPrice',
  ),
  invalid(
    'a bound without its sign',
    toYaml({ maxDearer: 2 }),
    'maxDearer: 2 is not a percentage such as 2%, within 0-100%',
  ),
];

const KEY = 'a key of 43 characters as gridtide relay --new-key prints it, or a list of at most 4';
const RELAY_ROWS: readonly InvalidConfig[] = [
  invalid(
    'neither an account nor a relay',
    toYaml({ service: {} }),
    'service.url: missing; expected an address such as https://signal.example, or relay: true with publicKey',
  ),
  invalid(
    'a relay without its key',
    toYaml({ ...BROKER, service: { ...RELAY, publicKey: undefined } }),
    `service.publicKey: missing; with relay: true expected ${KEY}`,
  ),
  unfit(
    'a key without a relay',
    toYaml({ service: { ...BASE.service, publicKey: PUBLIC_KEY } }),
    'service.publicKey: needs relay: true; set it, or remove publicKey',
  ),
  invalid(
    'half a key',
    toYaml({ ...BROKER, service: { ...RELAY, publicKey: 'AAAA' } }),
    `service.publicKey: "AAAA" is not ${KEY}`,
  ),
  invalid(
    'a region with a slash',
    toYaml({ ...BROKER, service: { ...RELAY, region: 'CAISO/NORTH' } }),
    'service.region: "CAISO/NORTH" is not a region such as CAISO_NORTH',
  ),
  unfit(
    'a relay without a broker',
    toYaml({ service: RELAY }),
    'service.relay: true needs the section mqtt with the url of the broker that the relay publishes to',
  ),
  unfit(
    'a topic that ends the link to a NATS server',
    withOutput({ kind: 'mqtt', topic: 'plug.cellar/set' }, { mqtt: { url: 'mqtt://localhost', nats: true } }),
    'loads.heater.output: the topic "plug.cellar/set" has a point or a space, at which a NATS server ends the link; rename the device, or remove mqtt.nats',
  ),
];

export const INVALID_CONFIGS: readonly InvalidConfig[] = [
  ...YAML_ROWS,
  ...VALUE_ROWS,
  ...OUTPUT_ROWS,
  ...RULE_ROWS,
  ...TARIFF_ROWS,
  ...RELAY_ROWS,
];
export const SCHEMA_INVALID_CONFIGS: readonly InvalidConfig[] = [
  ...VALUE_ROWS,
  ...OUTPUT_ROWS,
  ...RULE_ROWS,
  ...TARIFF_ROWS,
  ...RELAY_ROWS,
];
