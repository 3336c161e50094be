/** `value: null` in a gate: the API server drops it, and any value is then an approval. */

import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { RawObject } from "../fleet/kinds.ts";

export function nullValues({ spec }: RawObject): readonly FieldError[] {
  const { rules, stages } = fieldsOf(spec);
  return [...gatesIn(rules, "rules"), ...gatesIn(stages, "stages")].flatMap(({ gate, path }) =>
    Object.entries(fieldsOf(gate)).flatMap(([kind, settings]) =>
      ["value", "valueFrom"]
        .filter((field) => fieldsOf(settings)[field] === null)
        .map((field) => ({ path: `${path}.${kind}.${field}`, message: MESSAGE })),
    ),
  );
}

const MESSAGE =
  "found null, which means any value: write the value in quotes, or remove the field if every value is meant";

interface Gate {
  readonly gate: unknown;
  readonly path: string;
}

function gatesIn(list: unknown, field: string): readonly Gate[] {
  return listOf(list).flatMap((each, index) => itemsOf(each, "until", `spec.${field}[${index}]`));
}

/** Each with its alternatives. */
function itemsOf(parent: unknown, field: string, path: string): readonly Gate[] {
  return listOf(fieldsOf(parent)[field]).flatMap((gate, index) => {
    const at = `${path}.${field}[${index}]`;
    return [{ gate, path: at }, ...itemsOf(gate, "anyOf", at)];
  });
}
