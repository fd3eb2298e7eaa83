/** `gridtide relay`: fetches the signal of whole regions with one account and publishes it signed, for agents without one. */

import type { KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { SERVICE } from '../../config/options.ts';
import { waitForAbort } from '../../domain/abortable-wait.ts';
import type { BrokerOptions, BrokerState, Log } from '../../domain/ports.ts';
import { formatCount } from '../../domain/units.ts';
import { formatBrokerProblem } from '../../mqtt/health.ts';
import { buildClientId } from '../../mqtt/topics.ts';
import { isJournal } from '../../platform/journal.ts';
import { createLogging, type Logging } from '../../platform/pino-log.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets, findSecretProblems } from '../../platform/secret-files.ts';
import { type MapPublisherParts, startMapPublisher } from '../../relay/map-publisher.ts';
import { type SignalPublisherParts, startSignalPublisher } from '../../relay/signal-publisher.ts';
import { createSigningKey, formatPublicKey, parsePublicKey, parseSigningKey } from '../../relay/signing-key.ts';
import type { SignalQuery } from '../../service/api/query-types.ts';
import { resolveBrokerOptions } from '../agent/broker-flags.ts';
import { createNamedBroker } from '../agent/broker-link.ts';
import { type Arguments, type CommandSpec, type Terminal, UsageError } from '../shared/command.ts';
import { openService, type ServiceRow, serviceOptions } from '../shared/service-access.ts';

type Row =
  | ServiceRow
  | 'broker'
  | 'mqtt-username-file'
  | 'mqtt-password-file'
  | 'mqtt-ca'
  | 'region'
  | 'signal'
  | 'key'
  | 'peer-key'
  | 'map'
  | 'new-key';

export const spec: CommandSpec<Row> = {
  name: 'relay',
  positionals: '',
  options: {
    ...serviceOptions,
    broker: { value: 'URL', help: 'address of the broker, such as mqtts://broker.example' },
    'mqtt-username-file': { value: 'FILE', help: "file with the relay's user name at the broker" },
    'mqtt-password-file': { value: 'FILE', help: 'its password' },
    'mqtt-ca': { value: 'FILE', help: "the broker's certificate authority, PEM" },
    region: { value: 'REGION', help: 'a region to publish', isRepeatable: true },
    signal: { value: 'TYPE', help: 'a signal to publish (co2_moer)', isRepeatable: true },
    map: {
      help: 'publish the map of each signal too, for agents without service.region: some megabytes at the broker',
    },
    key: { value: 'FILE', help: 'signing key; one key for all relays' },
    'peer-key': {
      value: 'KEY',
      help: 'public key of another relay, while keys are being replaced',
      isRepeatable: true,
    },
    'new-key': { value: 'FILE', help: 'writes a new signing key, prints its public key and ends' },
  },
  notes: [
    'Two relays ask the service as often as one; one of them takes over when the other ends. docs/relay.md has the rights at the broker.',
    'What may be passed on to whom is a matter of the terms of the account.',
  ],
};

async function writeNewKey(file: string, { out }: Terminal): Promise<number> {
  const pem = createSigningKey();
  try {
    await writeFile(file, pem, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new UsageError(
      exists
        ? `--new-key ${file}: the file exists, and agents may rely on its key; name another`
        : `--new-key ${file}: it cannot be written; name a file in a directory of this user`,
    );
  }
  out(`publicKey: ${formatPublicKey(parseSigningKey(pem) as KeyObject)}\n`);
  return 0;
}

async function readSigningKey(args: Arguments<Row>, { env }: Terminal): Promise<KeyObject> {
  const file = args.text('key');
  if (file === undefined)
    throw new UsageError('the signing key is missing; give --key FILE, or write one with --new-key FILE');
  const credentials = env.CREDENTIALS_DIRECTORY;
  const problems = await findSecretProblems([{ at: '--key', path: file, isSecret: true }], credentials);
  if (problems.length > 0) throw new UsageError(...problems.map(({ text }) => `--key: ${text}`));
  const pem = await createSecrets({ credentials }).read(file);
  const key = pem === undefined ? undefined : parseSigningKey(pem);
  if (key !== undefined) return key;
  const cause = pem === undefined ? 'it cannot be read' : 'it is no Ed25519 key in PEM';
  throw new UsageError(`--key ${file}: ${cause}; write one with --new-key FILE`);
}

/** Every region with every signal. */
function parseSignals(args: Arguments<Row>): readonly SignalQuery[] {
  const mistakes: string[] = [];
  const read = <Value>(flag: 'region' | 'signal', texts: readonly string[]): Value[] =>
    texts.flatMap((text) => {
      const { valueType } = flag === 'region' ? SERVICE.region : SERVICE.signalType;
      return (valueType.read(text, (mistake) => mistakes.push(`--${flag}: ${mistake}`)) ?? []) as Value[];
    });
  const regions = new Set(read<string>('region', args.all('region')));
  const given = args.all('signal');
  const signalTypes = new Set(read<string>('signal', given.length === 0 ? ['co2_moer'] : given));
  if (args.all('region').length === 0) mistakes.push('the regions are missing; give --region REGION, once for each');
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return [...regions].flatMap((region) => [...signalTypes].map((signalType) => ({ region, signalType })));
}

function parsePeerKeys(args: Arguments<Row>) {
  const mistakes: string[] = [];
  const keys = args.all('peer-key').flatMap((text) => {
    const read = SERVICE.publicKey.valueType.read(text, (mistake) => mistakes.push(`--peer-key: ${mistake}`));
    return read ?? [];
  });
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return keys.map(parsePublicKey);
}

const createBrokerLog =
  (log: Log) =>
  (state: BrokerState): void => {
    const problem = formatBrokerProblem(state);
    if (problem !== undefined) log('warn', problem);
    else if (state.kind === 'online') log('info', 'connected to the broker');
  };

const resolveBroker = (args: Arguments<Row>, terminal: Terminal): Promise<BrokerOptions> =>
  resolveBrokerOptions(
    {
      ...{ url: args.text('broker'), config: args.text('config'), clientId: buildClientId({ device: 'relay' }) },
      ...{ prefix: '--mqtt-', program: 'relay' },
      files: {
        usernameFile: args.text('mqtt-username-file'),
        passwordFile: args.text('mqtt-password-file'),
        ca: args.text('mqtt-ca'),
      },
    },
    terminal,
  );

/** Each password that is read is hidden from the log. */
function hidePassword({ credentials, ...options }: BrokerOptions, { hideSecret }: Logging): BrokerOptions {
  if (credentials === undefined) return options;
  const readHidden = async () => {
    const read = await credentials();
    if (read?.password !== undefined) hideSecret(read.password);
    return read;
  };
  return { ...options, credentials: readHidden };
}

function startPublishers(parts: SignalPublisherParts & MapPublisherParts, publishesMaps: boolean) {
  const signalTypes = new Set(publishesMaps ? parts.signals.map(({ signalType }) => signalType) : []);
  return [startSignalPublisher(parts), ...[...signalTypes].map((signalType) => startMapPublisher(parts, signalType))];
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const newKey = args.text('new-key');
  if (newKey !== undefined) return writeNewKey(newKey, terminal);
  const signals = parseSignals(args);
  const peerKeys = parsePeerKeys(args);
  const signingKey = await readSigningKey(args, terminal);
  const { interactive, env } = terminal;
  const logging = await createLogging({ level: 'info', interactive, isJournal: isJournal(1, env) });
  const { log, flush } = logging;
  const broker = createNamedBroker(hidePassword(await resolveBroker(args, terminal), logging));
  const access = await openService(args, terminal, { onPassword: logging.hideSecret });
  const { service, clock, close, username, password } = access;
  if ((await username()) === undefined || (await password()) === undefined) {
    await close();
    throw new UsageError('a relay needs an account; give --username-file and --password-file, or --config');
  }
  broker.watchState(createBrokerLog(log));
  const publicKeys = [signingKey, ...peerKeys];
  const random = createSystemRandom();
  const parts = { service, broker, clock, random, log, signingKey, publicKeys };
  const publishers = startPublishers({ ...parts, signals }, args.flag('map'));
  broker.start();
  log('info', `relaying ${formatCount(signals.length, 'signal')} signed with the key ${formatPublicKey(signingKey)}`);
  await waitForAbort(terminal.stop);
  for (const one of publishers) one.stop();
  await broker.stop();
  await close();
  flush();
  return 0;
}
