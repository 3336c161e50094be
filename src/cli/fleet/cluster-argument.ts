/** The argument by which commands take one object: NAMESPACE/NAME, or NAME in the namespace of -n or of the context. */

import { type Command, InvalidArgumentError } from "commander";
import { clusterName } from "../command.ts";
import { UsageError } from "../../lib/thrown.ts";
import { type ConnectionFlags, reading } from "./connection.ts";
import type { ClusterName } from "./live-cluster.ts";

export interface ShortName {
  readonly namespace?: string;
  readonly name: string;
}

interface NamespaceFlags extends ConnectionFlags {
  readonly namespace?: string;
  readonly filename?: readonly string[];
}

export function addClusterArgument(command: Command): Command<[ShortName], { namespace?: string }> {
  return command
    .argument("<cluster>", "NAMESPACE/NAME, or NAME", shortName)
    .option(
      "-n, --namespace <name>",
      "namespace of a Cluster that is given by NAME; default: that of the kubeconfig's context",
    );
}

export function shortName(text: string): ShortName {
  if (text === "") throw new InvalidArgumentError("Allowed: NAMESPACE/NAME, such as team-a/prod-1, or NAME");
  return text.includes("/") ? clusterName(text) : { name: text };
}

/** Like kubectl, uses the namespace of the context; files have no context, so it is "default" there. */
export async function inNamespace(
  { namespace, name }: ShortName,
  flags: NamespaceFlags,
): Promise<ClusterName> {
  if (namespace !== undefined) {
    if (flags.namespace === undefined || flags.namespace === namespace) return { namespace, name };
    throw new UsageError(`${namespace}/${name} is not in namespace ${flags.namespace}, which -n says`);
  }
  if (flags.namespace !== undefined) return { namespace: flags.namespace, name };
  if (flags.filename !== undefined) return { namespace: "default", name };
  const { contextNamespace } = await import("./live-fleet.ts");
  return { namespace: await reading(() => contextNamespace(flags)), name };
}
