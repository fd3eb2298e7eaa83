/** Finds the device's own place while the pieces of a new map pass by, so that no second pass is needed. Keeps one number. */

import type { Place } from '../units.ts';
import { reduce, ringsOf } from './cell.ts';
import { STEPS_PER_DEGREE } from './grid.ts';
import type { Covers, Piece } from './split.ts';

export interface HomeWatch {
  see(piece: Piece, feature: number): void;
  /** The lowest feature seen to cover the place. */
  readonly lowest: number | undefined;
}

export function createHomeWatch(place: Place, covers: Covers): HomeWatch {
  let lowest: number | undefined;
  const y = place.latitude;
  const meridians = [place.longitude, place.longitude - 360, place.longitude + 360];

  const covered = ({ box, whole, xy, list, from, to }: Piece, x: number) => {
    const stepsX = x * STEPS_PER_DEGREE;
    const stepsY = y * STEPS_PER_DEGREE;
    if (stepsX < box.west || stepsX > box.east || stepsY < box.south || stepsY > box.north) return false;
    if (whole) return true;
    const cell = { west: x, south: y, east: x, north: y };
    const scratch = new Uint32Array((to - from) * 2);
    scratch.set(list.subarray(from, to));
    const end = reduce(xy, scratch, 0, to - from, to - from, cell);
    return covers(ringsOf(xy, scratch, to - from, end), x, y);
  };

  return {
    see(piece, feature) {
      if (lowest !== undefined && feature >= lowest) return;
      if (meridians.some((x) => covered(piece, x))) lowest = feature;
    },
    get lowest() {
      return lowest;
    },
  };
}
