/** Lays rows out as aligned columns for people, and as CSV for programs. */

/** Lines of cells two spaces apart; the columns that `isRight` names are aligned to the right. */
export function formatColumns(
  rows: readonly (readonly string[])[],
  isRight: (column: number) => boolean = () => false,
): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, { length }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, length);
  const pad = (cell: string, i: number) => (isRight(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0));
  return rows.map((row) => row.map(pad).join('  ').trimEnd());
}

/** The name of each column and its value in a row, in the order of the file. */
export type CsvColumns<Row> = readonly (readonly [name: string, value: (row: Row) => string | number | undefined])[];

export function formatCsv<Row>(columns: CsvColumns<Row>, rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map(([, value]) => value(row) ?? '').join(','));
  return `${[columns.map(([name]) => name).join(','), ...lines].join('\n')}\n`;
}
