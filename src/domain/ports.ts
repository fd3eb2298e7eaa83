/** The interfaces to everything outside the program, and the two errors they throw: `platform` implements them for real, `simulation` and `test/doubles` virtually. */

import type { Duration, Instant, Uptime } from './units.ts';

/** Ends a wait or a subscription; may be called twice. */
export type Cancel = () => void;

export interface ClockReading {
  readonly wall: Instant;
  readonly uptime: Uptime;
  /** False while the wall clock is not synchronised: it may be years off. */
  readonly trusted: boolean;
}

export interface Clock {
  now(): ClockReading;
  /** Runs `run` once, when `uptime` is reached. The status message lists `name`. */
  wakeAt(at: Uptime, name: string, run: () => void): Cancel;
  /** How many times faster than the machine's own time it runs; absent: as fast. */
  readonly speed?: number;
}

/** Uniform in [0, 1). The only source of chance. */
export interface Random {
  fraction(): number;
}

/** What went wrong with a file. `full` and `read-only` are the device's; `damaged` is the content's. */
export type DiskFailure = { readonly kind: 'full' | 'read-only' | 'io' | 'missing'; readonly detail: string };

/** One open file, read at any offset. */
export interface OpenFile {
  readonly size: number;
  /** Exactly `length` bytes from `offset`, fewer only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /**
   * Fills `target` from `offset` on without waiting and gives the bytes read, fewer only at the end of the file. For parts of a few
   * kilobytes: waiting for a turn costs twenty times the read itself. Throws `DiskError`.
   */
  readNow(target: Uint8Array, offset: number): number;
  close(): Promise<void>;
}

/** An unfinished file; nothing appears under its name before `commit`, which is durable when it resolves. */
export interface NewFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Overwrites bytes already written: for a header that is only known at the end. */
  writeAt(offset: number, bytes: Uint8Array): Promise<void>;
  /** Syncs, renames into place and syncs the directory. */
  commit(): Promise<void>;
  /** Removes the written bytes. Safe after a failure; after `commit` it does nothing. */
  abandon(): Promise<void>;
}

/** The state directory. Names are flat (`map.co2_moer.idx`). Methods reject with `DiskError`. Reading and removing create nothing. */
export interface Disk {
  /** The whole file, or undefined when there is none. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Replaces the whole file: after a power cut there is the old or the new content, and once resolved the new. */
  replace(name: string, bytes: Uint8Array): Promise<void>;
  /**
   * As `replace`, written over a file of the same length: a sixth of the bytes to a memory card, but a power cut before it
   * resolves may leave a mixture of the old and the new content.
   */
  overwrite(name: string, bytes: Uint8Array): Promise<void>;
  /** Adds to the end; durable once resolved when `sync` is set. */
  append(name: string, bytes: Uint8Array, options: { readonly sync: boolean }): Promise<void>;
  open(name: string): Promise<OpenFile | undefined>;
  create(name: string): Promise<NewFile>;
  remove(name: string): Promise<void>;
  list(): Promise<readonly string[]>;
}

export class DiskError extends Error {
  readonly failure: DiskFailure;
  constructor(failure: DiskFailure) {
    super(failure.detail);
    this.name = 'DiskError';
    this.failure = failure;
  }
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Absolute; `https:` everywhere, `http:` on loopback only, or where `allowsPlainHttp`: anything else is the failure `insecure`. */
  readonly url: string;
  /** The owner allows `http:` to this device, which is on the network of the house. */
  readonly allowsPlainHttp?: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From start to the last byte of the body, in real time. */
  readonly deadline: Duration;
  /** The longest time without a byte of the answer, in real time; absent: the deadline alone ends it. */
  readonly silence?: Duration;
  /** Largest body accepted, counted after inflation. */
  readonly maxBytes: number;
}

export interface HttpResponseHead {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Wall time by the `Date` header, where one was sent. */
  readonly date?: Instant;
}

export interface HttpResponse extends HttpResponseHead {
  /** Inflated. */
  readonly body: Uint8Array;
}

export interface HttpStream extends HttpResponseHead {
  /** Inflated chunks, valid until the next one is read. Throws `HttpError` when the body ends badly; leaving the loop ends the request. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export type HttpFailure = {
  readonly kind:
    | 'unreachable'
    | 'deadline'
    | 'too-large'
    | 'cut-short'
    | 'insecure'
    | 'tls'
    | 'bad-encoding'
    | 'stopped';
  /** For people: the platform's own text, without secrets. */
  readonly cause: string;
};

