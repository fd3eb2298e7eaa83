/** A go-e charger on a broker, as its API v2 describes it: it falls to neutral at plug-in and at a restart, and in neutral it charges. */

import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';

export const CHARGER = 'go-eCharger/123456';

export interface ScriptedCharger {
  plugIn(): Promise<void>;
  unplug(): Promise<void>;
  restart(): Promise<void>;
  /** A person chooses in the charger's app: on (2) or off (1). */
  press(frc: '1' | '2'): Promise<void>;
  isCharging(): boolean;
  /** What it was sent, in order. */
  readonly commands: readonly string[];
  whenCommands(count: number): Promise<void>;
}

export async function startScriptedCharger(url: string): Promise<ScriptedCharger> {
  const spy = stopAfterTest(await startMqttSpy(url, {}, [`${CHARGER}/frc/set`]));
  let frc = '0';
  let isPlugged = false;
  const commands: string[] = [];
  const setFrc = async (next: string) => {
    frc = next;
    await spy.publish(`${CHARGER}/frc`, next, { retain: true });
  };
  spy.onMessage(({ text }) => {
    commands.push(text);
    if (['0', '1', '2'].includes(text)) void setFrc(text);
  });
  await setFrc('0');
  return {
    async plugIn() {
      isPlugged = true;
      await setFrc('0');
    },
    async unplug() {
      isPlugged = false;
      await setFrc('0');
    },
    restart: () => setFrc('0'),
    press: setFrc,
    isCharging: () => isPlugged && frc !== '1',
    commands,
    whenCommands: async (count) => void (await spy.waitFor(() => commands.length >= count)),
  };
}
