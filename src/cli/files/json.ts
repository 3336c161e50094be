/** Parses JSON much faster than the YAML parser would, for exported fleets of Clusters. */

import type { ParsedFile, ParsedDocument } from "./parsed.ts";
import { parseYaml } from "./yaml.ts";

/**
 * One value, or several in a row, as `kubectl get -w -o json` writes them. `undefined`: not JSON, or a map with a duplicate key;
 * parseYaml() gives the details.
 */
export function parseJson(text: string): ParsedFile | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  const documents: ParsedDocument[] = [];
  for (const range of parse(text) === undefined ? valuesIn(text) : [{ from: 0, to: text.length }]) {
    const document = documentOf(text, range);
    if (document === undefined) return undefined;
    documents.push(document);
  }
  return { documents, problems: [] };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function documentOf(text: string, { from, to }: Range): ParsedDocument | undefined {
  const own = text.slice(from, to);
  const value = parse(own);
  if (value === undefined || keysWritten(own) !== keysOf(value)) return undefined;
  let located: ParsedDocument | undefined;
  const position: ParsedDocument["position"] = (path, of) => {
    // Blank before it, so that lines and columns are those of the file.
    located ??= parseYaml(`${text.slice(0, from).replace(/[^\r\n]/g, " ")}${own}`).documents[0];
    return located?.position(path, of) ?? { line: 1, column: 1 };
  };
  return { value, text: own, position };
}

/** The brackets of the outermost level, with what is between each pair; in valid JSON only strings contain others. */
function valuesIn(text: string): readonly Range[] {
  const ranges: Range[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/gs)) {
    if (token.startsWith('"')) continue;
    depth += token === "{" || token === "[" ? 1 : -1;
    if (depth < 0) return [];
    if (depth > 0) continue;
    ranges.push({ from, to: index + 1 });
    from = index + 1;
  }
  // What is left over is no value; its own range makes the whole text no JSON.
  return text.slice(from).trim() === "" ? ranges : [...ranges, { from, to: text.length }];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In valid JSON only strings have quotes, and only keys are followed by a colon. */
function keysWritten(text: string): number {
  const strings = text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?/g);
  return strings.reduce((count, [string]) => count + Number(string.endsWith(":")), 0);
}

/** Without recursion: the value can be deeply nested. */
function keysOf(root: unknown): number {
  let count = 0;
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    const below: unknown[] = Object.values(value);
    if (!Array.isArray(value)) count += below.length;
    for (const each of below) left.push(each);
  }
  return count;
}
