/** Where the cluster's parts are: what is built once in the user's cache, and what lives for a run. */

import { join } from "node:path";
import { cacheRoot } from "../controlplane/parts.ts";

/** Beside the programs of the control planes. */
export const CLUSTER_CACHE = join(cacheRoot(), "../cluster");
export const RUN_FOLDER = join(CLUSTER_CACHE, "run");
export const NODES_FOLDER = join(import.meta.dirname, "nodes");
export const ROOT = join(import.meta.dirname, "../..");
