/** Writes test/contract/golden/ anew and has Cluster API's own types check it: `node test/contract/regenerate.ts`. */

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import { startExtension } from "./extension.ts";
import {
  discoveryPath,
  GOLDEN,
  goldenDiscoveryRequest,
  goldenRequest,
  pathOf,
  writeGolden,
} from "./golden.ts";
import { bodyIn, replicaIn, SITUATION_NAMES } from "./situations.ts";

const GO_MODULE = resolve(import.meta.dirname, "../controlplane/cluster-api");

function golden(command: "write" | "check"): void {
  const args = ["run", "-mod=readonly", "./golden", command, GOLDEN];
  const { status, error } = spawnSync("go", args, { cwd: GO_MODULE, stdio: "inherit" });
  if (status !== 0) throw new Error(`golden ${command} failed`, { cause: error });
}

golden("write");
for (const minor of [11, 14]) {
  const extension = await startExtension(replicaIn("blocked"), minor);
  const { text } = await extension.call(discoveryPath(), goldenDiscoveryRequest());
  writeGolden(`discovery.1.${minor}`, [text]);
  await extension.close();
}
for (const situation of SITUATION_NAMES) {
  const extension = await startExtension(replicaIn(situation));
  const answers: string[] = [];
  for (const hook of HOOK_NAMES) {
    const body = bodyIn(situation, goldenRequest("v1beta2", hook));
    answers.push((await extension.call(pathOf(hook), body)).text);
  }
  writeGolden(`responses.${situation}`, answers);
  await extension.close();
}
golden("check");
