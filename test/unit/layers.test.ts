/** Dependencies point one way. Each folder of src/ may import only what stands here beside it. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import test from "node:test";

const SRC = resolve(import.meta.dirname, "../../src");

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [],
  policy: ["api"],
  operations: ["api", "policy"],
  log: ["api"],
  kube: ["api"],
  server: ["api", "log"],
  rollouts: ["api", "policy", "operations"],
  controller: ["api", "policy", "operations", "rollouts"],
  hooks: ["api", "policy", "kube", "controller/ports.ts", "server/hookserver.ts", "server/wholebody.ts"],
  admission: ["api", "policy", "operations", "server/hookserver.ts", "server/turns.ts"],
  audit: [
    "api",
    "policy",
    "hooks",
    "admission/clusterhandler.ts",
    "admission/outcome.ts",
    "metrics/metrics.ts",
  ],
  certificates: ["api", "policy", "log", "kube", "server", "events", "metrics/metrics.ts"],
  objects: ["api", "policy", "kube"],
  events: ["api", "policy", "operations", "kube", "controller/transitions.ts"],
  metrics: [
    "api",
    "policy",
    "operations",
    "log",
    "kube",
    "server",
    "hooks",
    "controller",
    "objects",
    "version.ts",
  ],
  operator: [
    "api",
    "policy",
    "log",
    "kube",
    "server",
    "controller",
    "hooks",
    "admission",
    "audit",
    "certificates",
    "objects",
    "events",
    "metrics",
    "version.ts",
  ],
  cli: [
    "api",
    "policy",
    "operations",
    "rollouts",
    "log",
    "kube",
    "admission/clusterdenial.ts",
    "audit/auditentry.ts",
    "hooks/registration.ts",
    "objects/objectrefusal.ts",
    "certificates/lifetime.ts",
    "certificates/pem.ts",
    "controller/memory.ts",
    "controller/noted.ts",
    "controller/operationlife.ts",
    "controller/overrideset.ts",
    "controller/policyentry.ts",
    "controller/policyset.ts",
    "controller/ports.ts",
    "controller/rolloutdue.ts",
    "controller/rolloutentry.ts",
    "controller/rolloutqueue.ts",
    "controller/rolloutreconciler.ts",
    "controller/rollouts.ts",
    "controller/rolloutstatus.ts",
    "controller/rollouttransitions.ts",
    "controller/samespec.ts",
    "controller/storedviews.ts",
    "controller/transitions.ts",
    "events/eventtext.ts",
    "metrics/gauges.ts",
    "metrics/rolloutgauges.ts",
    "operator",
    "ui/wire.ts",
    "version.ts",
  ],
  // Runs in a browser.
  ui: ["cli/terminal/age.ts"],
  "version.ts": [],
  "main.ts": ["api", "cli", "operator", "log", "version.ts"],
};

/** The pure core: no IO, no clock, no logger. Of Node it has isDeepStrictEqual. */
const PURE = {
  folders: ["api", "policy", "operations", "rollouts"],
  packages: ["ajv", "@bufbuild/cel", "@bufbuild/protobuf", "@bufbuild/re2", "semver", "node:util"],
};

interface Import {
  readonly file: string;
  readonly from: string;
  readonly specifier: string;
  /** A path below src/; absent: a package. */
  readonly to: string | undefined;
}

const topOf = (path: string): string => path.split("/")[0] ?? "";
/** A layer as a whole, or one file of it. */
const isAllowed = (from: string, to: string): boolean =>
  [topOf(to), to].some((name) => ALLOWED[from]?.includes(name));

function imports(): Import[] {
  return globSync("**/*.{ts,tsx}", { cwd: SRC }).flatMap((file) => {
    const path = join(SRC, file);
    const source = readFileSync(path, "utf8");
    const specifiers = source.matchAll(
      /^(?:import|export)[^;"']*?\bfrom\s*"([^"]+)"|\bimport\(\s*"([^"]+)"/gm,
    );
    return [...specifiers]
      .map(([, statically, lazily]) => statically ?? lazily ?? "")
      .map((specifier) => ({
        file,
        from: topOf(file),
        specifier,
        to: specifier.startsWith(".") ? relative(SRC, resolve(dirname(path), specifier)) : undefined,
      }));
  });
}

test("every import points down the layers", () => {
  const found = imports();
  assert.ok(found.length > 50, "the imports were found");
  const wrong = found.filter(
    ({ from, to }) => to !== undefined && !to.startsWith("..") && from !== topOf(to) && !isAllowed(from, to),
  );
  assert.deepEqual(
    wrong.map(({ file, specifier }) => `${file} imports ${specifier}`),
    [],
  );
});

test("the pure core imports neither Node nor a package that does IO", () => {
  const wrong = imports().filter(
    ({ from, to, specifier }) =>
      PURE.folders.includes(from) &&
      to === undefined &&
      !PURE.packages.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
  );
  assert.deepEqual(
    wrong.map(({ file, specifier }) => `${file} imports ${specifier}`),
    [],
  );
});

test("the pure core reads no clock, no environment and writes no log", () => {
  const banned =
    /\bDate\.now\(|\bnew Date\(\)|\bprocess\.|\bconsole\.|\bMath\.random\(|\bperformance\.|\bsetTimeout\(/;
  const wrong = PURE.folders.flatMap((folder) =>
    globSync(`${folder}/**/*.ts`, { cwd: SRC }).filter((file) =>
      banned.test(readFileSync(join(SRC, file), "utf8")),
    ),
  );
  assert.deepEqual(wrong, []);
});

test("no file imports itself by way of others, types included", () => {
  const edges = new Map<string, Set<string>>();
  for (const { file, to } of imports()) {
    const targets = edges.get(file) ?? new Set();
    edges.set(file, targets);
    if (to !== undefined && !to.startsWith("..")) targets.add(to);
  }
  const isImported = (file: string): boolean => [...edges.values()].some((targets) => targets.has(file));
  const importsNothingLeft = (file: string): boolean =>
    ![...(edges.get(file) ?? [])].some((target) => edges.has(target));
  // What imports nothing that is left is no part of a circle, nor is what nothing that is left imports.
  for (let left = Infinity; edges.size < left;) {
    left = edges.size;
    const outside = [...edges.keys()].filter((file) => importsNothingLeft(file) || !isImported(file));
    for (const file of outside) edges.delete(file);
  }
  assert.deepEqual(
    [...edges].map(([file, targets]) => `${file} -> ${[...targets].join(", ")}`),
    [],
  );
});
