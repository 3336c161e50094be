/** Warnings that the author accepts with the annotation `hookpolicy.dev/accept: rule/warning[, ...]`. */

import { isWithin } from "../../lib/field-path.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { found } from "../../lib/quoted-value.ts";
import type { FieldError } from "./schema.ts";

const ACCEPT = "hookpolicy.dev/accept";

const PATH = `metadata.annotations[${ACCEPT}]`;

export interface Acceptance {
  /** The warnings that the annotation does not accept. */
  readonly left: readonly FieldError[];
  /** A warning for each part of the annotation that accepts nothing. */
  readonly unused: readonly FieldError[];
}

/** The named lists of a policy and of a rollout, and the list of an override, which has no names. */
type Field = "rules" | "stages" | "hooks";

const FORMS: Readonly<Record<Field, readonly [object: string, form: string]>> = {
  rules: ["policy", "RULE/WARNING"],
  stages: ["rollout", "STAGE/WARNING or WARNING"],
  hooks: ["override", "WARNING"],
};

/** Warnings that another object causes, which need not be among the files, or time, which has not come yet. */
export const SHARED_CLUSTERS = "shared-clusters";
export const KEPT_SLOT = "kept-slot";
export const WINDOWS_CONFLICT = "windows-conflict";
export const SELECTS_NOTHING = "selects-nothing";
export const NAMES_NOTHING = "names-nothing";
export const NAMESPACE_MISSING = "namespace-missing";
export const OVERRIDE_EXPIRED = "override-expired";
export const DENY_HAS_PASSED = "deny-has-passed";
export const WINDOW_NEVER_OPENS = "window-never-opens";
/** Those about a whole object. */
const OF_WHOLE: readonly string[] = [SELECTS_NOTHING, NAMES_NOTHING, NAMESPACE_MISSING, OVERRIDE_EXPIRED];
const BY_RULE = [SHARED_CLUSTERS, KEPT_SLOT, WINDOWS_CONFLICT, DENY_HAS_PASSED, WINDOW_NEVER_OPENS];
const OF_OTHERS = new RegExp(`/?(${[...BY_RULE, ...OF_WHOLE].join("|")})$`);

/** `warnings` are those of these rules. The annotation and the rules may be invalid. */
export function acceptWarnings(
  annotations: unknown,
  rules: readonly unknown[],
  warnings: readonly FieldError[],
  field: Field = "rules",
): Acceptance {
  const accepted = partsOf(annotations);
  const names = warnings.map((warning) => nameOf(warning, rules, field));
  const unused = [...new Set(accepted)].filter((part) => !names.includes(part) && !OF_OTHERS.test(part));
  return {
    left: warnings.filter((_, index) => !accepted.includes(names[index] ?? "")),
    unused: unused.map((part) => ({
      path: PATH,
      id: "unused-accept",
      message: describe(part, names, field),
    })),
  };
}

function partsOf(annotations: unknown): readonly string[] {
  const text = fieldsOf(annotations)[ACCEPT];
  return typeof text === "string" ? text.split(",").map((part) => part.trim()) : [];
}

/** "confirmed-delete/unbound-approval"; only the id for a warning about the whole object; "": it cannot be accepted. */
function nameOf({ path, id = "" }: FieldError, rules: readonly unknown[], field: Field): string {
  const index = rules.findIndex((_, at) => isWithin(path, `spec.${field}[${at}]`));
  if (index < 0) return (field === "stages" && isWithin(path, "spec")) || OF_WHOLE.includes(id) ? id : "";
  const { name } = fieldsOf(rules[index]);
  return id === "" || typeof name !== "string" ? "" : `${name}/${id}`;
}

function describe(part: string, names: readonly string[], field: Field): string {
  const [object, form] = FORMS[field];
  const acceptable = names.filter((name) => name !== "");
  return `${found(part)} accepts no warning of this ${object}: remove it, or write ${form}, separated by commas${didYouMean(part, acceptable)}`;
}
