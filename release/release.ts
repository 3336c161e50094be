/**
 * Makes every artefact of a release into dist/release/ (make release): the same bytes for the same commit, with the same
 * npm and kubectl. Nothing is published.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import metadata from "../package.json" with { type: "json" };
import { type Download, homebrewFormula, krewManifest, programOf } from "./downloads.ts";
import { productionDependencies } from "./licenses.ts";
import { reproducibleSbom } from "./sbom.ts";

const ROOT = join(import.meta.dirname, "..");
const OUT = join(ROOT, "dist/release");
/** What is packed from here is removed afterwards. */
const STAGE = join(ROOT, "dist/release-stage");
const { name: NAME, version: VERSION } = metadata;

/** $IMAGE, which the manifests and the chart then name. */
interface Image {
  readonly name: string;
  readonly tag: string;
}

/** clusterctl takes none without a registry, and nobody could pull it. */
function imageOf(text: string): Image {
  const [, name, tag = VERSION] =
    /^((?:[\w-]+[.:][\w.:-]+|localhost)\/[\w./-]+)(?::(\w[\w.-]{0,127}))?$/.exec(text) ?? [];
  if (name === undefined) {
    const wanted = `your image with its registry, such as IMAGE=registry.example.com/${NAME}:${VERSION}`;
    throw new Error(`IMAGE is ${JSON.stringify(text)}: give ${wanted}`);
  }
  return { name, tag };
}

/** $DOWNLOADS, the folder in which users will find the archives. */
function downloadsUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (!/^https:\/\/[\w.:-]+(\/[\w.~%-]+)*\/?$/.test(text))
    throw new Error(
      `DOWNLOADS is ${JSON.stringify(text)}: give a URL such as https://downloads.example.com/v${VERSION}`,
    );
  return text.replace(/\/$/, "");
}

