/** What an output must not do to a compressor: start it again after a stop before the core, which counts the stop, has let it rest. */

import type { Level, LoadConfig, MqttOutputConfig } from '../domain/load-types.ts';
import type { DeviceReading, OutputFailure } from './output.ts';

/** Behind SG-Ready contacts the heat pump protects its own. */
export const hasCompressor = ({ type, output }: LoadConfig) => type === 'heat-pump' && output.kind !== 'sg-ready';

/** Whether its release by the broker stops a compressor that reports nothing. */
export const isStoppedUnseen = (
  load: LoadConfig,
  { stateTopic, onPayload }: MqttOutputConfig,
  released: string,
): boolean => hasCompressor(load) && stateTopic === undefined && released !== onPayload;

interface RestRule {
  /** A compressor whose device reports its state: once it has stopped by itself the core decides when it starts again. */
  readonly restsAfterStop: boolean;
}

interface CompressorState {
  readonly sent: Level | undefined;
  readonly confirmed: Level | undefined;
  readonly reading: DeviceReading | undefined;
}

/** A compressor that is off or silent may have stopped: another "on" would be a start that the core did not allow. */
export const mayHaveStopped = ({ restsAfterStop }: RestRule, { sent, confirmed, reading }: CompressorState): boolean =>
  restsAfterStop && confirmed === 'on' && sent === 'on' && (reading === 'off' || reading === undefined);

/** Notes in the failure that the device of a compressor answered "on" with "off": sent again, it might start once more. */
export function addAnswer(
  { restsAfterStop }: RestRule,
  { level }: { readonly level?: Level | undefined },
  failure: OutputFailure | undefined,
  reading: DeviceReading | undefined,
): OutputFailure | undefined {
  const isAnswered = restsAfterStop && level === 'on' && reading === 'off';
  return isAnswered && failure?.kind === 'unconfirmed' ? { ...failure, answer: reading } : failure;
}
