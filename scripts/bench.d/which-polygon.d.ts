/** The bench's peer, typed as far as it is used. */
declare module 'which-polygon' {
  type Query<Properties> = (point: readonly [number, number]) => Properties | null;
  export default function whichPolygon<Properties>(collection: unknown): Query<Properties>;
}
