/** Finds the device's own place while the pieces of a new map pass by, so that no second pass is needed. Keeps one number. */

import type { Place } from '../domain/units.ts';
import { STEPS_PER_DEGREE } from './index/cell-grid.ts';
import { clipRings, toCoordinates } from './index/clip.ts';
import type { Covers } from './index/coverage-mask.ts';
import type { Piece } from './index/split-polygon.ts';

export interface HomeProbe {
  addPiece(piece: Piece, feature: number): void;
  /** The lowest feature seen to cover the place. */
  readonly lowestFeature: number | undefined;
}

export function createHomeProbe(place: Place, covers: Covers): HomeProbe {
  let lowest: number | undefined;
  const y = place.latitude;
  const meridians = [place.longitude, place.longitude - 360, place.longitude + 360];

  const isCovered = (piece: Piece, x: number) => {
    const { box, isInterior: whole } = piece;
    const stepsX = x * STEPS_PER_DEGREE;
    const stepsY = y * STEPS_PER_DEGREE;
    if (stepsX < box.west || stepsX > box.east || stepsY < box.south || stepsY > box.north) return false;
    if (whole) return true;
    const cell = { west: x, south: y, east: x, north: y };
    const clipped = new Uint32Array(piece.to - piece.from);
    const to = clipRings(piece, cell, clipped, 0);
    return covers(toCoordinates({ xy: piece.xy, list: clipped, from: 0, to }), x, y);
  };

  return {
    addPiece(piece, feature) {
      if (lowest !== undefined && feature >= lowest) return;
      if (meridians.some((x) => isCovered(piece, x))) lowest = feature;
    },
    get lowestFeature() {
      return lowest;
    },
  };
}
