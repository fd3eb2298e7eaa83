/** A go-e charger with a car in virtual time, as its API v2 describes it: it charges in neutral, falls to neutral at plug-in, and counts. */

import {
  addDuration,
  computeEnergy,
  type Duration,
  type Instant,
  type Kilowatt,
  seconds,
} from '../../src/domain/units.ts';
import type { EmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import type { VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { CHARGER } from './scripted-charger.ts';

export interface Session {
  readonly from: Instant;
  readonly to: Instant;
}

export interface SimulatedGoe {
  readonly sessions: readonly Session[];
  /** What its meter has counted, in kWh. */
  energy(): number;
  /** What it was told, in order. */
  readonly commands: readonly string[];
  /** Resolves when the agent has answered the fall to neutral; the clock stands still meanwhile. */
  plugIn(): Promise<void>;
  unplug(): Promise<void>;
}

export interface GoeOptions {
  readonly broker: EmbeddedBroker;
  readonly clock: VirtualClock;
  readonly powerKw: number;
  /** How much the car still takes. */
  readonly roomKwh?: number;
}

const METER_PERIOD = seconds(30);
/** What the vendor's page calls Idle, Charging and Complete; after a pause by `frc` 1 it shows Complete, too. */
const CAR = { away: '1', charging: '2', complete: '4' } as const;

export async function simulateGoe({ broker, clock, powerKw, roomKwh = 100 }: GoeOptions): Promise<SimulatedGoe> {
  let frc = '0';
  let isPlugged = false;
  let since: Instant | undefined;
  let counted = 1_234.5;
  let room = roomKwh;
  const sessions: Session[] = [];
  const commands: string[] = [];
  const publish = (key: string, value: string) => broker.publish(`${CHARGER}/${key}`, value, { retain: true });
  const isCharging = () => isPlugged && frc !== '1' && room > 0;

  /** Counts up to now, and begins or ends a session. */
  const settle = (): void => {
    const now = clock.now().wall;
    if (since !== undefined) {
      const drawn = Math.min(room, computeEnergy(powerKw as Kilowatt, (now - since) as Duration));
      counted += drawn;
      room -= drawn;
      if (room < 1e-6) room = 0;
      const last = sessions.at(-1);
      if (last?.to === since) sessions.splice(-1, 1, { from: last.from, to: now });
      else if (now > since) sessions.push({ from: since, to: now });
    }
    since = isCharging() ? now : undefined;
  };
  const report = async (): Promise<void> => {
    const power = isCharging() ? powerKw * 1_000 : 0;
    await publish('nrg', JSON.stringify([230, 230, 230, 0, 0, 0, 0, 0, 0, 0, 0, power, 0, 0, 0, 0]));
    await publish('eto', `${Math.floor(counted * 1_000)}`);
    await publish('car', isCharging() ? CAR.charging : isPlugged ? CAR.complete : CAR.away);
    await publish('frc', frc);
  };
  const setState = async (next: { readonly frc: string; readonly isPlugged: boolean }): Promise<void> => {
    settle();
    const wasPlugged = isPlugged;
    ({ frc, isPlugged } = next);
    if (isPlugged && !wasPlugged) room = roomKwh;
    settle();
    await report();
  };
  const measure = (): void => {
    const resume = clock.pause();
    settle();
    // The agent has it before time goes on.
    void report()
      .then(waitForTurns)
      .then(() => {
        clock.wakeAt(addDuration(clock.now().uptime, METER_PERIOD), 'meter of the charger', measure);
        resume();
      });
  };

  broker.onPublish(async (topic, payload) => {
    if (topic !== `${CHARGER}/frc/set`) return;
    commands.push(payload);
    await setState({ frc: payload, isPlugged });
  });
  await report();
  clock.wakeAt(addDuration(clock.now().uptime, METER_PERIOD), 'meter of the charger', measure);
  return {
    sessions,
    commands,
    energy: () => counted - 1_234.5,
    async plugIn() {
      await setState({ frc: '0', isPlugged: true });
      while (frc === '0') await waitForTurns();
    },
    async unplug() {
      await setState({ frc: '0', isPlugged: false });
      await waitForTurns();
    },
  };
}

async function waitForTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resume) => setImmediate(resume));
}
