/** Times the keepalive of all broker links of a process, so that they ping together and wake it once. */

import type { IClientOptions } from 'mqtt';
import type { Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Duration, durationBetween, milliseconds, type Uptime } from '../domain/units.ts';

type MqttTimer = Exclude<IClientOptions['timerVariant'], string | undefined>;

interface WaitingLink {
  readonly tick: () => void;
  readonly half: Duration;
  readonly since: Uptime;
  hasPinged: boolean;
  cancel: Cancel;
}

/**
 * mqtt.js wants a tick every half keepalive: it ignores the first, pings at the second and gives the link up at the third.
 * Here the first two come together after a whole keepalive, or as soon as another link pings in its second half.
 */
export class PingTimer {
  readonly #clock: Clock;
  readonly #links = new Map<number, WaitingLink>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As mqtt.js takes its timers. */
  readonly timers: MqttTimer = {
    set: (tick, halfKeepalive) => this.#add(() => void tick(), milliseconds(halfKeepalive ?? 0)),
    clear: (id) => this.#remove(id),
  };

  #add(tick: () => void, half: Duration): number {
    const id = ++this.#lastId;
    const since = this.#clock.now().uptime;
    const cancel = this.#wakeAfter(milliseconds(2 * half), () => this.#pingDue(id));
    this.#links.set(id, { tick, half, since, hasPinged: false, cancel });
    return id;
  }

  #remove(id: number): void {
    this.#links.get(id)?.cancel();
    this.#links.delete(id);
  }

  #wakeAfter = (wait: Duration, run: () => void): Cancel =>
    this.#clock.wakeAt(addDuration(this.#clock.now().uptime, wait), 'broker ping', run);

  #pingDue(dueId: number): void {
    const { uptime } = this.#clock.now();
    for (const [id, link] of [...this.#links])
      if (!link.hasPinged && (id === dueId || durationBetween(link.since, uptime) >= link.half)) this.#ping(link);
  }

  #ping(link: WaitingLink): void {
    link.hasPinged = true;
    link.cancel();
    link.cancel = this.#wakeAfter(link.half, link.tick);
    link.tick();
    link.tick();
  }
}
