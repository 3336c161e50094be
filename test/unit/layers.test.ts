/** Dependencies point one way. Each folder of src/ may import only what stands here beside it. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, matchesGlob, relative, resolve } from "node:path";
import test from "node:test";

const SRC = resolve(import.meta.dirname, "../../src");

const CORE = ["lib", "turns", "api", "views", "policy", "operations"];
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  turns: ["lib"],
  api: ["lib"],
  views: ["lib", "api"],
  policy: ["lib", "api", "views"],
  operations: ["lib", "api", "views", "policy"],
  memory: CORE,
  status: [...CORE, "memory"],
  rollouts: [...CORE, "memory", "status"],
  decisions: [...CORE, "memory", "rollouts/rollout-decisions.ts"],
  kube: ["lib", "turns", "api"],
  objects: ["lib", "api", "views", "policy", "kube"],
  tasks: [
    ...CORE,
    "kube",
    "memory",
    "status",
    "rollouts/rollout-api.ts",
    "rollouts/rollout-reconciler.ts",
    "decisions/live-reads.ts",
  ],
  server: ["lib"],
  // The table of hooks belongs to the protocol; the core reads it, too.
  extension: ["lib", "api/hook-catalog.ts", "api/runtime-hooks.ts"],
  adapters: [
    ...CORE,
    "kube",
    "objects",
    "memory",
    "status/policy-api.ts",
    "rollouts/rollout-api.ts",
    "decisions/live-reads.ts",
    "tasks/task-store.ts",
    "admission/review-validators.ts",
    "admission/review-world.ts",
  ],
  registration: ["lib", "api", "views", "policy", "kube", "memory/memory.ts"],
  hooks: ["lib", "api", "views", "policy", "decisions/decisions.ts", "server", "extension"],
  admission: [...CORE, "decisions/decisions.ts", "server"],
  report: [
    ...CORE,
    "kube",
    "objects",
    "memory",
    "rollouts/rollout-decisions.ts",
    "tasks/task-memory.ts",
    "extension/codec.ts",
    "registration/registration.ts",
    "hooks",
    "admission",
    "version.ts",
  ],
  certificates: ["lib", "api", "policy", "kube", "server", "report"],
  operator: [
    ...CORE,
    "memory",
    "status",
    "rollouts",
    "decisions",
    "kube",
    "adapters",
    "registration",
    "objects",
    "tasks",
    "server",
    "hooks",
    "admission",
    "report",
    "certificates",
    "version.ts",
  ],
  cli: [
    ...CORE,
    "memory",
    "rollouts",
    "tasks",
    "kube",
    "admission/cluster-denial.ts",
    "certificates/lifetime.ts",
    "certificates/pem.ts",
    "hooks/hook-answer.ts",
    "registration/registration.ts",
    "objects/object-refusal.ts",
    "operator/options.ts",
    "page/branch.ts",
    "page/stage-text.ts",
    "page/wire.ts",
    "report/audit-entry.ts",
    "report/policy-metrics.ts",
    "report/fleet-metrics.ts",
    "report/metric-makers.ts",
    "version.ts",
  ],
  // Runs in a browser.
  page: [
    "lib/age.ts",
    "lib/counted.ts",
    "lib/duration.ts",
    "lib/instant.ts",
    "lib/keys.ts",
    "lib/shell-quote.ts",
    "api/hook-policy.ts",
  ],
  "version.ts": [],
  "main.ts": ["lib", "cli", "operator", "report/process-log.ts", "version.ts"],
};

/** The pure core: no IO, no clock, no logger. Of Node it has isDeepStrictEqual and hash. */
const PURE = {
  files: [
    "lib/!(logger|signals).ts",
    "turns/fair-queue.ts",
    "api/**/*.ts",
    "views/**/*.ts",
    "policy/**/*.ts",
    "operations/**/*.ts",
    "rollouts/!(rollout-*).ts",
    "extension/**/*.ts",
  ],
  packages: [
    "ajv",
    "@bufbuild/cel",
    "@bufbuild/protobuf",
    "@bufbuild/re2",
    "semver",
    "node:util",
    "node:crypto",
  ],
};

interface Import {
  readonly file: string;
  readonly from: string;
  readonly specifier: string;
  /** A path below src/; absent: a package. */
  readonly to: string | undefined;
}

const isPure = (file: string): boolean => PURE.files.some((pattern) => matchesGlob(file, pattern));
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

/** Without what is imported as a type only. */
function loadedBy(file: string): string[] {
  const path = join(SRC, file);
  const statements = readFileSync(path, "utf8").matchAll(
    /^(?:import|export)\s+(?!type\b)([^;"']*?)\bfrom\s*"(\.[^"]+)"/gm,
  );
  return [...statements]
    .filter(
      ([, names = ""]) => names.replaceAll(/[{}\s]/g, "") === "" || /(?:^|[{,])\s*(?!type\b)\w/.test(names),
    )
    .map(([, , specifier = ""]) => relative(SRC, resolve(dirname(path), specifier)));
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
    ({ file, to, specifier }) =>
      isPure(file) &&
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
  const pure = globSync(PURE.files, { cwd: SRC });
  assert.ok(pure.length > 90, "the files were found");
  const wrong = pure.filter((file) => banned.test(readFileSync(join(SRC, file), "utf8")));
  assert.deepEqual(wrong, []);
});

test("what decides about a call loads no validation", () => {
  const loaded = new Set<string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const to of loadedBy(file)) load(to);
  };
  for (const file of ["hooks/hook-handler.ts", "decisions/decisions.ts"]) load(file);
  assert.ok(loaded.size > 50, "the imports were found");
  assert.deepEqual(
    [...loaded].filter((file) => file.startsWith("policy/validation/")),
    [],
  );
});

test("an exported name stands for one thing", () => {
  const exported = /^export (?:async |abstract )*(?:function\*?|const|class|interface|type) (\w+)/gm;
  const names = globSync("**/*.{ts,tsx}", { cwd: SRC }).flatMap((file) => {
    const source = readFileSync(join(SRC, file), "utf8");
    const own = [...source.matchAll(exported)].map(([, name = ""]) => name);
    // release/validators.ts reads the `ajv` of each file of validators.
    return [...new Set(own)].filter((name) => name !== "ajv").map((name) => ({ name, file }));
  });
  assert.ok(names.length > 1000, "the names were found");
  const alike = Map.groupBy(names, ({ name }) => name).values();
  assert.deepEqual(
    [...alike]
      .filter(({ length }) => length > 1)
      .map((found) => found.map(({ name, file }) => `${name} in ${file}`)),
    [],
  );
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
