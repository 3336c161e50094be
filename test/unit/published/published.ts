/** JSON schemas of those who read what is published; schemas/README.md says where they are from. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type SchemaObject } from "ajv";
import addFormats from "ajv-formats";

export function readSchema(name: string): SchemaObject {
  const schema: SchemaObject = JSON.parse(
    readFileSync(join(import.meta.dirname, "schemas", `${name}.json`), "utf8"),
  );
  return schema;
}

/** One line for each problem of an object. */
export function problemsBy(schema: SchemaObject): (object: unknown) => string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  return (object) => {
    validate(object);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}
