/** Exact rolling windows: at most so many events of one name in any stretch of time. */

/** Names remembered at once; the longest unused is forgotten, which only ever forgives. */
const MAX_REMEMBERED_NAMES = 10_000;

export interface RollingWindows {
  /** Counts an event, or returns the milliseconds until one would be let through. A refused event does not count. */
  countOrWait(name: string, now: number): number | undefined;
}

interface EventRing {
  times: Float64Array;
  next: number;
}

export function createRollingWindows(limit: number, span: number): RollingWindows {
  const rings = new Map<string, EventRing>();
  const useRing = (name: string) => {
    const known = rings.get(name) ?? { times: new Float64Array(Math.min(16, limit)).fill(-Infinity), next: 0 };
    rings.delete(name);
    rings.set(name, known);
    const oldest = rings.size > MAX_REMEMBERED_NAMES ? rings.keys().next() : undefined;
    if (oldest?.done === false) rings.delete(oldest.value);
    return known;
  };
  /** Doubles a full ring while it is below the limit, oldest first. */
  const growRing = (ring: EventRing) => {
    const wider = new Float64Array(Math.min(limit, ring.times.length * 2)).fill(-Infinity);
    const { length } = ring.times;
    for (let i = 0; i < length; i++) wider[i] = ring.times[(ring.next + i) % length] ?? -Infinity;
    ring.times = wider;
    ring.next = length;
  };
  return {
    countOrWait(name, now) {
      const ring = useRing(name);
      const isInWindow = (at: number) => now - at < span;
      if (isInWindow(ring.times[ring.next] ?? -Infinity)) {
        if (ring.times.length >= limit) return (ring.times[ring.next] ?? now) + span - now;
        growRing(ring);
      }
      ring.times[ring.next] = now;
      ring.next = (ring.next + 1) % ring.times.length;
      return undefined;
    },
  };
}
