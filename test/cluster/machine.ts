/** What this machine has to have so that it can carry a cluster whose nodes are sets of namespaces. */

import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { arch, platform } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** kubelet and runc count and limit with these; a unified hierarchy (cgroup v2) needs other scripts. */
const CONTROLLERS = ["cpu", "cpuacct", "cpuset", "memory", "pids", "devices", "freezer", "blkio"];
const PROGRAMS = ["unshare", "nsenter", "ip", "tar", "ldd", "gcc", "apt-get", "dpkg", "make", "go"];

/** Undefined: it can. */
export async function reasonAgainst(): Promise<string | undefined> {
  if (platform() !== "linux" || arch() !== "x64")
    return `the nodes need Linux x64, this is ${platform()} ${arch()}`;
  if (process.getuid?.() !== 0) return "the nodes' namespaces and cgroups need root";
  const controllers = CONTROLLERS.filter((name) => !writable(`/sys/fs/cgroup/${name}/cgroup.procs`));
  if (controllers.length > 0)
    return `the nodes need cgroup v1 controllers that can be written below /sys/fs/cgroup: missing ${controllers.join(", ")}`;
  if (!/\boverlay$/m.test(readFileSync("/proc/filesystems", "utf8")))
    return "the kernel has no overlay file system";
  if (!existsSync("/proc/net/if_inet6")) return "the kernel has no IPv6, or it is turned off";
  const missing = PROGRAMS.filter((name) => !isInPath(name));
  if (missing.length > 0) return `programs are missing: ${missing.join(", ")}`;
  return await reasonAgainstNamespaces();
}

async function reasonAgainstNamespaces(): Promise<string | undefined> {
  const bridge = "ip link add probe type bridge && test -e /proc/sys/net/bridge/bridge-nf-call-ip6tables";
  const probe = `mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && ${bridge}`;
  try {
    await run("unshare", [
      "--cgroup",
      "--mount",
      "--net",
      "--uts",
      "--ipc",
      "--pid",
      "--fork",
      "sh",
      "-c",
      probe,
    ]);
  } catch (error) {
    return `namespaces, mounts or bridges are not allowed: ${error instanceof Error ? error.message : String(error)}`;
  }
  return undefined;
}

function writable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isInPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}
