/** Writes on the Clusters of a suite what Cluster API writes while their operations wait, run and end. */

import { fieldsOf, listOf } from "../../lib/fields.ts";
import { OK_TO_DELETE_ANNOTATION, PENDING_HOOKS_ANNOTATION } from "../../api/meta.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { timestamp } from "../../lib/instant.ts";
import { lookup } from "../../api/selector.ts";
import { markOfOperation } from "../../rollouts/member.ts";
import type { Operation } from "../../operations/beginnings.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { merged } from "../fleet/merge-patch.ts";

/** The Cluster shows that Cluster API waits for the answer before the operation. */
export function asWaiting(cluster: RawObject, operation: Operation, now: Date): RawObject {
  if (operation === "Create") return cluster;
  const { deletionTimestamp = timestamp(now) } = fieldsOf(cluster["metadata"]);
  if (operation === "Delete") return merged(cluster, { metadata: { deletionTimestamp } });
  const message = "Following hooks are blocking upgrade: BeforeClusterUpgrade: not yet";
  return withConditions(cluster, { TopologyReconciled: ["False", "LifecycleHookBlocking", message] }, now);
}

/** The Cluster as Cluster API writes it in the reconcile in which the operation was released. */
export function asBegun(cluster: RawObject, operation: Operation, now: Date): RawObject {
  if (operation === "Delete") return annotated(cluster, OK_TO_DELETE_ANNOTATION, "");
  const marked = withMark(cluster, markOfOperation(operation), true);
  const { name } = viewMetadata(cluster["metadata"]);
  if (operation === "Create") return merged(marked, { spec: { infrastructureRef: { name } } });
  return withConditions(
    marked,
    { TopologyReconciled: ["False", "ClusterUpgrading", "Cluster is upgrading"] },
    now,
  );
}

/** The Cluster as Cluster API writes it when the creation or upgrade is over. */
export function asEnded(
  cluster: RawObject,
  operation: "Create" | "Upgrade",
  { isHealthy, now }: { readonly isHealthy: boolean; readonly now: Date },
): RawObject {
  return withConditions(
    withMark(cluster, markOfOperation(operation), false),
    {
      TopologyReconciled: ["True", "ReconcileSucceeded", ""],
      Available: isHealthy ? ["True", "Available", ""] : ["False", "NotAvailable", ""],
      ...(operation === "Create" && { ControlPlaneInitialized: ["True", "Initialized", ""] }),
    },
    now,
  );
}

/** The Cluster before Cluster API wrote that its operations have begun or ended; `created`: it was created already. */
export function asNotBegun(cluster: RawObject, created: boolean): RawObject {
  const { annotations, ...metadata } = fieldsOf(cluster["metadata"]);
  const {
    [OK_TO_DELETE_ANNOTATION]: _released,
    [PENDING_HOOKS_ANNOTATION]: _marks,
    ...kept
  } = fieldsOf(annotations);
  const spec = fieldsOf(cluster["spec"]);
  const { infrastructureRef: _infrastructure, controlPlaneRef: _controlPlane, ...asked } = spec;
  // A condition without a generation does not show that the Cluster has its version; expressions read no generation.
  const text = JSON.stringify(cluster, (key, value: unknown) =>
    key === "observedGeneration" ? undefined : value,
  );
  return {
    ...fieldsOf(JSON.parse(text)),
    metadata: { ...metadata, ...(annotations !== undefined && { annotations: kept }) },
    spec: created ? spec : asked,
  };
}

function annotated(cluster: RawObject, key: string, value: string): RawObject {
  return merged(cluster, { metadata: { annotations: { [key]: value } } });
}

function withMark(cluster: RawObject, mark: string, isThere: boolean): RawObject {
  const pending = lookup(viewMetadata(cluster["metadata"]).annotations, PENDING_HOOKS_ANNOTATION) ?? "";
  const others = pending.split(",").filter((each) => each !== "" && each !== mark);
  return annotated(cluster, PENDING_HOOKS_ANNOTATION, [...others, ...(isThere ? [mark] : [])].join(","));
}

type ShownCondition = readonly [status: "True" | "False", reason: string, message: string];

/** Writes conditions of the present generation, where v1beta1 or v1beta2 keeps the Cluster's conditions. */
function withConditions(
  cluster: RawObject,
  shown: Readonly<Record<string, ShownCondition>>,
  now: Date,
): RawObject {
  const status = fieldsOf(cluster["status"]);
  const newer = fieldsOf(status["v1beta2"]);
  const { generation = 1 } = viewMetadata(cluster["metadata"]);
  const before = listOf(newer["conditions"] ?? status["conditions"]).map(fieldsOf);
  const written = Object.entries(shown).map(([type, [is, reason, message]]) => {
    const known = before.find((each) => each["type"] === type && each["status"] === is);
    const lastTransitionTime = known?.["lastTransitionTime"] ?? timestamp(now);
    return { type, status: is, reason, message, observedGeneration: generation, lastTransitionTime };
  });
  const others = before.filter(({ type }) => typeof type !== "string" || !Object.hasOwn(shown, type));
  const conditions = [...others, ...written];
  const changed = newer["conditions"] === undefined ? { conditions } : { v1beta2: { conditions } };
  return merged(cluster, { metadata: { generation }, status: changed });
}
