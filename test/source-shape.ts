/** Reads the shape of a source file with a parser: its top-level names and how long its functions are. */

import { parseAst } from 'vitest/node';

export interface SourceShape {
  /** Names declared at the top of the file, exported or not; imports are not among them. */
  readonly names: readonly string[];
  readonly functions: readonly LongFunction[];
}

interface LongFunction {
  /** Of the declaration, the variable or the property; `function` when it has none. */
  readonly name: string;
  /** From the first line of the function to its last. A function inside another counts in both. */
  readonly lines: number;
}

/** A node of the syntax tree; any property may hold further nodes. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly id?: unknown;
  readonly key?: unknown;
  readonly name?: unknown;
  readonly declaration?: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];

const listChildren = (node: SyntaxNode): readonly SyntaxNode[] =>
  Object.values(node).flatMap((value) => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []));

/** The identifier that a declaration, a variable or a property is known by. */
function findName(node: SyntaxNode | undefined): string | undefined {
  const named = node?.id ?? node?.key;
  return isNode(named) && typeof named.name === 'string' ? named.name : undefined;
}

function listTopNames(statement: SyntaxNode): readonly string[] {
  const declaration = isNode(statement.declaration) ? statement.declaration : statement;
  if (declaration.type === 'ImportDeclaration') return [];
  const declared = declaration.type === 'VariableDeclaration' ? listChildren(declaration) : [declaration];
  return declared.map(findName).filter((name) => name !== undefined);
}

export function readSourceShape(text: string): SourceShape {
  const program = parseAst(text, { lang: 'ts' }) as unknown as SyntaxNode;
  const countLines = ({ start, end }: SyntaxNode) => text.slice(start, end).split('\n').length;
  const functions: LongFunction[] = [];
  const visit = (node: SyntaxNode, parent: SyntaxNode | undefined): void => {
    if (FUNCTIONS.includes(node.type))
      functions.push({ name: findName(node) ?? findName(parent) ?? 'function', lines: countLines(node) });
    for (const child of listChildren(node)) visit(child, node);
  };
  visit(program, undefined);
  return { names: [...new Set(listChildren(program).flatMap(listTopNames))], functions };
}
