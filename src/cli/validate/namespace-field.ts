/** Checks metadata.namespace, which no schema of a CRD covers. */

import { isFields } from "../../lib/fields.ts";
import type { Semantics } from "../../policy/validation/semantics.ts";
import { ownKind, type RawObject } from "../fleet/kinds.ts";
import { nameProblem } from "../fleet/object-names.ts";

const PATH = "metadata.namespace";

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
  const problem = nameProblem(namespace, "a namespace", 63);
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