function run(command: string, args: readonly string[]): Buffer {
  return execFileSync(command, args, {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** `kubectl kustomize` of folders below manifests/, as a person has it for settings of their own. */
function kustomized(resources: readonly string[], components: readonly string[], images: object[]): Buffer {
  const folder = join(STAGE, "kustomize");
  mkdirSync(folder, { recursive: true });
  const path = (below: string): string => relative(folder, join(ROOT, "manifests", below));
  const kustomization = { resources: resources.map(path), components: components.map(path), images };
  writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(kustomization)); // JSON is YAML
  return run("kubectl", ["kustomize", folder]);
}

/** Everything, with components, and the image set. */
function rendered(image: Image, components: readonly string[]): Buffer {
  return kustomized(["."], components, [{ name: NAME, newName: image.name, newTag: image.tag }]);
}

/** What cert-manager's component makes of the other one, by itself. */
function injectedClusterAdmission(image: Image): string {
  const documents = rendered(image, ["cluster-admission", "cert-manager"])
    .toString()
    .split(/^---\n/m);
  const found = documents.filter((text) => /^ {2}name: hookpolicy-clusters$/m.test(text));
  if (found.length !== 1) throw new Error(`hookpolicy-clusters is ${found.length} times in the manifests`);
  return found.join("");
}

function foldersIn(below: string): string[] {
  const entries = readdirSync(join(ROOT, "manifests", below), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Components, too, one file each: with the chart, and without this repository, there is nothing to add them to. */
function writeManifests(image: Image): void {
  const write = (file: string, content: Buffer | string): void => writeFileSync(join(OUT, file), content);
  write("hookpolicy.yaml", rendered(image, []));
  write("hookpolicy-cert-manager.yaml", rendered(image, ["cert-manager"]));
  write("hookpolicy-cluster-admission.yaml", kustomized([], ["cluster-admission"], []));
  write("hookpolicy-cert-manager-cluster-admission.yaml", injectedClusterAdmission(image));
  for (const name of [
    "monitoring",
    "network-policy",
    ...foldersIn("admission").map((each) => `admission/${each}`),
  ])
    write(`hookpolicy-${name.replace("/", "-")}.yaml`, kustomized([], [name], []));
  cpSync(join(ROOT, "manifests/argocd/argocd-cm.yaml"), join(OUT, "hookpolicy-argocd-cm.yaml"));
  write("hookpolicy.crds.yaml", run("kubectl", ["kustomize", "crds"]));
  write("runtime-extension-components.yaml", rendered(image, ["clusterctl"]));
  cpSync(join(ROOT, "manifests/clusterctl/metadata.yaml"), join(OUT, "metadata.yaml"));
}

/** In the repository the chart has these by symbolic links to their folders, which are never staged. */
const LINKED = {
  crds: "crds/hookpolicy.dev_*.yaml",
  monitoring: "manifests/monitoring/!(kustomization).{json,yaml}",
};

function writeChart(image: Image): void {
  const folder = join(STAGE, NAME);
  const chart = join(ROOT, "manifests/helm", NAME);
  cpSync(chart, folder, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
  for (const [name, files] of Object.entries(LINKED)) {
    for (const file of globSync(files, { cwd: ROOT })) {
      cpSync(join(ROOT, file), join(folder, "files", name, basename(file)));
    }
  }
  const values = join(folder, "values.yaml");
  const yaml = readFileSync(values, "utf8")
    .replace(/^( {2}repository: ).*$/m, `$1${image.name}`)
    .replace(/^( {2}tag: ).*$/m, `$1${image.tag === VERSION ? '""' : JSON.stringify(image.tag)}`);
  writeFileSync(values, yaml);
  archive(`${NAME}-chart-${VERSION}.tgz`, STAGE, NAME);
}

/** Neither names nor times of whoever packs it. */
function archive(file: string, folder: string, ...names: readonly string[]): void {
  const same = [
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
  ];
  const tar = run("tar", ["--create", "--format=ustar", ...same, "--directory", folder, ...names]);
  writeFileSync(join(OUT, file), gzipSync(tar, { level: tar.length > LARGE ? 6 : 9 }));
}

/** Of what is larger than these bytes a better compression takes half a minute for a hundredth. */
const LARGE = 2 ** 26;

/** The same on every platform that the bundled Node.js is for. */
function nodeLicense(): string {
  const [found] = globSync("node_modules/node-linux-*/LICENSE", { cwd: ROOT });
  if (found === undefined)
    throw new Error("the bundled Node.js is not installed on this platform: make the release on Linux");
  return found;
}

const EXECUTABLES = `dist/executables/${NAME}-`;

/** What `make executable` has left, here or on machines of other platforms; throws for one of another version or commit. */
function executables(): string[] {
  const files = globSync(`${EXECUTABLES}*`, { cwd: ROOT }).toSorted();
  const program = readFileSync(join(ROOT, "dist/main.js"));
  for (const file of files) {
    if (!readFileSync(join(ROOT, file)).includes(program))
      throw new Error(`${file} has another program in it than dist/main.js: make it again, or remove it`);
  }
  return files;
}

/** With the licences of all that is in them. */
function writeExecutables(files: readonly string[]): string[] {
  return files.map((file) => {
    const platform = file.slice(EXECUTABLES.length).replace(/\.exe$/, "");
    const folder = join(STAGE, "executables", platform);
    const contents = {
      [programOf(NAME, platform)]: file,
      LICENSE: "LICENSE",
      "LICENSE-nodejs.txt": nodeLicense(),
      "THIRD_PARTY_LICENSES.txt": "dist/THIRD_PARTY_LICENSES.txt",
    };
    for (const [name, from] of Object.entries(contents)) cpSync(join(ROOT, from), join(folder, name));
    archive(`${NAME}-${VERSION}-${platform}.tar.gz`, folder, ...Object.keys(contents));
    return platform;
  });
}

/** For krew and Homebrew, as far as it is known where the archives will be. */
function writeDownloads(platforms: readonly string[], base: string | undefined): void {
  if (base === undefined) {
    process.stderr.write(
      "note: without DOWNLOADS there is neither a manifest for krew nor a formula for Homebrew\n",
    );
    return;
  }
  const downloads = platforms.map((platform): Download => {
    const file = `${NAME}-${VERSION}-${platform}.tar.gz`;
    return { platform, url: `${base}/${file}`, sha256: sha256Of(file) };
  });
  const release = { name: NAME, version: VERSION, license: metadata.license, homepage: base, downloads };
  for (const folder of ["krew", "homebrew"]) mkdirSync(join(OUT, folder));
  writeFileSync(join(OUT, "krew", `${NAME}.yaml`), krewManifest(release));
  writeFileSync(join(OUT, "homebrew", `${NAME}.rb`), homebrewFormula(release));
}

function sha256Of(file: string): string {
  return createHash("sha256")
    .update(readFileSync(join(OUT, file)))
    .digest("hex");
}

/** dist/main.js is the whole program: whoever installs the package downloads nothing else. */
function writePackage(): void {
  const folder = join(STAGE, "npm");
  mkdirSync(folder, { recursive: true });
  run("npm", ["pack", "--silent", "--pack-destination", folder]);
  run("tar", ["xzpf", join(folder, `${NAME}-${VERSION}.tgz`), "--directory", folder]);
  const published = { ...metadata, dependencies: undefined, devDependencies: undefined };
  writeFileSync(join(folder, "package/package.json"), `${JSON.stringify(published, undefined, 2)}\n`);
  run("npm", ["pack", "--silent", "--pack-destination", OUT, join(folder, "package")]);
  renameSync(join(OUT, `${NAME}-${VERSION}.tgz`), join(OUT, `${NAME}-npm-${VERSION}.tgz`));
}

function writeSbom(): void {
  const printed = run("npm", [
    "sbom",
    "--silent",
    "--sbom-format=cyclonedx",
    "--package-lock-only",
  ]).toString();
  const time = run("git", ["log", "-1", "--format=%cI"]).toString().trim();
  const shipped = new Set(productionDependencies().map(({ name, version }) => `${name}@${version}`));
  writeFileSync(join(OUT, `${NAME}.cdx.json`), reproducibleSbom(printed, { name: NAME, time, shipped }));
}

function writeChecksums(): void {
  const files = readdirSync(OUT, { withFileTypes: true, recursive: true }).filter((each) => each.isFile());
  const names = files.map(({ parentPath, name }) => relative(OUT, join(parentPath, name)));
  const lines = names.toSorted().map(
    (name) => `${sha256Of(name)}  ${name}
`,
  );
  writeFileSync(join(OUT, "SHA256SUMS"), lines.join(""));
}

const image = imageOf(process.env["IMAGE"] ?? "");
const base = downloadsUrl(process.env["DOWNLOADS"]);
const made = executables();
if (run("git", ["status", "--porcelain"]).length > 0) {
  process.stderr.write("warning: there are changes that are not committed: this is no release of a commit\n");
}
for (const folder of [OUT, STAGE]) rmSync(folder, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
cpSync(join(ROOT, "dist/THIRD_PARTY_LICENSES.txt"), join(OUT, "THIRD_PARTY_LICENSES.txt"));
writeManifests(image);
writeChart(image);
archive(`${NAME}-schemas-${VERSION}.tgz`, ROOT, "schemas");
writePackage();
writeDownloads(writeExecutables(made), base);
writeSbom();
writeChecksums();
rmSync(STAGE, { recursive: true });
process.stdout.write(readFileSync(join(OUT, "SHA256SUMS"), "utf8"));
