/** The programs that pages have people type by name. */

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { bundle } from "../bundle.ts";

/** For $PATH: hookpolicy and kubectl come first. */
export async function pathOfPrograms(cp: ControlPlane): Promise<string> {
  return [...(await programFolders(cp)), process.env["PATH"]].join(":");
}

/** By control plane: a program that is written anew cannot be started at that moment. */
const written = new WeakMap<ControlPlane, Promise<readonly string[]>>();

/** Of hookpolicy, and of kubectl where it is not the machine's own. */
export async function programFolders(cp: ControlPlane): Promise<readonly string[]> {
  const folders = written.get(cp) ?? writePrograms(cp);
  written.set(cp, folders);
  return await folders;
}

async function writePrograms(cp: ControlPlane): Promise<readonly string[]> {
  const folder = join(cp.folder, "bin");
  await mkdir(folder, { recursive: true });
  const program = join(folder, "hookpolicy");
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${bundle()}' "$@"\n`);
  await chmod(program, 0o755);
  const { kubectl } = await controlPlaneBinaries();
  return kubectl.includes("/") ? [folder, dirname(kubectl)] : [folder];
}
