/** Finds the device's own place while the pieces of a new map pass by, so that no second pass is needed. Keeps one number. */

import type { Place } from '../units.ts';
import { reduce, ringsOf } from './cell.ts';
import { STEPS_PER_DEGREE } from './grid.ts';
import type { Piece } from './split.ts';
import type { Covers } from './survey.ts';

export interface HomeWatch {
  see(piece: Piece, feature: number): void;
  /** The lowest feature seen to cover the place. */
  readonly lowest: number | undefined;
}

export function createHomeWatch(place: Place, covers: Covers): HomeWatch {
  let lowest: number | undefined;
  const y = place.latitude;
  const meridians = [place.longitude, place.longitude - 360, place.longitude + 360];

  const covered = (piece: Piece, x: number) => {
    const { box, whole } = piece;
    const stepsX = x * STEPS_PER_DEGREE;
    const stepsY = y * STEPS_PER_DEGREE;
    if (stepsX < box.west || stepsX > box.east || stepsY < box.south || stepsY > box.north) return false;
    if (whole) return true;
    const cell = { west: x, south: y, east: x, north: y };
    const reduced = new Uint32Array(piece.to - piece.from);
    const to = reduce(piece, cell, reduced, 0);
    return covers(ringsOf({ xy: piece.xy, list: reduced, from: 0, to }), x, y);
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
