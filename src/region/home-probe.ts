/** Finds the device's place among the pieces of a map being imported, so that no second pass is needed. */

import type { Place } from '../domain/units.ts';
import { isInBox, STEPS_PER_DEGREE } from './index/cell-grid.ts';
import { createPointTest } from './index/point-test.ts';
import type { Piece } from './index/split-polygon.ts';

export interface HomeProbe {
  addPiece(piece: Piece, feature: number): void;
  /** The lowest feature that covers the place. */
  readonly lowestFeature: number | undefined;
}

export function createHomeProbe({ latitude: y, longitude }: Place): HomeProbe {
  let lowest: number | undefined;
  const test = createPointTest();
  const meridians = [longitude, longitude - 360, longitude + 360];
  const covers = (piece: Piece, x: number) =>
    isInBox(piece.box, x * STEPS_PER_DEGREE, y * STEPS_PER_DEGREE) && (piece.isInterior || test(piece, x, y));
  return {
    addPiece(piece, feature) {
      if (lowest !== undefined && feature >= lowest) return;
      if (meridians.some((x) => covers(piece, x))) lowest = feature;
    },
    get lowestFeature() {
      return lowest;
    },
  };
}
