/** The table of all options that `gridtide init --options` prints and docs/options.md holds. */

import { OPTIONS } from './options.ts';
import { type PresetName, presetNames, presets } from './presets.ts';
import {
  type ConfigRow,
  type ConfigRows,
  type DefaultContext,
  GENERIC_CONTEXT,
  loadTypes,
  type Presence,
  type RawValue,
} from './value-type.ts';

type AnyRow = ConfigRow<unknown, Presence>;

const formatRaw = (raw: RawValue) => (raw === undefined ? 'none' : String(raw));

/** One value, or one for each load type, with a second list for SG-Ready outputs where it differs. */
export function formatDefault({ presence, defaultFor, defaultText }: AnyRow): string {
  if (defaultText !== undefined) return defaultText;
  if (presence === 'required') return 'required';
  if (defaultFor === undefined) return 'none';
  const each = (levelSet: DefaultContext['levelSet']) => {
    const values = loadTypes.map((type) => formatRaw(defaultFor({ ...GENERIC_CONTEXT, type, levelSet })));
    const isOne = values.every((value) => value === values[0]);
    return isOne ? (values[0] ?? '') : loadTypes.map((type, i) => `${type} ${values[i]}`).join(', ');
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
    '# Options',
    '',
    'Every option of `gridtide.yaml`, as `gridtide init --options` prints them. `NAME` stands for the name of a load.',
    '',
    '| option | expected | default | meaning |',
    '|---|---|---|---|',
    ...formatRows(OPTIONS, ''),
    '',
    '| preset | `topic`, for example | device |',
    '|---|---|---|',
    ...presetNames.map(formatPreset),
    '',
  ].join('\n');
