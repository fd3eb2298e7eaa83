/** The output of a load on one GPIO line, written and read back, with a feedback contact and a push button where they are wired. */

import type { ContactInput, Level, RelayConfig } from '../domain/load-types.ts';
import type { Clock, GpioLine, GpioLines } from '../domain/ports.ts';
import { milliseconds } from '../domain/units.ts';
import { type BoardContact, createBoardContact } from './board-contact.ts';
import { createContactFeedback } from './contact-feedback.ts';
import type { DeviceHandlers, Output, OutputFailure } from './output.ts';

const BUTTON_DEBOUNCE = milliseconds(30);

export interface RelayOutputParts {
  readonly load: string;
  readonly config: RelayConfig;
  /** Taken by a line that was no output before; one that is keeps what it has. */
  readonly initialLevel: Level;
  readonly pins: GpioLines;
  readonly clock: Clock;
}

export function createRelayOutput(parts: RelayOutputParts): Output {
  const { load, config, pins, clock } = parts;
  const coil = createCoil(parts, (level) => {
    feedback?.expect(level);
    report(level);
  });
  let handlers: DeviceHandlers | undefined;
  let report: Parameters<Output['watch']>[0] = () => {};

  const watchDevice = (given: DeviceHandlers): void => {
    handlers = given;
  };
  const reportStatus = (): void => {
    const [sent, confirmed] = [coil.sent(), feedback?.level()];
    if (sent !== undefined && confirmed !== undefined) handlers?.onStatus({ sent, confirmed });
  };
  const feedback =
    config.feedback &&
    createContactFeedback({
      ...{ load, line: config.pin, config: config.feedback, pins, clock, onContact: reportStatus },
      ...{ report: (update) => report(update), switchOff: () => coil.write('off') },
    });
  const button =
    config.button &&
    createButton(config.button, pins, () =>
      handlers?.onButton?.((feedback?.level() ?? coil.sent()) === 'on' ? 'off' : 'on'),
    );
  const inputs = [feedback, button].filter((input) => input !== undefined);
  /** Where one cannot be opened, the load is switched without it. */
  const openInputs = () => openAll(inputs).then((failure) => handlers?.onInputs?.(failure));
  /** The contact is nearer to the load than the line. */
  const read = async () => preferContact(await coil.read(), feedback?.level());
  return {
    async open() {
      const level = await coil.read();
      if (typeof level !== 'string') return level;
      await openInputs();
      reportStatus();
      return { level: feedback?.level() ?? level };
    },
    async apply(level) {
      const failure = feedback?.findRefusal(level) ?? (await coil.write(level));
      if (failure !== undefined) return failure;
      await openInputs();
      const contactFailure = await feedback?.awaitContact(level);
      reportStatus();
      return contactFailure;
    },
    read,
    watch(onReport) {
      report = onReport;
    },
    ...(inputs.length === 0 ? {} : { watchDevice }),
    release: async () => false,
    async close() {
      await Promise.all([coil, ...inputs].map((one) => one.close()));
    },
  };
}

const preferContact = (found: Level | OutputFailure, contact: Level | undefined) =>
  typeof found === 'string' ? (contact ?? found) : found;

/** The first failure. */
async function openAll(inputs: readonly Pick<BoardContact, 'open'>[]): Promise<OutputFailure | undefined> {
  const failures = await Promise.all(inputs.map((input) => input.open()));
  return failures.find((failure) => failure !== undefined);
}

const createButton = (config: ContactInput, pins: GpioLines, onPress: () => void) =>
  createBoardContact({
    ...{ name: 'button', config, pins, debounce: BUTTON_DEBOUNCE },
    onChange(isPressed) {
      if (isPressed) onPress();
    },
  });

/** The line of the relay, opened when it is needed. */
function createCoil({ load, config, initialLevel, pins }: RelayOutputParts, onFound: (level: Level) => void) {
  const { pin: line, activeLow } = config;
  const isHigh = (level: Level) => isRelayOn(load, level) !== activeLow;
  let pin: GpioLine | undefined;
  /** The level found at the start or after a loss of the line, or written since. */
  let sent: Level | undefined;

  const toLevel = (high: boolean): Level => (high !== activeLow ? 'on' : 'off');
  const onLevel = (high: boolean): void => {
    sent = toLevel(high);
    onFound(sent);
  };
  const openPin = async (): Promise<GpioLine | OutputFailure> => {
    if (pin !== undefined) return pin;
    const opened = await pins.open(line, { initiallyHigh: isHigh(initialLevel), onLevel });
    if ('kind' in opened) return opened;
    pin = opened;
    return opened;
  };
  /** A line that failed is opened anew the next time: its chip may have disappeared and come back. */
  const close = async (): Promise<void> => {
    const openedPin = pin;
    pin = undefined;
    await openedPin?.close();
  };
  const read = async (): Promise<Level | OutputFailure> => {
    const openedPin = await openPin();
    if ('kind' in openedPin) return openedPin;
    const high = await openedPin.read();
    if (typeof high !== 'boolean') {
      await close();
      return high;
    }
    const level = toLevel(high);
    sent ??= level;
    return level;
  };
  const write = async (level: Level): Promise<OutputFailure | undefined> => {
    const wanted = isHigh(level);
    const opened = await openPin();
    if ('kind' in opened) return opened;
    const failure = await opened.write(wanted);
    if (failure !== undefined) {
      await close();
      return failure;
    }
    const found = await read();
    if (found !== level) return typeof found === 'string' ? buildStuckFailure(line, level) : found;
    sent = level;
    return undefined;
  };
  return { read, write, close, sent: () => sent };
}

export const buildStuckFailure = (line: number, level: Level): OutputFailure => ({
  kind: 'unconfirmed',
  detail: `line ${line} was written for "${level}" and reads the other level, so the load may not have switched: check the relay board and its wiring`,
});

/** Configuration and control core give a relay no other level. */
function isRelayOn(load: string, level: Level): boolean {
  if (level === 'on' || level === 'off') return level === 'on';
  throw new Error(`load ${load}: a relay has the levels on and off, not "${level}"`);
}
