/** The operator with what the shipped Deployment tells Node.js and the C library: memory and speed depend on it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "./control-plane.ts";
import { type Operator, startOperator } from "./operator.ts";

const DEPLOYMENT = join(import.meta.dirname, "../../manifests/deployment.yaml");

/** In MiB, of the container. */
export const MEMORY_LIMIT_MIB = Number(inDeployment(/limits:\n\s+memory: (\d+)Mi\n/));

const MALLOC = "MALLOC_MMAP_THRESHOLD_";

interface ShippedOptions extends NonNullable<Parameters<typeof startOperator>[1]> {
  /** The memory limit of the container; default: the manifest's. */
  readonly memoryMiB?: number | undefined;
}

export async function startShipped(
  cp: ControlPlane,
  { nodeFlags = [], memoryMiB, ...options }: ShippedOptions = {},
): Promise<Operator> {
  return await startOperator(cp, {
    ...options,
    nodeFlags: [...shippedFlags(memoryMiB), ...nodeFlags],
    // The image has no cache of compiled code.
    env: { ...options.env, [MALLOC]: shippedVariable(MALLOC), NODE_DISABLE_COMPILE_CACHE: "1" },
  });
}

/** A variable of the container. */
function shippedVariable(name: string): string {
  return inDeployment(new RegExp(`name: ${name}\\n\\s+value: "?([^"\\n]+)"?\\n`));
}

/** The flags for a process around which there is no limit: Node.js would take the percentage of the whole machine. */
function shippedFlags(memoryMiB: number = MEMORY_LIMIT_MIB): readonly string[] {
  const heap = (_: string, percent: string): string =>
    `--max-old-space-size=${Math.floor((Number(percent) / 100) * memoryMiB)}`;
  return shippedVariable("NODE_OPTIONS")
    .replace(/--max-old-space-size-percentage=(\d+)/, heap)
    .split(" ");
}

function inDeployment(pattern: RegExp): string {
  const [, found] = pattern.exec(readFileSync(DEPLOYMENT, "utf8")) ?? [];
  if (found === undefined) throw new Error(`${DEPLOYMENT} has nothing like ${pattern}`);
  return found;
}
