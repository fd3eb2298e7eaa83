/** The options as a table for the documentation, made from the rows. */

import { OPTIONS } from './options.ts';
import { type PresetName, presetNames, presets } from './presets.ts';
import type { ConfigRow, ConfigRows, DefaultContext, Presence, RawValue } from './value-type.ts';

type AnyRow = ConfigRow<unknown, Presence>;
const LOAD_TYPES: readonly DefaultContext['type'][] = ['ev', 'heat-pump', 'tank', 'generic'];

const formatRaw = (raw: RawValue) => (raw === undefined ? 'none' : String(raw));

/** One value, or one for each type, or one for each type beside SG-Ready's. */
export function formatDefault({ presence, defaultFor: fallback, defaultText: fallbackWords }: AnyRow): string {
  if (fallbackWords !== undefined) return fallbackWords;
  if (presence === 'required') return 'required';
  if (fallback === undefined) return 'none';
  const valueFor = (type: DefaultContext['type'], levels: DefaultContext['levelSet']) =>
    formatRaw(fallback({ type, levelSet: levels, onBelow: 33 }));
  const each = (levels: DefaultContext['levelSet']) => {
    const values = LOAD_TYPES.map((type) => valueFor(type, levels));
    const isOne = values.every((value) => value === values[0]);
    return isOne ? (values[0] ?? '') : LOAD_TYPES.map((type, i) => `${type} ${values[i]}`).join(', ');
  };
  const [relay, sgReady] = [each('relay'), each('sg-ready')];
  return relay === sgReady ? relay : `${relay}; SG-Ready ${sgReady}`;
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function formatRows(rows: ConfigRows, path: string): string[] {
  return Object.entries(rows).flatMap(([key, row]) => {
    const at = `${path}${key}`;
    const { rows: inside, variants, hasNamedKeys: named, expects } = row.valueType;
    const own = `| \`${at}\` | ${escapeCell(expects)} | ${escapeCell(formatDefault(row))} | ${escapeCell(row.help)} |`;
    if (variants !== undefined) {
      const parts = Object.entries(variants).map(([kind, part]) => formatRows(part, `${at}(${kind}).`));
      return [own, ...parts.flat()];
    }
    return inside === undefined ? [own] : [own, ...formatRows(inside, `${at}.${named === true ? 'NAME.' : ''}`)];
  });
}

const formatPreset = (name: PresetName) =>
  `| \`${name}\` | \`${presets[name].topic}\` | ${escapeCell(presets[name].about)} |`;

/** Markdown: every option, then the MQTT presets. */
export const buildOptionReference = () =>
  [
    '| option | takes | default | meaning |',
    '|---|---|---|---|',
    ...formatRows(OPTIONS, ''),
    '',
    '| preset | `topic`, for example | device |',
    '|---|---|---|',
    ...presetNames.map(formatPreset),
    '',
  ].join('\n');