export class HttpError extends Error {
  readonly failure: HttpFailure;
  constructor(failure: HttpFailure) {
    super(failure.cause);
    this.name = 'HttpError';
    this.failure = failure;
  }
}

/** Never follows a redirect, stores no cookies, requests gzip. */
export interface Http {
  request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse | HttpFailure>;
  stream(request: HttpRequest, signal?: AbortSignal): Promise<HttpStream | HttpFailure>;
  close(): Promise<void>;
}

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly duplicate: boolean;
  /** Where the sender wants the answer, and what it will know it by (MQTT 5). */
  readonly responseTopic?: string;
  readonly correlation?: Uint8Array;
}

export interface PublishOptions {
  readonly retain: boolean;
  /** Retained no longer than this, which MQTT 5 alone can; before, the message is not retained at all. */
  readonly expiresSeconds?: number;
  /** Of the command that this message answers (MQTT 5). */
  readonly correlation?: Uint8Array;
}

export type BrokerState =
  | { readonly kind: 'connecting' }
  /** `denied`: topics the broker refused to let this client publish or read, for people; it may grow while online. */
  | { readonly kind: 'online'; readonly version: 5 | 4; readonly denied: readonly string[] }
  /** `cause` for people; `refused` when only a change helps (credentials, certificate, a client id in use). */
  | { readonly kind: 'offline'; readonly cause: string; readonly refused: boolean };

export interface BrokerWill {
  readonly topic: string;
  readonly payload: string;
  /** How long the broker waits for the link to come back before it publishes the will (MQTT 5). */
  readonly delaySeconds?: number;
  /** True unless said otherwise. False: a command to a device, never stored; the link then goes on with its session, so that one that is back in time sends none (MQTT 5). */
  readonly retain?: boolean;
}

/** One link to an MQTT broker. Once started it connects and reconnects by itself; it queues nothing while offline. Never throws. */
export interface Broker {
  start(): void;
  readonly state: BrokerState;
  /** `report` is called at each change of state; on `online` every subscriber subscribes and publishes again. */
  watchState(report: (state: BrokerState) => void): Cancel;
  /** True once the broker has acknowledged it (QoS 1); false when offline or refused: the owner stores the last value and sends it when online again. */
  publish(topic: string, payload: string | Uint8Array, options: PublishOptions): Promise<boolean>;
  /**
   * `receive` is called for each message of the topic until the link is lost. False when refused. `+` stands for any one level;
   * filters that share a topic are not for one link: a broker may send a message once for each of them.
   */
  subscribe(filter: string, receive: (message: BrokerMessage) => void, options: SubscriptionOptions): Promise<boolean>;
  /** True once the broker has answered on this link, and so has not given it up before the call. */
  ping(): Promise<boolean>;
  /** Publishes `last` (retained), then leaves without the will. May be called twice. */
  stop(last?: BrokerWill): Promise<void>;
}

export interface SubscriptionOptions {
  /**
   * True: the stored message is wanted and `retained` marks it alone. False: it is not wanted (version 4 sends it all the
   * same), and `retained` also marks a live message that was published to be stored (version 5 only). One topic is read in one way.
   */
  readonly wantsRetained: boolean;
  /** A message may be lost, which costs a broker of many thousand links less (QoS 0); the subscriber subscribes again for the stored one. */
  readonly allowsLoss?: boolean;
}

