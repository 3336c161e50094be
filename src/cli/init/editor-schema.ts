/**
 * The schemas of every kind as one file, which `init` writes so that no editor downloads one. In the built program its text stands
 * for this module (release/build.ts), because the executable has no folder beside it.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const SCHEMAS = join(import.meta.dirname, "../../../schemas");

/** schemas/all.json, with the files that it refers to as its definitions. */
export function editorSchema(): string {
  const definitions: Record<string, object> = {};
  const text = readFileSync(join(SCHEMAS, "all.json"), "utf8").replaceAll(
    /"\$ref": "(\w+)\.json"/g,
    (_, name: string) => {
      const { $schema: _draft, ...schema } = JSON.parse(readFileSync(join(SCHEMAS, `${name}.json`), "utf8"));
      definitions[name] = schema;
      return `"$ref": "#/definitions/${name}"`;
    },
  );
  return `${JSON.stringify({ ...JSON.parse(text), definitions }, undefined, 1)}\n`;
}
