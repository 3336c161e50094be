/** The Cluster of a step, and the call that Cluster API would send. */

import type { Cluster } from "../../api/meta.ts";
import { type HookCall, VERSION_FIELDS } from "../../api/runtimehooks.ts";
import { expectedCall } from "../../operations/call.ts";
import { nearest } from "../../policy/validation/fieldmessage.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { SuiteError } from "./suiteerror.ts";
import type { Session } from "./session.ts";
import type { CallSpec } from "./spec.ts";

export interface Target {
  readonly cluster: Cluster;
  readonly call: HookCall;
}

/** Throws for a call that Cluster API would not send. */
export function target(session: Session, spec: CallSpec): Target {
  const { hook, settings } = spec;
  const cluster = clusterOf(session, spec.cluster);
  if (!session.served.advertised.has(hook)) {
    throw new SuiteError(
      `Cluster API ${session.served.capiVersion} does not call ${hook} (spec.capiVersion)`,
      "hook",
    );
  }
  const { topology, paused } = cluster;
  if (topology === undefined)
    throw new SuiteError(`${spec.cluster} has no spec.topology: Cluster API calls no hook for it`, "cluster");
  if (paused) throw new SuiteError(`${spec.cluster} is paused: Cluster API calls no hook for it`, "cluster");
  const call = callOf(spec, cluster);
  return { cluster, call: { ...call, ...(settings !== undefined && { settings }) } };
}

function clusterOf({ world }: Session, key: string): Cluster {
  const [namespace = "", name = ""] = key.split("/");
  const cluster = world.fleet.cluster(namespace, name);
  if (cluster !== undefined) return cluster;
  const meant = nearest(key, world.fleet.clusters().map(clusterKey));
  throw new SuiteError(
    `there is no Cluster ${key}${meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`}`,
    "cluster",
  );
}

const VERSIONS = ["fromKubernetesVersion", "toKubernetesVersion", "kubernetesVersion"] as const;

/** What the call does not say is as Cluster API would call, as far as the Cluster shows it. */
function callOf(spec: CallSpec, cluster: Cluster): HookCall {
  const { hook, toKubernetesVersion: to } = spec;
  const said = VERSIONS.filter((field) => spec[field] !== undefined);
  const wrong = said.find((field) => !VERSION_FIELDS[hook].includes(field));
  if (wrong !== undefined) throw new SuiteError(`${hook} has no such field`, wrong);
  const wanted = cluster.topology?.version ?? "";
  if (hook === "BeforeClusterUpgrade" && to !== undefined && to !== wanted) {
    throw new SuiteError(
      `Cluster API asks for what the Cluster's spec.topology.version wants, which is ${wanted}`,
      "toKubernetesVersion",
    );
  }
  return {
    ...expectedCall(hook, cluster),
    ...Object.fromEntries(said.map((field) => [field, spec[field]])),
  };
}
