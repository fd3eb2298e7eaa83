/** Finds the known word a misspelt one was meant to be. Never guesses further than two letters. */

const FARTHEST = 2;
const LONGEST = 40;
const plain = (word: string) => word.toLowerCase().replaceAll(/[-_\s]/g, '');

function distance(a: string, b: string): number {
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
export function nearest(word: string, known: readonly string[]): string | undefined {
  const said = plain(word);
  if (said.length < 2 || said.length > LONGEST) return undefined;
  const ranked = known
    .map((name) => ({ name, far: distance(said, plain(name)) }))
    .sort((one, other) => one.far - other.far);
  const best = ranked[0];
  if (best !== undefined && best.far <= Math.min(FARTHEST, Math.floor(said.length / 2))) return best.name;
  return said.length < 3 ? undefined : known.find((name) => plain(name).startsWith(said));
}
