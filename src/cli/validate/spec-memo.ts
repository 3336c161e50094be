/** Validates each spec once, because generated files have thousands of policies with the same spec. */

import type { PolicyKind } from "../../policy/policy-ref.ts";
import { type FieldError, isWithin, validatePolicy } from "../../policy/validation/schema.ts";
import type { Semantics } from "../../policy/validation/semantics.ts";
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { RawObject } from "../fleet/kinds.ts";

const MAX_SPECS = 1000;

/** Replaces the spec while the rest of an object is checked. */
const SOUND = {
  HookPolicy: { rules: [{ name: "a", hooks: ["BeforeClusterDelete"] }] },
  ClusterHookPolicy: { namespaceSelector: {}, rules: [{ name: "a", hooks: ["BeforeClusterDelete"] }] },
} satisfies Record<PolicyKind, object>;

/** Only tasks depend on where their policy is. */
function placeOf({ metadata, spec }: RawObject): unknown {
  const hasTasks = listOf(fieldsOf(spec)["rules"]).some((rule) => fieldsOf(rule)["tasks"] !== undefined);
  return hasTasks ? fieldsOf(metadata)["namespace"] : undefined;
}

export class SpecMemo {
  readonly #found = new Map<string, Semantics>();

  /** `check` gets the schema errors within the spec. The schema has no rule about both metadata and spec. */
  check(kind: PolicyKind, object: RawObject, check: (errors: readonly FieldError[]) => Semantics): Semantics {
    if (object["spec"] === undefined || object["spec"] === null) {
      return check(validatePolicy(kind, object));
    }
    const around = validatePolicy(kind, { ...object, spec: SOUND[kind] });
    const key = JSON.stringify([kind, object["spec"], placeOf(object)], (_, value: unknown) =>
      typeof value === "number" && !Number.isFinite(value) ? { notFinite: String(value) } : value,
    );
    const known = this.#found.get(key);
    if (known !== undefined) return { ...known, errors: [...around, ...known.errors] };
    const within = validatePolicy(kind, object).filter(({ path }) => path === "" || isWithin(path, "spec"));
    const found = check(within);
    if (this.#found.size >= MAX_SPECS) this.#found.clear();
    this.#found.set(key, found);
    return { ...found, errors: [...around, ...found.errors] };
  }
}
