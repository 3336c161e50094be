/** The Cluster of a step, and the call that Cluster API would send. */

import type { Cluster } from "../../api/meta.ts";
import { type HookCall, VERSION_FIELDS } from "../../api/runtimehooks.ts";
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
  const versions = versionsOf(spec, topology.version);
  return { cluster, call: { hook, ...versions, ...(settings !== undefined && { settings }) } };
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

function versionsOf(spec: CallSpec, wanted: string): Omit<HookCall, "hook" | "settings"> {
  const fields: readonly string[] = VERSION_FIELDS[spec.hook];
  const entries = VERSIONS.flatMap((field) => {
    if (!fields.includes(field)) {
      if (spec[field] !== undefined) throw new SuiteError(`${spec.hook} has no such field`, field);
      return [];
    }
    const version = spec[field] ?? (field === "fromKubernetesVersion" ? "" : wanted);
    if (version === "") throw new SuiteError(`${spec.hook} says it: the version that the Cluster has`, field);
    return [[field, version] as const];
  });
  const versions: Omit<HookCall, "hook" | "settings"> = Object.fromEntries(entries);
  if (spec.hook === "BeforeClusterUpgrade" && versions.toKubernetesVersion !== wanted) {
    throw new SuiteError(
      `Cluster API asks for what the Cluster's spec.topology.version wants, which is ${wanted}`,
      "toKubernetesVersion",
    );
  }
  return versions;
}
