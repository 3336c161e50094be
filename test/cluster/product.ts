/** The image and the release files of this checkout, made by the commands that users type. */

import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { environment } from "../controlplane/processes.ts";
import { CLUSTER_CACHE, ROOT, RUN_FOLDER } from "./folders.ts";
import { type Image, nodeJsImage } from "./images.ts";
import { imagePackages } from "./packages.ts";

const run = promisify(execFile);

/** An example's name: no registry is asked, because the nodes have it. */
export const PRODUCT_IMAGE = "registry.example.com/hookpolicy:0.1.0";
export const RELEASE = join(ROOT, "dist/release");
export const CHART = join(RELEASE, "hookpolicy-chart-0.1.0.tgz");

/** `make image`, `docker save` and `make release`. */
export async function makeProduct(): Promise<Image> {
  const base = await nodeJsImage();
  const store = join(CLUSTER_CACHE, "store");
  const env = environment({
    PATH: [join(import.meta.dirname, "engine"), process.env["PATH"]].join(delimiter),
    ENGINE_PACKAGES: await imagePackages(),
    ENGINE_STORE: store,
    ENGINE_BASE_FILE: base.file,
    ENGINE_BASE_TAG: base.tag,
  });
  const make = async (target: string): Promise<unknown> =>
    await run("make", [target, `IMAGE=${PRODUCT_IMAGE}`], { cwd: ROOT, env });
  const file = join(RUN_FOLDER, "hookpolicy.tar");
  await mkdir(RUN_FOLDER, { recursive: true });
  try {
    await make("image");
    await run("docker", ["save", PRODUCT_IMAGE, file], { env });
  } finally {
    await rm(store, { recursive: true, force: true });
  }
  await make("release");
  return { tag: PRODUCT_IMAGE, file };
}
