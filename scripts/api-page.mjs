/** Makes the page of what other programs import from the declarations of the package and their comments: node scripts/api-page.mjs > docs/api.md */

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseAst } from 'vitest/node';

const MODULES = { 'gridtide/client': 'exported-client.d.ts', 'gridtide/region': 'exported-region.d.ts' };
const HEAD = `# \`gridtide/client\` and \`gridtide/region\`, name by name

Generated from the declarations of the package (\`node scripts/api-page.mjs > docs/api.md\` after \`npm run build\`); [client.md](client.md) is the introduction. A *specification* number in a comment is a
section of the interface description of the Grid Emissions Signal Data Service.
`;

/** The text of the last documentation comment, without its frame. */
function findComment(text) {
  const [last] = [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].slice(-1);
  return last?.[1].replaceAll(/^\s*\* ?/gm, '').trim() ?? '';
}

/** Reads one file: the comment at its head, its declarations by name, and where its other names come from. */
function readDeclarations(file) {
  const text = readFileSync(file, 'utf8');
  const found = { about: '', own: new Map(), from: new Map(), all: [] };
  let end = 0;
  for (const node of parseAst(text, { lang: 'ts' }).body) {
    const before = text.slice(end, node.start);
    // The first comment is that of the file.
    const comment = findComment(end === 0 ? before.replace(/\/\*\*[\s\S]*?\*\//, '') : before);
    if (end === 0) found.about = findComment(before);
    end = node.end;
    const target = node.source && resolve(dirname(file), node.source.value.replace(/\.js$/, '.d.ts'));
    if (node.type === 'ExportAllDeclaration') found.all.push(target);
    for (const { local, exported, imported } of node.specifiers ?? [])
      found.from.set((exported ?? local).name, {
        file: target,
        name: (imported ?? local).name,
        isExported: exported !== undefined,
      });
    const declaration = node.declaration ?? node;
    const name = (declaration.id ?? declaration.declarations?.[0].id)?.name;
    if (name === undefined) continue;
    const code = text.slice(node.start, node.end).replace(/^(export )?(declare )?/, '');
    const isType = /^(interface|type) /.test(code);
    found.own.set(name, { name, file, comment, code, isType, isExported: node.declaration !== undefined });
  }
  return found;
}

/** Everything that the module at `entry` exports, and below it what those declarations mention. */
function collect(entry) {
  const files = new Map();
  const read = (file) => files.get(file) ?? files.set(file, readDeclarations(file)).get(file);
  const find = (file, name) => {
    const { own, from } = read(file);
    const link = from.get(name);
    return own.get(name) ?? (link?.file === undefined || link.file === null ? undefined : find(link.file, link.name));
  };
  const listExported = (file) => {
    const { own, from, all } = read(file);
    const linked = [...from].filter(([, { isExported }]) => isExported).map(([name]) => find(file, name));
    return [...[...own.values()].filter(({ isExported }) => isExported), ...linked, ...all.flatMap(listExported)];
  };
  const exported = new Set(listExported(entry));
  const reached = new Set(exported);
  for (const { file, code } of reached) {
    const words = code.replaceAll(/\/\*[\s\S]*?\*\//g, '').match(/\b[A-Z]\w+/g) ?? [];
    for (const word of words) {
      const declaration = find(file, word);
      if (declaration !== undefined) reached.add(declaration);
    }
  }
  return {
    about: read(entry).about,
    exported: [...exported],
    mentioned: [...reached].filter((one) => !exported.has(one)),
  };
}

const formatDeclaration = ({ name, comment, code }) =>
  [`### \`${name}\``, '', ...(comment === '' ? [] : [comment, '']), '```ts', code, '```', ''].join('\n');

const formatGroup = (title, declarations) =>
  declarations.length === 0 ? [] : [`## ${title}\n`, ...declarations.map(formatDeclaration)];

/** The page, from the directory of declarations that the build writes. */
export function buildApiPage(types) {
  const modules = Object.entries(MODULES).flatMap(([module, file]) => {
    const { about, exported, mentioned } = collect(join(types, 'library', file));
    return [
      `## \`${module}\`\n\n${about.replace(/^.*?: (.)/, (_, first) => first.toUpperCase())}\n`,
      ...formatGroup(
        `${module}: functions`,
        exported.filter(({ isType }) => !isType),
      ),
      ...formatGroup(
        `${module}: types`,
        exported.filter(({ isType }) => isType),
      ),
      ...formatGroup(`${module}: types that these mention and the module does not export`, mentioned),
    ];
  });
  return `${HEAD}\n${modules.join('\n').trimEnd()}\n`;
}

if (process.argv[1] === import.meta.filename)
  process.stdout.write(buildApiPage(join(import.meta.dirname, '..', 'dist', 'types')));
