/** JSON, much faster than as YAML: what a fleet of Clusters is exported to. */

import type { Parsed, ParsedDocument } from "./parsed.ts";
import { parseYaml } from "./yaml.ts";

/** `undefined`: not JSON, or with the same key twice in a map; parseYaml() tells more. */
export function parseJson(text: string): Parsed | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  const value = parse(text);
  if (value === undefined || keysWritten(text) !== keysOf(value)) return undefined;
  let located: ParsedDocument | undefined;
  const position: ParsedDocument["position"] = (path, of) => {
    located ??= parseYaml(text).documents[0];
    return located?.position(path, of) ?? { line: 1, column: 1 };
  };
  return { documents: [{ document: 1, value, position }], problems: [] };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In valid JSON, quotes stand around strings only, and a colon follows only keys. */
function keysWritten(text: string): number {
  let count = 0;
  for (const [match] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?/g)) if (match.endsWith(":")) count += 1;
  return count;
}

/** Without recursion: the value can be nested deeply. */
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