export interface BrokerCredentials {
  readonly username?: string;
  readonly password?: string;
  /** PEM texts: authority to trust beside the system's, own certificate and its key. */
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** What the sentences about a link name: who connects, and the options that a person would change. */
export interface BrokerNames {
  /** Undefined for a command, which ends without the link or says itself what it does. */
  readonly program: 'agent' | 'relay' | 'page' | undefined;
  readonly url: string;
  /** User name and password. */
  readonly login: readonly [string, string];
  readonly ca: string;
  /** Certificate and key; undefined where the program has no option for them. */
  readonly ownCertificate?: readonly [string, string];
}

export interface BrokerOptions {
  /** `mqtt:` or `mqtts:`. */
  readonly url: string;
  readonly clientId: string;
  /** An agent's, and the options of its configuration, unless given. */
  readonly names?: BrokerNames;
  /** Asked before each attempt, so that changed files count; undefined: they cannot be read, and no attempt is made. */
  readonly credentials?: () => Promise<BrokerCredentials | undefined>;
  readonly will?: BrokerWill;
  /**
   * 18 s unless said otherwise, and one for all links of an agent: where the broker kept this one longer than a link that releases a device,
   * the agent would read the release as a press. A dead link is noticed by the broker after one and a half of it, here after two at most.
   */
  readonly keepalive?: Duration;
}

export type GpioFailure = { readonly kind: 'busy' | 'missing' | 'forbidden' | 'io'; readonly detail: string };

/** One output line, opened at a level without a glitch. `high` is physical. */
export interface GpioLine {
  write(high: boolean): Promise<GpioFailure | undefined>;
  read(): Promise<boolean | GpioFailure>;
  /** Lets go of the line without changing its level where the kernel allows that. */
  close(): Promise<void>;
}

export interface InputOptions {
  /** The level of the line while nothing is connected; some kernel interfaces leave it as the board has it. */
  readonly pull: 'up' | 'down';
  /** A level that lasts shorter is no change. */
  readonly debounce: Duration;
  /** Called at each change of the level. */
  readonly onLevel: (high: boolean) => void;
}

interface OutputOptions {
  readonly initiallyHigh: boolean;
  /** Called where the line was lost and opened again, and has another level than the one written last. */
  readonly onLevel?: (high: boolean) => void;
}

/** One line that is only read; levels are physical. */
export interface GpioInput {
  read(): Promise<boolean | GpioFailure>;
  close(): Promise<void>;
}

export interface GpioLines {
  /** Opens a line that is read, by its number on the header's chip. */
  watch(line: number, options: InputOptions): Promise<GpioInput | GpioFailure>;
  /** Opens a line by its number on the header's chip. A line that is already an output keeps its level, which `read` returns. */
  open(line: number, options: OutputOptions): Promise<GpioLine | GpioFailure>;
}

/** A line of the header and the level on the wire that is safe for its load. */
export interface FailsafeLine {
  readonly line: number;
  readonly high: boolean;
}

/** The levels that another program sets on the lines after this process has ended, however it ended. */
export interface Failsafe {
  /** Replaces what was left before; to be called before the first line is driven. False when it cannot be left. */
  save(lines: readonly FailsafeLine[]): Promise<boolean>;
  /** After an orderly stop, in which what had to be set was set. */
  clear(): Promise<void>;
}

/** The service manager, where there is one. */
export interface ServiceManager {
  notifyReady(): void;
  /** A short sentence for `systemctl status`. */
  setStatus(text: string): void;
  /** Tells the service manager that the program is alive; called only when its parts have reported. */
  notifyAlive(): void;
  notifyStopping(): void;
  /** How often `alive` is wanted, when a watchdog runs. */
  readonly watchdogInterval?: Duration;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Not the names that every event has: a reader would confuse them. */
type LogFields = Readonly<Record<string, unknown>> & {
  readonly level?: never;
  readonly time?: never;
  readonly msg?: never;
};

/** One event a line; `message` is for people, `fields` for machines. Secrets never enter. */
export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** Files outside the state directory that the configuration names: credentials, certificates, prices. Read anew each time. */
export interface Secrets {
  /**
   * Without the trailing line break; undefined when it cannot be read. One that is `public` is read where its owner keeps it, and only
   * where that fails from the copy of the service manager, which stays as it was at the start.
   */
  read(path: string, kind?: 'public'): Promise<string | undefined>;
}

/** All of it, as the agent is given it. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  /** A directory that the next boot empties and where writes cause no wear; absent where there is none. */
  readonly scratch?: Disk;
  readonly http: Http;
  readonly broker: (options: BrokerOptions) => Broker;
  /** Absent where no load is wired to a GPIO line. */
  readonly pins?: GpioLines;
  readonly failsafe?: Failsafe;
  readonly serviceManager: ServiceManager;
  readonly log: Log;
  readonly secrets: Secrets;
  /** Names the present boot of the machine; undefined where that cannot be known: then every start counts as a boot. */
  readonly bootId: string | undefined;
}
