/** The disk of the audit log is full: a small file system, which needs root to mount. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Lab } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const SIZE_KIB = 128;
/** Stays mounted until the other end of the pipe is closed, by whatever ends that process. */
const MOUNT = `
trap '' HUP INT TERM
mount -t tmpfs -o size=${SIZE_KIB}k tmpfs "$1" || exit 1
echo mounted
read -r _
umount -l "$1"
`;

export const DISK: Scenario = {
  id: "disk-full",
  title: "Disk full for the audit log",
  replica: async (lab, index) => {
    await mountSmallDisk(lab, diskOf(lab, index));
    return { flags: { "audit-log": join(diskOf(lab, index), "audit.log") } };
  },
  inject: async (lab) => {
    for (const index of lab.replicas.keys()) await fill(diskOf(lab, index));
    // The changing approvals write lines.
    await lab.cp.waitFor("a replica to notice", () =>
      lab.replicas.some(({ operator }) => operator.daemon.log().includes("Cannot write the audit log")),
    );
  },
  heal: async (lab) => {
    for (const index of lab.replicas.keys()) await rm(join(diskOf(lab, index), "filler"));
  },
};

function diskOf(lab: Lab, index: number): string {
  return join(lab.cp.folder, `audit-${index}`);
}

async function mountSmallDisk(lab: Lab, folder: string): Promise<void> {
  await mkdir(folder);
  const shell = spawn("sh", ["-c", MOUNT, "mount", folder], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [outcome] = await Promise.race([once(shell.stdout, "data"), once(shell, "exit")]);
  if (!String(outcome).includes("mounted"))
    throw new Error(`cannot mount a tmpfs on ${folder}; are you root?`);
  lab.onStop(async () => {
    shell.stdin.end();
    await once(shell, "exit");
  });
}

async function fill(folder: string): Promise<void> {
  await writeFile(join(folder, "filler"), Buffer.alloc(SIZE_KIB * 1024)).catch((error: unknown) => {
    if (!String(error).includes("ENOSPC")) throw error;
  });
}
