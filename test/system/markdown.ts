/** Reads what the documents promise out of their Markdown: links, headings, blocks of code and code in a line. */

export interface Markdown {
  /** Text without blocks of code. */
  readonly prose: string;
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
  /** Code in a line, with `\|` of a table as `|`. */
  readonly spans: readonly string[];
  /** Targets of links and pictures. */
  readonly links: readonly string[];
  /** Anchors that a link may name. */
  readonly anchors: readonly string[];
}

const BLOCK = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;

/** The anchor that GitHub gives a heading. */
const buildAnchor = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

export function readMarkdown(text: string): Markdown {
  const prose = text.replace(BLOCK, '');
  const pick = (pattern: RegExp) => [...prose.matchAll(pattern)].map(([, found = '']) => found);
  return {
    prose,
    blocks: [...text.matchAll(BLOCK)].map(([, , language = '', body = '']) => ({ language, text: body })),
    spans: pick(/`([^`\n]+)`/g).map((span) => span.replaceAll('\\|', '|')),
    links: pick(/\]\(([^)\s]+)\)/g),
    anchors: pick(/^#{1,6} (.*)$/gm).map(buildAnchor),
  };
}

/** The words of each `gridtide …` in a line of shell, without what the shell itself takes. */
export function listCommandWords(line: string): string[][] {
  const commands = line.replace(/\s#.*$/, '').split(/\s*(?:;|&&|\|\s|&$)\s*/);
  return commands.flatMap((command) => {
    const words = /^(?:npx )?gridtide\s+(.*)$/.exec(command.trim())?.[1];
    return words === undefined
      ? []
      : [
          words
            .replace(/\s*>.*$/, '')
            .split(/\s+/)
            .filter(Boolean),
        ];
  });
}
