/** Finds the known word nearest to a misspelt one: two slips away, of a short word one. Two letters in each other's place are one slip. */

const MAX_SLIPS = 2;
/** Two slips make another word of a shorter one: `fixed` is no misspelt `file`. */
const MIN_LENGTH_OF_TWO_SLIPS = 6;
const MAX_WORD_LENGTH = 40;
const normalizeWord = (word: string) => word.toLowerCase().replaceAll(/[-_\s]/g, '');

function countSlips(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/** The nearest of `known`, or undefined when none is near. A word that begins a known one is near: `password` for `passwordFile`. */
export function findNearestWord(word: string, known: readonly string[]): string | undefined {
  const normalized = normalizeWord(word);
  if (normalized.length < 2 || normalized.length > MAX_WORD_LENGTH) return undefined;
  const ranked = known
    .map((name) => ({ name, far: countSlips(normalized, normalizeWord(name)) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  if (best !== undefined && best.far <= (normalized.length < MIN_LENGTH_OF_TWO_SLIPS ? 1 : MAX_SLIPS)) return best.name;
  return normalized.length < 3 ? undefined : known.find((name) => normalizeWord(name).startsWith(normalized));
}
