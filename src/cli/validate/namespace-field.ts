/** Checks metadata.namespace, which no schema of a CRD covers. */

import { isFields } from "../../lib/fields.ts";
import { found, wrongType } from "../../policy/validation/field-message.ts";
import type { Semantics } from "../../policy/validation/semantics.ts";
import { RENDER_FIRST } from "../files/yaml-mistake.ts";
import { ownKind, type RawObject } from "../fleet/kinds.ts";

const PATH = "metadata.namespace";
/** apimachinery: IsDNS1123Label. */
const LABEL = /^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** In a wrong namespace, a policy protects other Clusters, or none. */
export function namespaceFindings(object: RawObject): Semantics {
  const kind = ownKind(object);
  const metadata = object["metadata"];
  if (kind === undefined || !isFields(metadata)) return { errors: [], warnings: [] };
  const namespace = metadata["namespace"];
  if (namespace === undefined || namespace === null || namespace === "") {
    const missing = { path: PATH, id: "namespace-missing", message: MISSING };
    return { errors: [], warnings: kind === "HookPolicy" ? [missing] : [] };
  }
  const problem = nameProblem(namespace);
  if (problem !== undefined) return { errors: [{ path: PATH, message: problem }], warnings: [] };
  const ignored = { path: PATH, id: "namespace-ignored", message: dropped(kind) };
  return { errors: [], warnings: kind === "HookPolicy" ? [] : [ignored] };
}

const MISSING =
  "is missing, so that kubectl chooses it (-n, or its context); here it is taken as default. Write the namespace whose Clusters are meant";

function dropped(kind: string): string {
  const reach =
    kind === "HookOverride"
      ? "spec.clusterRef names the namespace of the Cluster"
      : `the ${kind === "HookRollout" ? "rollout" : "policy"} is about every namespace that spec.namespaceSelector selects`;
  return `a ${kind} has no namespace, and the API server drops it: ${reach}. Remove it`;
}

function nameProblem(namespace: unknown): string | undefined {
  const expected = "expected the name of a namespace: lower-case letters, digits and '-', at most 63";
  if (typeof namespace === "string") {
    if (LABEL.test(namespace)) return undefined;
    return /\{\{|\$\{|\$\(|<[^>]*>/.test(namespace)
      ? `found ${found(namespace)}, which is a template: ${RENDER_FIRST}`
      : `found ${found(namespace)}, ${expected}`;
  }
  if (isTemplate(namespace)) return `found {{ … }}, which is a template: ${RENDER_FIRST}`;
  return wrongType(namespace, "string");
}

/** YAML reads {{ .Values.team }} as a map whose key is a map. */
function isTemplate(value: unknown): boolean {
  return (
    isFields(value) && Object.keys(value).some((key) => key.startsWith("{") || key === "[object Object]")
  );
}
