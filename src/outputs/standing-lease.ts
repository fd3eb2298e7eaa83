/** The claim of a device that is reached without the broker: made whenever the link to the broker is up. */

import type { Broker, Cancel } from '../domain/ports.ts';
import type { DeviceLease } from './output.ts';

export function createStandingLease(lease: DeviceLease, broker: Broker): DeviceLease {
  let unwatch: Cancel | undefined;
  let wasOnline = false;

  return {
    async acquire() {
      if (unwatch !== undefined) return;
      unwatch = broker.watchState(({ kind }) => {
        const isOnline = kind === 'online';
        if (isOnline && !wasOnline) void lease.acquire();
        wasOnline = isOnline;
      });
      wasOnline = broker.state.kind === 'online';
      if (wasOnline) await lease.acquire();
    },
    otherHolder: lease.otherHolder,
    async release() {
      if (unwatch === undefined) return;
      unwatch();
      unwatch = undefined;
      await lease.release();
    },
  };
}
