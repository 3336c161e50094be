/** Container images (docker archives, as `ctr images import` takes them) from programs of this machine, without a registry. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { certManagerBinary, clusterApiBinaries, nodeBinaries } from "../controlplane/binaries.ts";
import { CLUSTER_CACHE, NODES_FOLDER } from "./folders.ts";

const run = promisify(execFile);

export interface Image {
  readonly tag: string;
  /** The docker archive. */
  readonly file: string;
}

interface Recipe {
  readonly name: string;
  readonly tag: string;
  /** The program on this machine; the libraries that ldd names come with it. */
  readonly program: string;
  /** Where it is in the image, and what is run. */
  readonly path: string;
}

export async function pauseImage(): Promise<Image> {
  const program = join(CLUSTER_CACHE, "pause");
  await mkdir(CLUSTER_CACHE, { recursive: true });
  if (!existsSync(program))
    await run("gcc", ["-Os", "-static", "-s", "-o", program, join(NODES_FOLDER, "pause.c")]);
  return await image({ name: "pause", tag: "test/pause:1", program, path: "/pause" });
}

export async function dnsImage(): Promise<Image> {
  const { coredns } = await nodeBinaries();
  return await image({ name: "coredns", tag: "test/coredns:1", program: coredns, path: "/coredns" });
}

export async function clusterApiImage(): Promise<Image> {
  const { manager } = await clusterApiBinaries();
  return await image({ name: "cluster-api", tag: "test/cluster-api:1", program: manager, path: "/manager" });
}

export async function certManagerImage(): Promise<Image> {
  const { program } = await certManagerBinary();
  return await image({ name: "cert-manager", tag: "test/cert-manager:1", program, path: "/cert-manager" });
}

/** What stands for the base of the Dockerfile: Node.js where distroless has it. */
export async function nodeJsImage(): Promise<Image> {
  const program = realpathSync(process.execPath);
  return await image({ name: "nodejs", tag: "localhost/test/nodejs:1", program, path: "/nodejs/bin/node" });
}

async function image(recipe: Recipe): Promise<Image> {
  const key = createHash("sha256")
    .update(recipe.program)
    .update(readFileSync(recipe.program))
    .digest("hex")
    .slice(0, 12);
  const file = join(CLUSTER_CACHE, "images", `${recipe.name}-${key}.tar`);
  if (!existsSync(file)) await write(recipe, file);
  return { tag: recipe.tag, file };
}

async function write({ tag, program, path }: Recipe, file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const folder = await mkdtemp(join(CLUSTER_CACHE, "image-"));
  const archive = async (source: string, names: readonly string[], target: string): Promise<unknown> =>
    await run("tar", ["--create", "--numeric-owner", "--file", target, "--directory", source, ...names]);
  try {
    const files = join(folder, "files");
    const content = join(folder, "content");
    await mkdir(content, { recursive: true });
    await mkdir(join(files, "tmp"), { recursive: true, mode: 0o1777 });
    for (const [at, source] of [[path, program] as const, ...(await librariesOf(program))]) {
      await mkdir(join(files, dirname(at)), { recursive: true });
      await copyFile(source, join(files, at));
    }
    await archive(files, await readdir(files), join(content, "layer.tar"));
    const layer = createHash("sha256").update(await readFile(join(content, "layer.tar")));
    const config = {
      architecture: "amd64",
      os: "linux",
      config: { Entrypoint: [path], User: "65532:65532", WorkingDir: "/" },
      rootfs: { type: "layers", diff_ids: [`sha256:${layer.digest("hex")}`] },
    };
    const manifest = [{ Config: "config.json", RepoTags: [tag], Layers: ["layer.tar"] }];
    await writeFile(join(content, "config.json"), JSON.stringify(config));
    await writeFile(join(content, "manifest.json"), JSON.stringify(manifest));
    await archive(content, await readdir(content), `${file}.new`);
    await rename(`${file}.new`, file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Of the loader and of each library: its name in the image, and its file here. None, if the program is static. */
async function librariesOf(program: string): Promise<(readonly [string, string])[]> {
  try {
    const { stdout } = await run("ldd", [program]);
    return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, name = ""]) => [name, realpathSync(name)]);
  } catch {
    return [];
  }
}
