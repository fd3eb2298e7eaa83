/** Times the keepalive of all broker links of a process with one timer, so that they ping together and wake it once. */

import type { IClientOptions } from 'mqtt';
import type { Cancel, Clock } from '../domain/ports.ts';
import { addDuration, type Duration, durationBetween, milliseconds, type Uptime } from '../domain/units.ts';

type MqttTimer = Exclude<IClientOptions['timerVariant'], string | undefined>;

interface WaitingLink {
  readonly tick: () => void;
  readonly half: Duration;
  /** Its last packet or ping. */
  since: Uptime;
  hasPinged: boolean;
}

const getDueTime = ({ since, half }: WaitingLink): Uptime => addDuration(since, milliseconds(2 * half));

/**
 * mqtt.js wants a tick every half keepalive: it ignores the first, pings at the second and gives the link up at the third.
 * Here the first two come together after a whole keepalive, or in its second half together with another link; the third with the
 * first wake-up half a keepalive later, at the latest after a whole one.
 */
export class PingTimer {
  readonly #clock: Clock;
  readonly #links = new Map<number, WaitingLink>();
  #lastId = 0;
  #wake: { readonly at: Uptime; readonly cancel: Cancel } | undefined;

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
    const link = { tick, half, since: this.#clock.now().uptime, hasPinged: false };
    this.#links.set(id, link);
    this.#wakeBy(getDueTime(link));
    return id;
  }

  #remove(id: number): void {
    this.#links.delete(id);
    // mqtt.js clears and sets at each packet, and a timer that is cancelled still wakes Node at its time.
    queueMicrotask(() => {
      if (this.#links.size > 0) return;
      this.#wake?.cancel();
      this.#wake = undefined;
    });
  }

  /** An earlier wake-up stays: it finds the next. */
  #wakeBy(at: Uptime): void {
    if (this.#wake !== undefined && this.#wake.at <= at) return;
    this.#wake?.cancel();
    this.#wake = { at, cancel: this.#clock.wakeAt(at, 'broker ping', this.#onWake) };
  }

  readonly #onWake = (): void => {
    this.#wake = undefined;
    const { uptime } = this.#clock.now();
    for (const link of [...this.#links.values()])
      if (durationBetween(link.since, uptime) >= link.half) this.#tick(link, uptime);
    const next = [...this.#links.values()].reduce((first, link) => Math.min(first, getDueTime(link)), Infinity);
    if (this.#links.size > 0) this.#wakeBy(next as Uptime);
  };

  #tick(link: WaitingLink, uptime: Uptime): void {
    const isFirst = !link.hasPinged;
    link.hasPinged = true;
    link.since = uptime;
    link.tick();
    if (isFirst) link.tick();
  }
}
