/** The options as a table for the documentation, made from the rows. */

import type { About, Presence, Raw, Row, Rows } from './kind.ts';
import { OPTIONS } from './options.ts';
import { type PresetName, presetNames, presets } from './presets.ts';

type AnyRow = Row<unknown, Presence>;
const TYPES: readonly About['type'][] = ['ev', 'heat-pump', 'tank', 'generic'];

const written = (raw: Raw) => (raw === undefined ? 'none' : String(raw));

/** One value, or one for each type, or one for each type beside SG-Ready's. */
export function defaultText({ presence, fallback, fallbackWords }: AnyRow): string {
  if (fallbackWords !== undefined) return fallbackWords;
  if (presence === 'required') return 'required';
  if (fallback === undefined) return 'none';
  const valueFor = (type: About['type'], levels: About['levels']) => written(fallback({ type, levels, onBelow: 33 }));
  const each = (levels: About['levels']) => {
    const values = TYPES.map((type) => valueFor(type, levels));
    const isOne = values.every((value) => value === values[0]);
    return isOne ? (values[0] ?? '') : TYPES.map((type, i) => `${type} ${values[i]}`).join(', ');
  };
  const [relay, sgReady] = [each('relay'), each('sg-ready')];
  return relay === sgReady ? relay : `${relay}; SG-Ready ${sgReady}`;
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function lines(rows: Rows, path: string): string[] {
  return Object.entries(rows).flatMap(([key, row]) => {
    const at = `${path}${key}`;
    const { inside, variants, named, expects } = row.kind;
    const own = `| \`${at}\` | ${cell(expects)} | ${cell(defaultText(row))} | ${cell(row.help)} |`;
    if (variants !== undefined) {
      const parts = Object.entries(variants).map(([kind, part]) => lines(part, `${at}(${kind}).`));
      return [own, ...parts.flat()];
    }
    return inside === undefined ? [own] : [own, ...lines(inside, `${at}.${named === true ? 'NAME.' : ''}`)];
  });
}

const presetLine = (name: PresetName) => `| \`${name}\` | \`${presets[name].topic}\` | ${cell(presets[name].about)} |`;

/** Markdown: every option, then the MQTT presets. */
export const optionsHelp = () =>
  [
    '| option | takes | default | meaning |',
    '|---|---|---|---|',
    ...lines(OPTIONS, ''),
    '',
    '| preset | `topic`, for example | device |',
    '|---|---|---|',
    ...presetNames.map(presetLine),
    '',
  ].join('\n');
