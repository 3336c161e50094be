/** Lists in every form, and files in folders that are not for the command. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test, { describe } from "node:test";
import { stringify } from "yaml";
import { type LoadedFiles, loadPaths } from "../../../../src/cli/files/load.ts";
import { type Files, folder, yaml } from "../program.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

async function loaded(t: test.TestContext, files: Files, paths: readonly string[]): Promise<LoadedFiles> {
  return await loadPaths(paths, { cwd: await folder(t, files) });
}

describe("every form of a list is read alike, named or in a folder:", () => {
  const a = { apiVersion: "velero.io/v1", kind: "Backup", metadata: { name: "a" } };
  const b = { apiVersion: "velero.io/v1", kind: "Backup", metadata: { name: "b" } };
  const bare = ({ metadata }: typeof a): object => ({ metadata });
  const list = (...items: unknown[]): object => ({ apiVersion: "v1", kind: "List", items });
  const typed = (items: unknown): object => ({ apiVersion: "velero.io/v1", kind: "BackupList", items });
  const FORMS: Record<string, readonly unknown[]> = {
    "two documents": [a, b],
    "a List": [list(a, b)],
    "a list of the kind, whose items lack it": [typed([bare(a), bare(b)])],
    "a list of the kind, whose items have it": [typed([a, b])],
    "a List of lists": [list(typed([bare(a)]), list(list(), list(b)))],
    "an array": [[a, b]],
    "an array of lists": [[list(a), typed([bare(b)])]],
    "a List and an object": [list(a), b],
  };
  const WRITTEN: Record<string, (form: readonly unknown[]) => string> = {
    "x.yaml": (form) => form.map((each) => `---\n${stringify(each)}`).join(""),
    "x.json": (form) => form.map((each) => `${JSON.stringify(each, null, 2)}\n`).join(""),
    "lines.json": (form) => form.map((each) => JSON.stringify(each)).join("\n"),
    "both.yaml": (form) => yaml(...form),
  };
  for (const [name, form] of Object.entries(FORMS))
    test(name, async (t) => {
      for (const [file, write] of Object.entries(WRITTEN).filter(
        ([each]) => form.length === 1 || each.endsWith(".yaml"),
      ))
        for (const path of [`p/${file}`, "p"]) {
          const { objects, problems, ignored } = await loaded(t, { [`p/${file}`]: write(form) }, [path]);
          assert.deepEqual({ problems, ignored }, { problems: [], ignored: 0 }, file);
          assert.deepEqual(
            objects.map(({ object }) => object),
            [a, b],
            file,
          );
        }
    });

  test("an empty one has no objects, and says so of its kind", async (t) => {
    const files = {
      "p/a.json": JSON.stringify(list()),
      "p/b.json": JSON.stringify(typed([])),
      "p/c.json": JSON.stringify(typed(null)),
      "p/d.json": "[]",
      "p/e.json": JSON.stringify(list(typed([]))),
      "p/f.json": JSON.stringify({ ...list(), items: null }),
    };
    const nothing = [{ file: "p/d.json", message: "holds no object" }];
    for (const [paths, wrong] of [
      [["p"], []],
      [Object.keys(files), nothing],
    ] as const) {
      const { objects, problems } = await loaded(t, files, paths);
      assert.deepEqual(problems, wrong);
      assert.deepEqual(
        objects.map(({ file, object }) => [file, object["kind"]]),
        ["b", "c", "e"].map((name) => [`p/${name}.json`, "BackupList"]),
      );
    }
  });

  test("lists nested too deeply are no objects", async (t) => {
    const text = `${"[".repeat(50_000)}"x"${"]".repeat(50_000)}`;
    const { objects, problems } = await loaded(t, { "a.json": text }, ["a.json"]);
    assert.deepEqual(objects, []);
    assert.match(problems[0]?.message ?? "", /^found a list, expected a Kubernetes object$/);
  });

  test("places are those of the file", async (t) => {
    const text = `[\n  ${JSON.stringify(a)},\n  ${JSON.stringify(list(b))}\n]\n`;
    const { objects } = await loaded(t, { "x.json": text }, ["x.json"]);
    const column = text.split("\n")[2]?.indexOf('{"name":"b"}') ?? 0;
    assert.deepEqual(objects[1]?.position("metadata.name", "key"), { line: 3, column: column + 2 });
  });
});

describe("in a folder, a file that cannot be read", () => {
  const FOREIGN = {
    "repo/ci.yml": "job:\n  script: !reference [.setup, script]\n",
    "repo/cfn.yaml": 'A:\n  B: !Sub "${C}-b"\n',
    "repo/mkdocs.yml": "a:\n  - b: !!python/name:material.extensions.emoji.twemoji\n",
    "repo/charts/x/templates/cm.yaml": 'kind: ConfigMap\nname: {{ include "x.name" . }}\n',
    "repo/binary.json": Buffer.from([1, 0, 2]),
    "repo/latin.yaml": Buffer.from([0x61, 0x3a, 0x20, 0xe4]),
    "repo/empty.json": "",
    "repo/backstage.yaml": "kind: Component\n",
  };
  const meant = /hookpolicy/i;

  test("is skipped, and named, if it does not mention what the command reads", async (t) => {
    const cwd = await folder(t, { ...FOREIGN, "repo/p.yaml": CONFIG });
    for (const path of ["repo", "repo/**"]) {
      const { objects, problems, skipped } = await loadPaths([path], { cwd, meant });
      assert.deepEqual(problems, []);
      assert.deepEqual(
        objects.map(({ file }) => file),
        ["repo/p.yaml"],
      );
      assert.deepEqual(skipped, Object.keys(FOREIGN).toSorted());
    }
  });

  test("is a problem if it does, is named, or the command takes all", async (t) => {
    const cwd = await folder(t, { ...FOREIGN, "other/a.yaml": "# HookPolicy\na: !b c\n" });
    const count = async (paths: readonly string[], options = {}): Promise<number> =>
      (await loadPaths(paths, { cwd, ...options })).problems.length;
    assert.equal(await count(["other"], { meant }), 1);
    assert.equal(await count(["repo/ci.yml"], { meant }), 1);
    assert.equal(await count(["repo"]), Object.keys(FOREIGN).length);
  });
});

test("a pattern excludes files and folders below a folder", async (t) => {
  const names = ["p/a.yaml", "p/b.tmpl.yaml", "p/charts/x/templates/c.yaml", "p/charts/x/d.yaml"];
  const cwd = await folder(t, Object.fromEntries(names.map((name) => [name, CONFIG])));
  const left = async (...exclude: string[]): Promise<string[]> =>
    (await loadPaths(["p"], { cwd, exclude })).objects.map(({ file }) => file);
  assert.deepEqual(await left("templates"), [names[0], names[1], names[3]]);
  assert.deepEqual(await left("*.tmpl.yaml", "charts"), [names[0]]);
  assert.deepEqual(await left("charts/*/templates/"), [names[0], names[1], names[3]]);
  assert.deepEqual(await left("./p/charts/**"), [names[0], names[1]]);
  assert.deepEqual(await left("x/d.yaml"), [names[0], names[1], names[3], names[2]]);
  assert.equal((await loadPaths(["p/a.yaml"], { cwd, exclude: ["p"] })).objects.length, 1);
});

