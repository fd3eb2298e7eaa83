/** Finds the known word nearest to a misspelt one, at most two letters away. */

const MAX_EDIT_DISTANCE = 2;
const MAX_WORD_LENGTH = 40;
const normalizeWord = (word: string) => word.toLowerCase().replaceAll(/[-_\s]/g, '');

function computeEditDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The nearest of `known`, or undefined when none is near. A word that begins a known one is near: `password` for `passwordFile`. */
export function findNearestWord(word: string, known: readonly string[]): string | undefined {
  const normalized = normalizeWord(word);
  if (normalized.length < 2 || normalized.length > MAX_WORD_LENGTH) return undefined;
  const ranked = known
    .map((name) => ({ name, far: computeEditDistance(normalized, normalizeWord(name)) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  if (best !== undefined && best.far <= Math.min(MAX_EDIT_DISTANCE, Math.floor(normalized.length / 2)))
    return best.name;
  return normalized.length < 3 ? undefined : known.find((name) => normalizeWord(name).startsWith(normalized));
}
