/** The operator with the flags of Node.js that the shipped Deployment sets: memory depends on them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../test/controlplane/controlplane.ts";
import { type Operator, startOperator } from "../test/controlplane/operator.ts";

const DEPLOYMENT = join(import.meta.dirname, "../manifests/deployment.yaml");

/** `nodeFlags` come after the shipped ones. */
export async function startShipped(
  cp: ControlPlane,
  { nodeFlags = [], ...options }: Parameters<typeof startOperator>[1] & object,
): Promise<Operator> {
  const [, shipped] = /name: NODE_OPTIONS\n\s+value: (.+)\n/.exec(readFileSync(DEPLOYMENT, "utf8")) ?? [];
  if (shipped === undefined) throw new Error(`${DEPLOYMENT} has no NODE_OPTIONS`);
  return await startOperator(cp, { ...options, nodeFlags: [...shipped.split(" "), ...nodeFlags] });
}
