/** Reads the flags with which the operator runs, so that commands decide as it does. */

import type { KubeClient } from "../../kube/kube-client.ts";
import { DEPLOYMENTS } from "../../kube/resources.ts";
import { UsageError } from "../../lib/thrown.ts";
import { type Options, parseOptions } from "../../operator/options.ts";
import { type Deployment, flagOf, operators } from "../doctor/check-install.ts";
import { read } from "../doctor/finding.ts";
import { withType } from "./live-objects.ts";

const NAMES = ["capi-version", "webhook-service-name", "max-override-duration"] as const;

/** The options of the operator that was found, or the defaults if there is none, or if it could not start with its flags. */
export function optionsOf(deployed: Deployment): Options {
  const [operator] = operators(deployed);
  if (operator === undefined) return parseOptions({});
  try {
    return parseOptions(Object.fromEntries(NAMES.map((name) => [name, flagOf(operator, name)])));
  } catch (error) {
    if (error instanceof UsageError) return parseOptions({});
    throw error;
  }
}

export interface OperatorOptions {
  readonly options: Options;
  /** The user may not read the operator's flags, so that these are the defaults. */
  readonly assumed: boolean;
}

/** `capiVersion`: what the user says, whatever the operator's flag is. */
export async function operatorOptions(client: KubeClient, capiVersion?: string): Promise<OperatorOptions> {
  const listed = client.list(DEPLOYMENTS, {
    labelSelector: "app.kubernetes.io/name=hookpolicy",
    project: (raw) => withType(DEPLOYMENTS, raw),
  });
  const deployments = await read(listed.then(({ items }) => items));
  const options = optionsOf({ deployments });
  if (capiVersion !== undefined) {
    const told = parseOptions({ "capi-version": capiVersion });
    return { options: { ...options, capiVersion: told.capiVersion }, assumed: false };
  }
  return { options, assumed: !deployments.ok && deployments.why === "Forbidden" };
}
