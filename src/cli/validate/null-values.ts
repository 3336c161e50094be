/** `value: null` in a gate: the API server drops it, and any value is then an approval. */

import { fieldsOf } from "../../lib/fields.ts";
import { gatesIn } from "../../policy/gates/gates.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { RawObject } from "../fleet/kinds.ts";

export function nullValues({ spec }: RawObject): readonly FieldError[] {
  return gatesIn(spec).flatMap(({ value: gate, path }) =>
    Object.entries(fieldsOf(gate)).flatMap(([kind, settings]) =>
      ["value", "valueFrom"]
        .filter((field) => fieldsOf(settings)[field] === null)
        .map((field) => ({ path: `${path}.${kind}.${field}`, message: MESSAGE })),
    ),
  );
}

const MESSAGE =
  "found null, which means any value: write the value in quotes, or remove the field if every value is meant";
