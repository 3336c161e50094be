/** What `make release` leaves in dist/release, made from copies of the working tree. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import metadata from "../../package.json" with { type: "json" };
import { licenseProblems, productionDependencies } from "../../release/licenses.ts";
import { objectsOf } from "../controlplane/client.ts";
import { git, release, releaseWorkingTree, runScript } from "./releasing.ts";
import { helm, IMAGE, ROOT } from "./tools.ts";

const { version } = metadata;
const TAG = `${IMAGE}:9.9.9`;
const ENV = { IMAGE: TAG, DOWNLOADS: "https://downloads.example.com/v1" };
const FILES = [
  "SHA256SUMS",
  "homebrew/hookpolicy.rb",
  `hookpolicy-${version}-linux-x64.tar.gz`,
  "krew/hookpolicy.yaml",
  "THIRD_PARTY_LICENSES.txt",
  `hookpolicy-chart-${version}.tgz`,
  `hookpolicy-npm-${version}.tgz`,
  `hookpolicy-schemas-${version}.tgz`,
  "hookpolicy-admission-keep-policies.yaml",
  "hookpolicy-admission-object-gates.yaml",
  "hookpolicy-admission-own-webhook.yaml",
  "hookpolicy-admission-protect-marks.yaml",
  "hookpolicy-admission-refuse-deletion.yaml",
  "hookpolicy-admission-tasks.yaml",
  "hookpolicy-argocd-cm.yaml",
  "hookpolicy-cert-manager-cluster-admission.yaml",
  "hookpolicy-cert-manager.yaml",
  "hookpolicy-cluster-admission.yaml",
  "hookpolicy-monitoring.yaml",
  "hookpolicy-network-policy.yaml",
  "hookpolicy.cdx.json",
  "hookpolicy.crds.yaml",
  "hookpolicy.yaml",
  "metadata.yaml",
  "runtime-extension-components.yaml",
].toSorted();

describe("a release", () => {
  let folder: string;
  let out: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "hookpolicy-release-"));
    out = releaseWorkingTree(join(folder, "first"), ENV);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const read = (file: string): string => readFileSync(join(out, file), "utf8");
  const namesIn = (archive: string): string[] =>
    execFileSync("tar", ["tzf", join(out, archive)], { encoding: "utf8" })
      .trim()
      .split("\n");

  test("has every artefact, with checksums that hold", () => {
    const files = readdirSync(out, { recursive: true, encoding: "utf8" });
    assert.deepEqual(files.filter((name) => !["krew", "homebrew"].includes(name)).toSorted(), FILES);
    const checked = execFileSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: out, encoding: "utf8" });
    assert.equal(checked.match(/: OK$/gm)?.length, FILES.length - 1);
  });

  test("is the same bytes again, in another folder and time zone", () => {
    const [first, second] = [join(folder, "first"), join(folder, "somewhere/else")];
    git(folder, "clone", "--quiet", first, second);
    const again = release(second, first, { ...ENV, TZ: "Asia/Tokyo", LC_ALL: "C" });
    assert.equal(readFileSync(join(again, "SHA256SUMS"), "utf8"), read("SHA256SUMS"));
  });

  test("names the image everywhere, and needs one with its registry", async () => {
    for (const file of [
      "hookpolicy.yaml",
      "hookpolicy-cert-manager.yaml",
      "runtime-extension-components.yaml",
    ]) {
      assert.match(read(file), new RegExp(`image: ${TAG}$`, "m"), file);
    }
    const chart = join(out, `hookpolicy-chart-${version}.tgz`);
    assert.match(await helm("template", "hookpolicy", chart), new RegExp(`image: ${TAG}$`, "m"));
    const copy = join(out, "../..");
    assert.throws(
      () => runScript(copy, "release/release.ts", { IMAGE: "hookpolicy" }),
      /IMAGE is .*registry/,
    );
  });

  test("has cert-manager write the caBundle of both webhook configurations, or of neither", () => {
    const annotated = (file: string): unknown[] =>
      objectsOf(read(file))
        .filter(({ kind }) => kind === "ValidatingWebhookConfiguration")
        .map(({ metadata: { name, annotations = {} } }) => [name, ...Object.keys(annotations)]);
    const injected = "cert-manager.io/inject-ca-from";
    const files = ["", "-cluster-admission", "-cert-manager", "-cert-manager-cluster-admission"];
    assert.deepEqual(
      files.map((name) => annotated(`hookpolicy${name}.yaml`)),
      [
        [["hookpolicy"]],
        [["hookpolicy-clusters"]],
        [["hookpolicy", injected]],
        [["hookpolicy-clusters", injected]],
      ],
    );
    const objects = objectsOf(read("hookpolicy-cert-manager-cluster-admission.yaml"));
    assert.equal(objects.length, 1);
  });

  test("has each component that the docs have users add", () => {
    const added = new Set(
      globSync("docs/**/*.md", { cwd: ROOT }).flatMap((page) =>
        [
          ...readFileSync(join(ROOT, page), "utf8").matchAll(/manifests\/([a-z-]+(?:\/[a-z-]+)?)(?=[\],`])/g),
        ].map(([, name = ""]) => name),
      ),
    );
    const parts = new Set(["admission", "argocd", "cert-manager", "namespace"]);
    const files = [...added]
      .filter((name) => !parts.has(name))
      .map((name) => `hookpolicy-${name.replace("/", "-")}.yaml`);
    assert.ok(files.length >= 8);
    assert.deepEqual(
      files.filter((name) => !FILES.includes(name)),
      [],
    );
    for (const file of files)
      for (const {
        kind,
        metadata: { name },
      } of objectsOf(read(file)))
        assert.ok(kind && name, file);
  });

  test("names the executable's archive with its checksum, for krew and for Homebrew", () => {
    const archive = `hookpolicy-${version}-linux-x64.tar.gz`;
    const [sum = ""] = new RegExp(`^[0-9a-f]{64}(?=  ${archive}$)`, "m").exec(read("SHA256SUMS")) ?? [];
    for (const file of ["krew/hookpolicy.yaml", "homebrew/hookpolicy.rb"]) {
      const lines = read(file).split("\n");
      assert.ok(
        lines.some((line) => line.includes(`${ENV.DOWNLOADS}/${archive}`)),
        file,
      );
      assert.ok(
        lines.some((line) => line.includes(sum) && sum !== ""),
        file,
      );
    }
    const licences = ["LICENSE", "LICENSE-nodejs.txt", "THIRD_PARTY_LICENSES.txt"];
    assert.deepEqual(namesIn(archive).toSorted(), [...licences, "hookpolicy"].toSorted());
  });

  test("says where archives will be only by a URL", () => {
    const copy = join(out, "../..");
    const env = { IMAGE: TAG, DOWNLOADS: "downloads" };
    assert.throws(() => runScript(copy, "release/release.ts", env), /DOWNLOADS is "downloads": give a URL/);
  });

  test("packs no executable of an earlier version", () => {
    const copy = join(out, "../..");
    const earlier = join(copy, "dist/executables/hookpolicy-darwin-arm64");
    writeFileSync(earlier, "earlier");
    const message = /dist\/executables\/hookpolicy-darwin-arm64 has another program in it/;
    assert.throws(() => runScript(copy, "release/release.ts", ENV), message);
    rmSync(earlier);
  });

  test("the chart holds the CRDs and what monitoring needs, and nothing of their sources", () => {
    const names = namesIn(`hookpolicy-chart-${version}.tgz`).filter((name) => /\/files\/\w+\/./.test(name));
    assert.deepEqual(names, [
      "hookpolicy/files/crds/hookpolicy.dev_clusterhookpolicies.yaml",
      "hookpolicy/files/crds/hookpolicy.dev_hookoverrides.yaml",
      "hookpolicy/files/crds/hookpolicy.dev_hookpolicies.yaml",
      "hookpolicy/files/crds/hookpolicy.dev_hookrollouts.yaml",
      "hookpolicy/files/crds/hookpolicy.dev_hooktasks.yaml",
      "hookpolicy/files/monitoring/dashboard.json",
      "hookpolicy/files/monitoring/prometheusrule.yaml",
      "hookpolicy/files/monitoring/service.yaml",
      "hookpolicy/files/monitoring/servicemonitor.yaml",
    ]);
    assert.deepEqual(
      objectsOf(read("hookpolicy.crds.yaml")).map(({ kind }) => kind),
      Array(5).fill("CustomResourceDefinition"),
    );
  });

  test("the npm package has the program, and neither its source map nor an earlier release", () => {
    const dist = namesIn(`hookpolicy-npm-${version}.tgz`).filter((name) => name.includes("/dist/"));
    assert.deepEqual(dist.toSorted(), ["package/dist/THIRD_PARTY_LICENSES.txt", "package/dist/main.js"]);
  });

  test("the npm package installs without a registry, and the program runs", () => {
    const prefix = join(folder, "prefix");
    const file = join(out, `hookpolicy-npm-${version}.tgz`);
    const args = [
      "install",
      "--global",
      "--prefix",
      prefix,
      "--cache",
      join(folder, "cache"),
      "--offline",
      file,
    ];
    execFileSync("npm", args, { stdio: "pipe" });
    const said = execFileSync(join(prefix, "bin/hookpolicy"), ["--version"], { encoding: "utf8" });
    assert.ok(said.includes(version), said);
  });

  test("the bill of materials lists what the lock file has for production", () => {
    const { components, metadata: about } = JSON.parse(read("hookpolicy.cdx.json"));
    const wanted = productionDependencies().map(({ name, version: at }) => `${name}@${at}`);
    const listed: string[] = components.map((each: { "bom-ref": string }): string => each["bom-ref"]);
    assert.deepEqual([...new Set(listed)].toSorted(), [...new Set(wanted)].toSorted());
    for (const direct of Object.entries(metadata.dependencies)) assert.ok(listed.includes(direct.join("@")));
    assert.deepEqual([about.component.name, about.component.version], ["hookpolicy", version]);
    for (const each of wanted) {
      assert.ok(read("THIRD_PARTY_LICENSES.txt").includes(`\n${each.replace(/@(?!.*@)/, " ")} (`), each);
    }
  });
});

test("a dependency whose licence is not allowed, or not said, is named", () => {
  const lock = (license?: string) => ({
    packages: {
      "": {},
      "node_modules/a/node_modules/@b/c": { version: "1.0.0", ...(license !== undefined && { license }) },
      "node_modules/tool": { version: "1.0.0", license: "GPL-3.0-only", dev: true },
    },
  });
  const problems = (license?: string): readonly string[] =>
    licenseProblems(productionDependencies(lock(license)));
  for (const fine of ["MIT", "(MIT OR GPL-3.0-only)", "MIT AND ISC"])
    assert.deepEqual(problems(fine), [], fine);
  for (const bad of ["GPL-3.0-only", "(MIT AND GPL-3.0-only)", "SEE LICENSE IN x", "(MIT OR (ISC AND X))"]) {
    assert.deepEqual(problems(bad), [`@b/c 1.0.0: licence ${bad}`]);
  }
  assert.deepEqual(problems(), ["@b/c 1.0.0: licence none"]);
});
