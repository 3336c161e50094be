/** The openAPIV3Schema of each kind that users write, without descriptions. */

import { isFields } from "../lib/fields.ts";
import type { CrdSchema } from "./crd-schema.ts";
import generated from "./schemas.gen.json" with { type: "json" };

const parts: unknown[] = [];
for (const part of generated.parts) parts.push(whole(part));

type CrdSchemas = Readonly<Record<keyof typeof generated.kinds, CrdSchema>>;

/** What several fields have is one object, so that its rules are compiled once. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a test compares the keywords
export const CRD_SCHEMAS = whole(generated.kinds) as CrdSchemas;

/** A part has only parts before it. */
function whole(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(whole);
  if (!isFields(value)) return value;
  const { $part: part } = value;
  if (typeof part === "number") return parts[part];
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, whole(field)]));
}
