/** What the shipped Deployment tells Node.js and the C library. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const DEPLOYMENT = join(import.meta.dirname, "../../manifests/deployment.yaml");

/** In MiB, of the container. */
export const MEMORY_LIMIT_MIB = Number(inDeployment(/limits:\n\s+memory: (\d+)Mi\n/));

/** A variable of the container. */
export function shippedVariable(name: string): string {
  return inDeployment(new RegExp(`name: ${name}\\n\\s+value: "?([^"\\n]+)"?\\n`));
}

/** The flags for a process around which there is no limit: Node.js would take the percentage of the whole machine. */
export function shippedFlags(memoryMiB: number = MEMORY_LIMIT_MIB): readonly string[] {
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
