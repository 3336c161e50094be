/** Programs that are not built here: from the packages of the distribution, unpacked into the cache and not installed. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CLUSTER_CACHE } from "./folders.ts";

const run = promisify(execFile);

/** The exit code of test/cluster/build.ts where the repository of the distribution cannot be reached, or has them not. */
export const NO_PACKAGES = 3;

/** What a node finds below its /usr. */
export async function nodePackages(): Promise<string> {
  const runc = ["runc", "libseccomp2"];
  const nft = [
    "nftables",
    "libnftables1",
    "libnftnl11",
    "libmnl0",
    "libxtables12",
    "libjansson4",
    "libgmp10",
  ];
  const iptables = ["iptables", "libip4tc2", "libip6tc2", "libnetfilter-conntrack3", "libnfnetlink0"];
  return await unpacked("node-packages", [...runc, ...nft, ...iptables, "libedit2", "libbsd0", "libmd0"]);
}

/** What builds the Dockerfile without a daemon. */
export async function imagePackages(): Promise<string> {
  const containers = ["golang-github-containers-image", "golang-github-containers-common"];
  return await unpacked("image-packages", ["buildah", ...containers, "libgpgme11", "libsubid4"]);
}

/** Only their /usr: a folder /lib in a layer over this machine's root would hide its link. */
async function unpacked(name: string, packages: readonly string[]): Promise<string> {
  const key = createHash("sha256").update(packages.join()).digest("hex").slice(0, 12);
  const target = join(CLUSTER_CACHE, `${name}-${key}`);
  if (existsSync(target)) return target;
  const partial = `${target}.new`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await download(packages, partial);
  const archives = (await readdir(partial)).filter((file) => file.endsWith(".deb"));
  for (const archive of archives) await run("dpkg", ["-x", join(partial, archive), join(partial, "all")]);
  await mkdir(join(partial, "root"));
  await rename(join(partial, "all/usr"), join(partial, "root/usr"));
  await rename(join(partial, "root"), target);
  await rm(partial, { recursive: true });
  return target;
}

async function download(packages: readonly string[], cwd: string): Promise<void> {
  const fetch = async (): Promise<unknown> => await run("apt-get", ["download", "-qq", ...packages], { cwd });
  try {
    await fetch();
  } catch {
    await run("apt-get", ["update", "-qq"]); // the list that the machine has is older than its repository
    await fetch();
  }
}
