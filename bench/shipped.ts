/** The operator with what the shipped Deployment tells Node.js, which memory depends on. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../test/controlplane/controlplane.ts";
import { type Operator, startOperator } from "../test/controlplane/operator.ts";

const DEPLOYMENT = join(import.meta.dirname, "../manifests/deployment.yaml");

function shippedNodeFlags(): string[] {
  const [, value] = /name: NODE_OPTIONS\n\s+value: (.+)\n/.exec(readFileSync(DEPLOYMENT, "utf8")) ?? [];
  if (value === undefined) throw new Error(`${DEPLOYMENT} has no NODE_OPTIONS`);
  return value.split(" ");
}

/** `nodeFlags`: more of them. */
export async function startShipped(
  cp: ControlPlane,
  { nodeFlags = [], ...options }: Parameters<typeof startOperator>[1] & object,
): Promise<Operator> {
  return await startOperator(cp, { ...options, nodeFlags: [...shippedNodeFlags(), ...nodeFlags] });
}