test("validate counts and names what it skips, and leaves out what a pattern excludes", async (t) => {
  const cwd = await folder(t, {
    "a.yaml": CONFIG,
    "ci.yml": "a: !reference [b]\n",
    "chart/policy.yaml": "kind: HookPolicy\n{{ if .Values.a }}\n",
  });
  assert.equal((await hookpolicy(["validate", "."], { cwd })).code, 2);
  assert.deepEqual(await hookpolicy(["validate", ".", "--exclude", "chart"], { cwd }), {
    code: 0,
    stdout:
      "no policies: no errors; 1 object of other kinds ignored; 1 file skipped (no YAML or JSON of Kubernetes, no mention of HookPolicy): ci.yml\n",
    stderr: "",
  });
});

test("a folder in which everything is skipped is no all-clear", async (t) => {
  const template = "{{ if .Values.a }}\nkind: {{ .Values.kind }}\n";
  const cwd = await folder(t, {
    "p/a.yaml": template,
    "p/b.yaml": template,
    "q/values.yaml": "a: 1\n",
    "r/a.yaml": "# kind: HookPolicy\n",
  });
  for (const [path, left] of [
    ["p", "; 2 files skipped (no YAML or JSON of Kubernetes, no mention of HookPolicy): p/a.yaml, p/b.yaml"],
    ["q", "; 1 document without a Kubernetes object ignored"],
    ["r", "; 1 document without a Kubernetes object ignored"],
  ] as const) {
    const message = "no file of it has a Kubernetes object, so nothing was checked: build templates first";
    assert.deepEqual(await hookpolicy(["validate", path], { cwd }), {
      code: 2,
      stdout: `no policies: 1 error${left}\n`,
      stderr: `${path}: error: ${message}\n`,
    });
    const { code, stdout } = await hookpolicy(["validate", path, "-o", "json"], { cwd });
    const { valid, problems } = JSON.parse(stdout);
    assert.deepEqual([code, valid, problems], [2, false, [{ file: path, message }]]);
  }
});

test("an empty list says that there is nothing, which is no error", async (t) => {
  const none = JSON.stringify({ apiVersion: "v1", kind: "List", items: [] });
  const cwd = await folder(t, { "p/none.json": none });
  const outcome = { code: 0, stdout: "no policies: no errors\n", stderr: "" };
  assert.deepEqual(await hookpolicy(["validate", "p"], { cwd }), outcome);
  assert.deepEqual(await hookpolicy(["validate", "-"], { cwd, stdin: none }), outcome);
});

describe("is never skipped", () => {
  const POLICY = "apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\n";

  test("a policy in UTF-16 without its mark", async (t) => {
    for (const swapped of [false, true]) {
      const bytes = Buffer.from(POLICY, "utf16le");
      const cwd = await folder(t, { "p/a.yaml": "" });
      await writeFile(join(cwd, "p/a.yaml"), swapped ? bytes.swap16() : bytes);
      const { code, stdout } = await hookpolicy(["validate", "p"], { cwd });
      assert.equal(code, 2, stdout);
    }
  });

  test("a file that is named, whether its folder follows or not", async (t) => {
    const cwd = await folder(t, { "p/a.yaml": "a: [" });
    for (const paths of [["p/a.yaml"], ["p/a.yaml", "p"], ["p", "p/a.yaml"]])
      assert.equal((await hookpolicy(["validate", ...paths], { cwd })).code, 2, paths.join(" "));
  });

  test("all of a folder, by --exclude", async (t) => {
    const cwd = await folder(t, { "p/a.yaml": POLICY });
    const { code, stderr } = await hookpolicy(["validate", "p", "--exclude", "*.yaml"], { cwd });
    assert.equal(code, 2);
    assert.match(stderr, /--exclude leaves no file of it/);
  });

  test("a file that cannot be read, by the command that runs suites", async (t) => {
    assert.equal((await onFiles(t, { "t/a.yaml": "kind: HookPolicyTst\na: [" }, ["test", "t"])).code, 2);
  });
});
