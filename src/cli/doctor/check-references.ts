/** Checks where users may let a Cluster refer to the control plane or infrastructure of another one. */

import { clusterKey } from "../../policy/cluster.ts";
import { shellQuote } from "../../policy/message.ts";
import { isBound, optedOut } from "./check-foreground.ts";
import type { CoverageSurvey } from "./check-coverage.ts";
import { type Evidence, type Finding, ok, some, unread, warning } from "./doctor.ts";

const MARKS_POLICY = "hookpolicy-protect-marks";
const OPT_OUT = "hookpolicy.dev/references";

/** A reference leads to an object of the Cluster's own namespace (Cluster API's webhook). */
export function references(evidence: Evidence, { fleet }: CoverageSurvey): Finding {
  const { policyBindings: bindings, namespaces, clusters } = evidence;
  if (!bindings.ok) return unread(bindings);
  if (!isBound(bindings.value, MARKS_POLICY))
    return ok(`nothing refuses them: ValidatingAdmissionPolicy ${MARKS_POLICY} is not bound with Deny`);
  if (!namespaces.ok) return unread(namespaces);
  if (!clusters.ok) return unread(clusters);
  const out = optedOut(namespaces.value, OPT_OUT);
  const inDanger = fleet
    .clusters()
    .filter(
      ({ topology, metadata: { namespace = "" } }) => topology !== undefined && out.includes(namespace),
    );
  const [first] = inDanger;
  const named = out.length === 0 ? "" : `; Namespaces that opt out by the label ${OPT_OUT}: ${some(out)}`;
  if (first === undefined) return ok(`ValidatingAdmissionPolicy ${MARKS_POLICY} is bound${named}`);
  const { namespace = "" } = first.metadata;
  return warning(
    `a Cluster without topology can take along the control plane of ${some(inDanger.map(clusterKey))} when it is deleted${named}`,
    `keep held Clusters in other namespaces: kubectl label namespace ${shellQuote(namespace)} ${OPT_OUT}-`,
  );
}
