/** Finds the Cluster of a step, and the call that Cluster API would send. */

import { type Cluster, OK_TO_DELETE_ANNOTATION, PENDING_HOOKS_ANNOTATION } from "../../api/meta.ts";
import { type HookCall, VERSION_FIELDS } from "../../api/runtime-hooks.ts";
import type { RequestedOperation } from "../../operations/requested-operation.ts";
import { expectedCall, VERSIONED } from "../../operations/call.ts";
import { newOperation, showsEnd, wanting } from "../../operations/operation.ts";
import { clusterKey } from "../../views/cluster.ts";
import { targetVersion } from "../../api/target-version.ts";
import { requestOf } from "../fleet/admission-request.ts";
import { clusterNamed } from "./check-names.ts";
import { SuiteError } from "./suite-error.ts";
import type { Session } from "./session.ts";
import type { CallSpec, RequestSpec } from "./spec.ts";
import type { ClusterCall } from "../../policy/world.ts";

/** Throws for a call that Cluster API would not send. */
export function target(session: Session, spec: CallSpec): ClusterCall {
  const { hook, settings } = spec;
  const cluster = clusterNamed(spec.cluster, session.objects.fleet, "cluster");
  if (!session.served.advertised.has(hook)) {
    throw new SuiteError(
      `Cluster API ${session.served.capiVersion} does not call ${hook} (spec.capiVersion)`,
      "hook",
    );
  }
  const { topology, paused } = cluster;
  if (topology === undefined || paused) {
    const why = paused ? "is paused" : "has no spec.topology";
    throw new SuiteError(`${spec.cluster} ${why}: Cluster API calls no hook for it`, "cluster");
  }
  const call = callOf(spec, cluster);
  const wanted = VERSIONED.has(hook) ? wanting(cluster, targetVersion(call)) : cluster;
  checkNotOver(session, wanted, call);
  return {
    cluster: wanted,
    call: { ...call, ...(settings !== undefined && { settings }) },
  };
}

/** The same for a call that the suite makes: the Cluster keeps the version that the call names. */
export function targetOfCall(session: Session, spec: CallSpec): ClusterCall {
  const asked = target(session, spec);
  const { topology } = asked.cluster;
  const known = session.objects.memory.clusters.get(spec.cluster);
  if (topology !== undefined && topology.version !== known?.topology?.version) {
    session.objects.wantVersion(asked.cluster, topology.version);
    session.objectsChanged();
  }
  return asked;
}

/** Throws for a request that the API server sends no review of. The request changes nothing, like a dry run. */
export function targetOfRequest(session: Session, spec: RequestSpec): RequestedOperation {
  const { admission, settings, toKubernetesVersion: to, fromKubernetesVersion: from } = spec;
  const cluster = clusterNamed(spec.cluster, session.objects.fleet, "cluster");
  const allowed = admission === "Upgrade" ? ["fromKubernetesVersion", "toKubernetesVersion"] : [];
  versionsIn(spec, `admission: ${admission}`, allowed);
  if (settings !== undefined) throw new SuiteError("no settings come with a request", "settings");
  if (admission === "Upgrade" && to === undefined)
    throw new SuiteError("an upgrade at admission needs the version that it goes to", "toKubernetesVersion");
  const request = requestOf(admission, cluster, { to, from });
  if ("why" in request) throw new SuiteError(`${spec.cluster} ${request.why}`, "cluster");
  return request;
}

/** Throws where the Cluster shows that Cluster API does not call the hook any more. */
function checkNotOver({ served, now, running }: Session, cluster: Cluster, call: HookCall): void {
  const operation = newOperation(call, cluster, now, undefined);
  const key = clusterKey(cluster);
  if (running.has(key) || !showsEnd(operation, cluster, served)) return;
  throw new SuiteError(
    `Cluster API does not call ${call.hook}: ${key} shows that the operation has begun or ended, by ${SHOWN_BY}`,
    "hook",
  );
}

const SHOWN_BY = `its version, its references, a deletionTimestamp or the annotations ${PENDING_HOOKS_ANNOTATION} and ${OK_TO_DELETE_ANNOTATION}`;

const VERSIONS = ["fromKubernetesVersion", "toKubernetesVersion", "kubernetesVersion"] as const;

/** Versions that the call leaves out are those of Cluster API's call, as far as the Cluster shows them. */
function callOf(spec: CallSpec, cluster: Cluster): HookCall {
  const { hook } = spec;
  return { ...expectedCall(hook, cluster), ...versionsIn(spec, hook, VERSION_FIELDS[hook]) };
}

function versionsIn(
  spec: CallSpec | RequestSpec,
  what: string,
  allowed: readonly string[],
): Readonly<Record<string, string | undefined>> {
  const given = VERSIONS.filter((field) => spec[field] !== undefined);
  const wrong = given.find((field) => !allowed.includes(field));
  if (wrong !== undefined) {
    const meant =
      wrong === "fromKubernetesVersion"
        ? undefined
        : allowed.find((field) => field !== "fromKubernetesVersion");
    throw new SuiteError(`${what} has no such field${meant === undefined ? "" : `: write ${meant}`}`, wrong);
  }
  return Object.fromEntries(given.map((field) => [field, spec[field]]));
}
