/** Warnings about effects of a rule at admission that its author may not expect. */

import type { RuleSpec } from "../../api/hook-policy.ts";
import { conditionsOf } from "../gates/gates.ts";
import type { FieldError } from "./schema.ts";

/** For a rule, or its parts, that fit the schema. */
export function admissionWarnings(rule: RuleSpec, path: string): readonly FieldError[] {
  if (rule.admission === undefined || rule.admission === "None") return [];
  return [...passedDeadline(rule, path), ...unmetAtAdmission(rule, path)];
}

/** A deadline counts from the first call of the hook, which a refused request never leads to. */
function passedDeadline({ admission, deadline }: RuleSpec, path: string): FieldError[] {
  if (admission !== "Deny" || deadline?.onExpiry !== "Allow") return [];
  const message =
    "the deadline ends only what a hook holds: at admission, the API server refuses the request until the gates are met, however long that takes. Use admission: Warn, or remove the deadline";
  return [{ path: `${path}.deadline.onExpiry`, id: "deadline-not-at-admission", message }];
}

function unmetAtAdmission({ hooks, until = [] }: RuleSpec, path: string): FieldError[] {
  return until.flatMap((gate, index) =>
    conditionsOf(gate, `${path}.until[${index}]`).flatMap(({ kind, spec, place }) =>
      (kind.checkAdmission?.(spec, hooks) ?? []).map(place),
    ),
  );
}
