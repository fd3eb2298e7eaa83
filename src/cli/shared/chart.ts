/** Draws values as a small bar chart of block characters. */

const BLOCKS = ' ▁▂▃▄▅▆▇█';
const STEPS = BLOCKS.length - 1;
/** The height of the least value, so that it differs from a gap. */
const LEAST_HEIGHT = 1;

/** The mean of each of at most `columns` equal parts; a part without values is undefined. */
function averageColumns(values: readonly number[], columns: number): readonly (number | undefined)[] {
  const width = Math.max(1, values.length / columns);
  return Array.from({ length: Math.min(columns, values.length) }, (_, i) => {
    const part = values.slice(Math.floor(i * width), Math.max(Math.floor(i * width) + 1, Math.floor((i + 1) * width)));
    const known = part.filter(Number.isFinite);
    return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
  });
}

export interface ChartOptions {
  readonly columns: number;
  readonly rows: number;
}

/** Lines from top to bottom with the greatest and the least value at the left; NaN leaves a gap. */
export function drawChart(values: readonly number[], { columns, rows }: ChartOptions): readonly string[] {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return [];
  const top = known.reduce((a, b) => Math.max(a, b));
  const bottom = known.reduce((a, b) => Math.min(a, b));
  const label = (value: number) => value.toFixed(Math.abs(value) < 10 ? 2 : 0);
  const margin = Math.max(label(top).length, label(bottom).length);
  const bars = averageColumns(values, Math.max(1, columns - margin - 2));
  const height = (value: number) =>
    LEAST_HEIGHT + ((value - bottom) / (top - bottom || 1)) * (rows * STEPS - LEAST_HEIGHT);
  // A flat line needs no height.
  const lines = top === bottom ? 1 : rows;
  return Array.from({ length: lines }, (_, line) => {
    const below = (lines - 1 - line) * STEPS;
    const cells = bars.map((value) =>
      value === undefined ? ' ' : (BLOCKS[Math.round(Math.min(STEPS, Math.max(0, height(value) - below)))] ?? ' '),
    );
    const head = line === 0 ? label(top) : line === lines - 1 ? label(bottom) : '';
    return `${head.padStart(margin)} ${cells.join('')}`.trimEnd();
  });
}
