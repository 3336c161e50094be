/** The operator with what the shipped Deployment tells Node.js, which memory depends on. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { type Operator, type OperatorOptions, startOperator } from "../../test/controlplane/operator.ts";

const DEPLOYMENT = join(import.meta.dirname, "../../manifests/deployment.yaml");

function shippedNodeOptions(): string {
  const [, value] = /name: NODE_OPTIONS\n\s+value: (.+)\n/.exec(readFileSync(DEPLOYMENT, "utf8")) ?? [];
  if (value === undefined) throw new Error(`${DEPLOYMENT} has no NODE_OPTIONS`);
  return value;
}

export async function startShipped(
  cp: ControlPlane,
  options: OperatorOptions & {
    readonly waitReady?: boolean;
    /** More options of Node.js. */
    readonly nodeOptions?: string;
  },
): Promise<Operator> {
  const { nodeOptions = "", ...rest } = options;
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = `${shippedNodeOptions()} ${nodeOptions}`; // handed on to what is started
  try {
    return await startOperator(cp, rest);
  } finally {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  }
}
