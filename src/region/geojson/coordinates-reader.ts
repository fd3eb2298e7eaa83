/** Reads the nested arrays of `coordinates` into the rings of one polygon after the other. */

import type { PolygonRings } from '../index/polygon-rings.ts';
import { MalformedError } from '../map-failure.ts';
import { createRingBuffer, type RingBuffer } from './ring-buffer.ts';

/** Nesting of the array that holds one polygon's rings. */
export const POLYGON_LEVEL: Readonly<Record<string, number>> = { Polygon: 1, MultiPolygon: 2 };

export class CoordinatesReader {
  readonly #rings: RingBuffer;
  readonly #position = new Float64Array(2);
  #level = 0;
  /** 0 until the first number distinguishes a Polygon from a MultiPolygon: `type` may follow the coordinates. */
  #polygonLevel = 0;
  /** A bit for each level at which an array without a number has been closed. */
  #emptyLevels = 0;
  #axis = 0;

  constructor(maxVertices: number) {
    this.#rings = createRingBuffer(maxVertices);
  }

  /** The polygon read last, until the next array is opened. */
  get polygon(): PolygonRings {
    return this.#rings.polygon;
  }

  get closedRings(): number {
    return this.#rings.closedRings;
  }

  /** The gap of the polygon just read, in degrees, when it cannot be used for it. */
  get gap(): number | undefined {
    return this.#rings.gap;
  }

  start(): void {
    this.#level = 0;
    this.#polygonLevel = 0;
    this.#emptyLevels = 0;
  }

  open(): void {
    this.#level++;
    this.#axis = 0;
    if (this.#polygonLevel === 0) return;
    const inPolygon = this.#level - this.#polygonLevel;
    if (inPolygon === 0) this.#rings.clear();
    else if (inPolygon === 1) this.#rings.startRing();
    else if (inPolygon > 2) throw new MalformedError('a position holds an array');
  }

  /** True behind a polygon that has rings. */
  close(): boolean {
    const closed = this.#level--;
    if (this.#polygonLevel === 0) {
      this.#emptyLevels |= 1 << Math.min(closed, 8);
      return false;
    }
    const inPolygon = closed - this.#polygonLevel;
    if (inPolygon === 2) {
      if (this.#axis < 2) throw new MalformedError('a position has fewer than two numbers');
      this.#rings.addVertex(this.#position);
    } else if (inPolygon === 1) this.#rings.endRing();
    return inPolygon === 0 && this.polygon.ringCount > 0;
  }

  addNumber(number: Float64Array): void {
    if (this.#polygonLevel === 0) this.#startFirstPolygon();
    if (this.#level !== this.#polygonLevel + 2) throw new MalformedError('a number stands outside a position');
    // A height is dropped.
    if (this.#axis < 2) this.#position[this.#axis] = number[0] as number;
    this.#axis++;
  }

  #startFirstPolygon(): void {
    const level = this.#level - 2;
    if (level !== 1 && level !== 2)
      throw new MalformedError('its coordinates are not nested as those of a MultiPolygon');
    const badlyEmpty = (1 << (level + 1)) | (1 << (level + 2));
    if ((this.#emptyLevels & badlyEmpty) !== 0) throw new MalformedError('a ring is empty');
    this.#polygonLevel = level;
    this.#rings.clear();
    this.#rings.startRing();
  }

  checkNesting(type: string): void {
    if (this.#polygonLevel !== 0 && this.#polygonLevel !== POLYGON_LEVEL[type])
      throw new MalformedError(`its coordinates are not nested as those of a ${type}`);
  }
}
