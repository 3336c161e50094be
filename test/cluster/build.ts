/** Everything that the cluster is made of, once: a process of its own, so that test/cluster/run.ts can give it a limit of time. */

import {
  certManagerBinary,
  clusterApiBinaries,
  clusterctlBinary,
  controlPlaneBinaries,
  helmBinary,
  nodeBinaries,
} from "../controlplane/binaries.ts";
import { certManagerImage, clusterApiImage, dnsImage, nodeJsImage, pauseImage } from "./images.ts";
import { imagePackages, nodePackages, NO_PACKAGES } from "./packages.ts";

async function havePackages(): Promise<boolean> {
  try {
    await nodePackages();
    await imagePackages();
    return true;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return false;
  }
}

/** Side by side what shares no package: while one program is linked or downloaded, the other is compiled. */
async function buildPrograms(): Promise<void> {
  await controlPlaneBinaries();
  await clusterApiBinaries();
  await helmBinary();
  await clusterctlBinary();
  await Promise.all([nodeBinaries(), certManagerBinary()]);
}

if (await havePackages()) {
  await buildPrograms();
  for (const image of [pauseImage, dnsImage, clusterApiImage, certManagerImage, nodeJsImage]) await image();
} else process.exitCode = NO_PACKAGES;
