/** Runs the agent in this process with the real adapters until a signal stops it. */

import { createAgent } from '../../agent/agent.ts';
import type { Config } from '../../config/config.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import type { Decision } from '../../control/control-types.ts';
import { waitForAbort } from '../../domain/abortable-wait.ts';
import { findWebDevice } from '../../domain/levels.ts';
import type { Clock, Http, Log, Ports } from '../../domain/ports.ts';
import { readBootId } from '../../platform/boot-id.ts';
import { readCodeCacheState } from '../../platform/code-cache-state.ts';
import { createFailsafeFile } from '../../platform/failsafe-file.ts';
import { createFileDisk } from '../../platform/file-disk.ts';
import { isJournal } from '../../platform/journal.ts';
import { createBrokerFactory } from '../../platform/mqtt-broker.ts';
import { createLogging, type Logging } from '../../platform/pino-log.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { findOtherAgent, registerAgent } from '../../platform/single-instance.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { createSystemdHost } from '../../platform/systemd.ts';
import { errorMessage, JobError, type Terminal } from '../shared/command.ts';
import { VERSION } from '../shared/version.ts';
import { openGpio } from './open-gpio.ts';

export interface AgentPorts {
  readonly http: Http;
  /** Absent: real time. */
  readonly clock?: Clock | undefined;
  /** Absent: that of the process, with the directories of the service manager. */
  readonly env?: Terminal['env'];
  /** Receives the last decisions before the stop sets the fail-safe levels. */
  readonly onStop?: (decisions: readonly Decision[]) => void;
  /**
   * The log is what the command is for (`gridtide try`): it ends once nobody reads it any more, and fails at its end where a full disk
   * refused the last lines. The agent of a house goes on without a log.
   */
  readonly needsLog?: boolean;
}

/** The lines, and who sets their safe levels after this process. */
async function openLines(
  config: LocatedConfig,
  env: Terminal['env'],
  log: Log,
): Promise<Pick<Ports, 'pins' | 'failsafe'>> {
  const file = createFailsafeFile(env.RUNTIME_DIRECTORY);
  const gpio = await openGpio(config, log);
  // A file of an earlier start would have the lines set through the other interface.
  if (gpio.failsafe !== undefined) await file.clear();
  return { failsafe: file, ...gpio };
}

/** A user name is not secret, and hiding a common word would hide half the log. */
function listSecretFiles({ service, mqtt, loads }: Config): ReadonlySet<string | undefined> {
  const tokens = loads.map(({ output }) => findWebDevice(output)?.tokenFile);
  return new Set([service.passwordFile, mqtt?.passwordFile, ...tokens]);
}

async function createWorld(
  config: LocatedConfig,
  { http, clock: givenClock, env = {} }: AgentPorts,
  logging: Logging,
): Promise<Ports> {
  const systemClock = createSystemClock();
  const random = createSystemRandom();
  const secretFiles = listSecretFiles(config);
  return {
    clock: givenClock ?? systemClock,
    random,
    http,
    disk: createFileDisk(config.state),
    ...(env.RUNTIME_DIRECTORY === undefined ? {} : { scratch: createFileDisk(env.RUNTIME_DIRECTORY) }),
    broker: createBrokerFactory({ clock: systemClock, random }),
    ...(await openLines(config, env, logging.log)),
    serviceManager: createSystemdHost(env),
    log: logging.log,
    secrets: createSecrets({
      credentials: env.CREDENTIALS_DIRECTORY,
      onRead: (text, path) => {
        if (secretFiles.has(path)) logging.hideSecret(text);
      },
    }),
    bootId: givenClock === undefined ? readBootId(env.RUNTIME_DIRECTORY) : undefined,
  };
}

function logCodeCache({ log }: Logging): void {
  const codeCache = readCodeCacheState();
  if (codeCache === 'accepted') log('debug', 'the code cache of the installation is used', { codeCache });
  else if (codeCache !== undefined)
    log('warn', `the code cache is not used, so each start takes longer: ${codeCache}; install the same version again`);
}

/** Resolves to the exit code once a signal has stopped the agent. */
export async function runAgent(config: LocatedConfig, ports: AgentPorts, terminal: Terminal): Promise<number> {
  const now = () => (ports.clock ?? createSystemClock()).now().wall;
  const { interactive, env } = terminal;
  const readerGone = new AbortController();
  const onReaderGone = ports.needsLog === true ? () => readerGone.abort() : undefined;
  const options = { level: config.logLevel, interactive, isJournal: isJournal(1, env), now, onReaderGone };
  const logging = await createLogging(options);
  logCodeCache(logging);
  const world = await createWorld(config, { env: terminal.env, ...ports }, logging);
  const otherAgent = await findOtherAgent(world.disk);
  if (otherAgent !== undefined)
    throw new JobError(
      `an agent runs on ${config.state} already (process ${otherAgent}), and two must not drive the same loads; stop that one first (kill ${otherAgent}; the installed one: sudo systemctl stop gridtide), or give this one its own "device" in its configuration and its own --state DIR`,
    );
  // Not awaited: the loads come first.
  void registerAgent(world.disk);
  // Through the log, which hides secrets and does not wait for its reader.
  terminal.onCrash?.((error) => {
    logging.log('error', `gridtide ends because of an internal error: ${errorMessage(error)}; a restart continues`, {
      err: error,
    });
    logging.flush();
  });
  const agent = createAgent({ config, world, version: VERSION });
  const stopped = waitForAbort(AbortSignal.any([terminal.stop, readerGone.signal]));
  try {
    // A stop does not wait for a start that waits for a broker or a device.
    await Promise.race([stopped, agent.start()]);
  } catch (error) {
    await agent.stop();
    logging.flush();
    throw error instanceof Error ? new JobError(`the agent could not start: ${error.message}`) : error;
  }
  await stopped;
  ports.onStop?.(agent.snapshot().decisions);
  await agent.stop();
  logging.log('info', 'gridtide has stopped');
  const fullDisk = logging.flush();
  if (fullDisk !== undefined && ports.needsLog === true) terminal.onOutputLost?.(fullDisk);
  return 0;
}
