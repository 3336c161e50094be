/** Dependencies point one way. Each folder of src/ may import only what stands here beside it. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import test from "node:test";

const SRC = resolve(import.meta.dirname, "../../src");

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [],
  policy: ["api"],
  hooks: ["api", "policy"],
  admission: ["api", "policy"],
  audit: ["api"],
  controller: ["api", "policy"],
  kube: ["api"],
  server: ["api", "log.ts"],
  certificates: ["api", "server/certificate.ts"],
  "log.ts": ["api"],
  "metrics.ts": ["api", "version.ts"],
  "version.ts": [],
  manager: [
    "api",
    "policy",
    "hooks",
    "audit",
    "admission",
    "controller",
    "kube",
    "server",
    "certificates",
    "log.ts",
    "metrics.ts",
    "version.ts",
  ],
  files: ["api"],
  cli: [
    "api",
    "policy",
    "files",
    "certificates/lifetime.ts",
    "certificates/pem.ts",
    "hooks/catalog.ts",
    "controller/asks.ts",
    "controller/askset.ts",
    "controller/held.ts",
    "version.ts",
  ],
  live: ["api", "policy", "kube", "cli", "manager"],
  cmd: ["api", "policy", "files", "cli", "live", "manager", "hooks/catalog.ts", "log.ts", "version.ts"],
  "main.ts": ["api", "cli", "cmd", "manager", "log.ts", "version.ts"],
  "entry.ts": ["main.ts", "admission/worker.ts"],
};

/** The pure core: no IO, no clock, no logger. */
const PURE = {
  folders: ["api", "policy"],
  packages: ["ajv", "@bufbuild/cel", "@bufbuild/protobuf", "@bufbuild/re2", "semver"],
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
  return globSync("**/*.ts", { cwd: SRC }).flatMap((file) => {
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
