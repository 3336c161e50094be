/** Checks the names of objects, which no schema of a CRD covers. */

import { DNS_LABEL, DNS_SUBDOMAIN } from "../../lib/dns-names.ts";
import { isFields } from "../../lib/fields.ts";
import { found } from "../../lib/found.ts";
import { wrongType } from "../../policy/validation/field-message.ts";
import { RENDER_FIRST } from "../files/yaml-mistake.ts";

/** `of`: "a namespace". Names of namespaces have no dots. */
export function nameProblem(name: unknown, of: string, maxLength: number): string | undefined {
  const pattern = maxLength > 63 ? DNS_SUBDOMAIN : DNS_LABEL;
  const dots = maxLength > 63 ? ", '.'" : "";
  if (typeof name !== "string") return templateProblem(name) ?? wrongType(name, "string");
  if (pattern.test(name) && name.length <= maxLength) return undefined;
  const expected = `expected the name of ${of}: lower-case letters, digits${dots} and '-', at most ${maxLength}`;
  return templateProblem(name) ?? `found ${found(name)}, ${expected}`;
}

/** `undefined`: it is not a template. */
export function templateProblem(value: unknown): string | undefined {
  if (typeof value === "string" && /\{\{|\$\{|\$\(|<[^>]*>/.test(value))
    return `found ${found(value)}, which is a template: ${RENDER_FIRST}`;
  return isTemplate(value) ? `found {{ … }}, which is a template: ${RENDER_FIRST}` : undefined;
}

/** YAML reads {{ .Values.team }} as a map whose key is a map. */
export function isTemplate(value: unknown): boolean {
  return (
    isFields(value) && Object.keys(value).some((key) => key.startsWith("{") || key === "[object Object]")
  );
}
