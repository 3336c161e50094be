/** Prints JSON schemas as types of TypeScript. */

import { compile, type JSONSchema } from "json-schema-to-typescript";

/** Each once, by its name. */
export type Types = Record<string, JSONSchema>;

export async function printTypes(definitions: Types, bannerComment: string): Promise<string> {
  const root: JSONSchema = { title: "Unused", type: "object", additionalProperties: false, definitions };
  const source = await compile(root, "Unused", {
    bannerComment,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    unreachableDefinitions: true,
    style: { printWidth: 110 },
  });
  return tidy(source);
}

/**
 * Drops the empty root type, and the notes that each definition carries about where it was defined. A description of one
 * line takes one line.
 */
function tidy(source: string): string {
  return source
    .replace("export interface Unused {}\n", "")
    .replaceAll(
      /^( *)\/\*\*\n(?: \*\n)? *\* This interface was referenced by `Unused`'s JSON-Schema\n *\* via the `definition` "[^"]*"\.\n *\*\/\n/gm,
      "",
    )
    .replaceAll(
      / \*\n \* This interface was referenced by `Unused`'s JSON-Schema\n \* via the `definition` "[^"]*"\.\n/g,
      "",
    )
    .replaceAll(/^( *)\/\*\*\n *\* (.{1,104})\n *\*\/$/gm, "$1/** $2 */");
}
