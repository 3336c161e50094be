import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { type Ingredients, ingredientsOf, keptSeed } from "../../controlplane/kept-seed.ts";
import { setEnvironment } from "../kube/fixtures.ts";
import { cacheRoot } from "../../controlplane/parts.ts";

interface Kitchen {
  readonly ingredients: Ingredients & { readonly source: string; readonly program: string };
  /** What the run that asks for a seed is given: the number of the run that made it. */
  readonly seed: () => Promise<string>;
}

function kitchen(t: TestContext): Kitchen {
  const folder = mkdtempSync(join(tmpdir(), "hookpolicy-kept-"));
  setEnvironment(t, { XDG_CACHE_HOME: folder });
  t.after(() => rmSync(folder, { recursive: true }));
  const [source, program] = [join(folder, "crd.yaml"), join(folder, "kube-apiserver")];
  for (const file of [source, program]) writeFileSync(file, "1");
  const ingredients = { sources: [source], programs: [program], source, program };
  let runs = 0;
  const seed = async (): Promise<string> => {
    const [file, run] = [join(folder, "seed"), String(++runs)];
    await keptSeed(file, ingredients, async (target) => await Promise.resolve(writeFileSync(target, run)));
    return readFileSync(file, "utf8");
  };
  return { ingredients, seed };
}

test("a seed is made once, and another when a source or a program has changed", async (t) => {
  const { ingredients, seed } = kitchen(t);
  assert.deepEqual([await seed(), await seed()], ["1", "1"]);
  writeFileSync(ingredients.source, "2");
  assert.deepEqual([await seed(), await seed()], ["3", "3"]);
  utimesSync(ingredients.program, 1, 1);
  assert.deepEqual([await seed(), await seed()], ["5", "5"]);
});

test("one seed is kept at a time, and none that could not be made whole", async (t) => {
  const { ingredients, seed } = kitchen(t);
  const failing = async (file: string): Promise<void> => {
    writeFileSync(file, "half");
    await Promise.reject(new Error("killed"));
  };
  await assert.rejects(keptSeed(`${ingredients.source}.half`, ingredients, failing), /killed/);
  assert.equal(await seed(), "1");
  writeFileSync(ingredients.source, "2");
  assert.equal(await seed(), "2");
  assert.equal(readdirSync(join(cacheRoot(), "seeds")).length, 1);
});

test("it is made of what is installed, and of what installs it", () => {
  const { sources, programs } = ingredientsOf(["etcd"]);
  for (const part of ["crds/", "manifests/", "cluster-api/go.mod", "/lab-kinds.ts", "/kept-seed.ts"])
    assert.ok(
      sources.some((file) => file.includes(part)),
      part,
    );
  for (const file of sources) assert.ok(statSync(file).isFile(), file);
  assert.deepEqual(programs, ["etcd"]);
});
