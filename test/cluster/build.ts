/** Everything that the cluster is made of, once: a process of its own, so that test/cluster/run.ts can give it a limit of time. */

import {
  clusterApiBinaries,
  controlPlaneBinaries,
  helmBinary,
  nodeBinaries,
} from "../controlplane/binaries.ts";
import { clusterApiImage, dnsImage, nodeJsImage, pauseImage } from "./images.ts";
import { imagePackages, nodePackages } from "./packages.ts";

await nodePackages();
await imagePackages();
await controlPlaneBinaries();
await nodeBinaries();
await clusterApiBinaries();
await helmBinary();
for (const image of [pauseImage, dnsImage, clusterApiImage, nodeJsImage]) await image();
