import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import test from "node:test";

const ROOT = resolve(import.meta.dirname, "../../..");

/** "file imports path", both from the root of the repository. */
function imports(folder: string): (readonly [file: string, path: string])[] {
  return globSync(`${folder}/**/*.ts`, { cwd: ROOT }).flatMap((file) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return [...source.matchAll(/\b(?:from\s*|import\()"(\.[^"]+)"/g)].map(
      ([, to = ""]) => [file, relative(ROOT, resolve(ROOT, dirname(file), to))] as const,
    );
  });
}

function wrong(folder: string, isWrong: (path: string, file: string) => boolean): string[] {
  const found = imports(folder);
  assert.ok(found.length > 50, "the imports were found");
  return found.filter(([file, path]) => isWrong(path, file)).map((each) => each.join(" imports "));
}

test("the bench sees the operator from outside: of src/ it imports the API, the client and the version", () => {
  const allowed = /^src\/(api\/|kube\/|version\.ts$)/;
  assert.deepEqual(
    wrong("bench", (path) => path.startsWith("src/") && !allowed.test(path)),
    [],
  );
});

test("the bench imports tests' control plane, and no test imports the bench but its own", () => {
  assert.deepEqual(
    wrong("test", (path, file) => path.startsWith("bench/") && !file.startsWith("test/unit/bench/")),
    [],
  );
});
