import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { type LoadedFiles, loadPaths } from "../../../../src/cli/files/load.ts";
import { MAX_BYTES } from "../../../../src/cli/files/paths.ts";
import { type Files, folder } from "../program.ts";
import type { SourceObject } from "../../../../src/cli/files/parsed.ts";

const CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/** The files in a folder, loaded by these paths. */
async function loaded(
  t: test.TestContext,
  files: Files,
  paths: readonly string[] = Object.keys(files),
): Promise<LoadedFiles> {
  return await loadPaths(paths, { cwd: await folder(t, files) });
}

async function only(t: test.TestContext, text: string, name = "a.yaml"): Promise<SourceObject> {
  const { objects, problems } = await loaded(t, { [name]: text });
  assert.deepEqual(problems, []);
  const [object, ...others] = objects;
  assert.ok(object !== undefined && others.length === 0);
  return object;
}

const letters = Array.from("abcdefgh");
const BOMB = letters
  .map(
    (letter, i) =>
      `${letter}: &${letter} [${Array(9)
        .fill(i === 0 ? "x" : `*${letters[i - 1]}`)
        .join(",")}]\n`,
  )
  .join("");

const BAD: Record<string, { content: string | Uint8Array; says: RegExp; at?: [number, number] }> = {
  "an empty file": { content: "", says: /^is empty$/ },
  "a file with comments only": { content: "# nothing\n---\n", says: /^holds no object$/ },
  "text that is not YAML": {
    content: "kind: a: b\n",
    says: /^a text with ": " needs quotes/,
    at: [1, 7],
  },
  "a binary file": { content: new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1]), says: /^is a binary file/ },
  "text in another encoding": {
    content: new Uint8Array([0x61, 0x3a, 0x20, 0xff, 0xfe]),
    says: /^is not UTF-8/,
  },
  "an alias bomb": { content: BOMB, says: /^aliases \(\*\) expand to too much/ },
  "a key that stands twice": {
    content: `${CONFIG}kind: Secret\n`,
    says: /^duplicate key "kind" in a mapping: two documents without --- between them\?$/,
    at: [4, 1],
  },
  "a key that stands twice in JSON": {
    content: '{"apiVersion": "v1",\n"kind": "A",\n"kind": "B"}',
    says: /^duplicate key "kind" in a mapping$/,
    at: [3, 1],
  },
  "YAML nested too deeply": { content: `a: ${"[".repeat(100_000)}`, says: /^is nested too deeply$/ },
  "JSON nested too deeply": {
    content: `{"apiVersion":"v1","kind":"A","a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
    says: /^is nested too deeply$/,
  },
  "an unknown tag": {
    content: `${CONFIG}data: !Ref x\n`,
    says: /^!Ref is a YAML tag/,
    at: [4, 7],
  },
  "a list": { content: "- a\n", says: /^found a string, expected a Kubernetes object$/, at: [1, 3] },
  "an object without a kind": {
    content: "a: 1\n---\napiVersion: v1\n",
    says: /it has no apiVersion and no kind$/,
    at: [1, 1],
  },
};
for (const [name, { content, says, at }] of Object.entries(BAD)) {
  test(`${name} is a problem, with its place where there is one`, async (t) => {
    const { objects, problems } = await loaded(t, { "bad.yaml": content });
    assert.deepEqual(objects, []);
    const [problem] = problems;
    assert.equal(problem?.file, "bad.yaml");
    assert.match(problem.message, says);
    if (at !== undefined) assert.deepEqual([problem.line, problem.column], at);
  });
}

test("a file that is missing, a folder without files and a pattern without matches are problems", async (t) => {
  const { problems } = await loaded(t, { "empty/readme.md": "" }, ["nope.yaml", "empty", "*.json"]);
  assert.deepEqual(
    problems.map(({ file, message }) => `${file}: ${message}`),
    [
      "nope.yaml: no such file or folder",
      "empty: the folder holds no .yaml, .yml or .json file",
      "*.json: matches no .yaml, .yml or .json file",
    ],
  );
});

test("a file that is too large is not read, whatever size it says it has", async (t) => {
  const dir = await folder(t, {});
  await writeFile(join(dir, "large.yaml"), "");
  await truncate(join(dir, "large.yaml"), MAX_BYTES + 1);
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield await Promise.resolve(new Uint8Array(1024 * 1024));
  }
  const { problems } = await loadPaths(["large.yaml", "-"], { cwd: dir, stdin: endless() });
  assert.deepEqual(
    problems.map(({ file, message }) => `${file}: ${message}`),
    ["large.yaml: is larger than 32 MiB", "-: is larger than 32 MiB"],
  );
});

test("a problem in one file leaves the others", async (t) => {
  const { objects, problems } = await loaded(t, { "a.yaml": CONFIG, "b.yaml": "", "c.yaml": CONFIG });
  assert.deepEqual(
    objects.map(({ file }) => file),
    ["a.yaml", "c.yaml"],
  );
  assert.equal(problems.length, 1);
});

test("UTF-16 is read by its byte order mark, as PowerShell writes it", async (t) => {
  const little = Buffer.from(`\uFEFF${CONFIG}`, "utf16le");
  const big = Buffer.from(little).swap16();
  const { objects, problems } = await loaded(t, { "little.yaml": little, "big.yaml": big });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    objects.map(({ object }) => object.kind),
    ["ConfigMap", "ConfigMap"],
  );
});

test("YAML is read as kubectl reads it", async (t) => {
  const { object } = await only(
    t,
    `${CONFIG}data: {a: yes, b: on, c: 010, d: 22:30, e: 2026-11-21, f: "no", g: 2026-11-21T10:00:00Z, h: e1, i: -.E2, j: ., k: 1e1, l: .5}`,
  );
  const data = {
    a: true,
    b: true,
    c: 8,
    d: "22:30",
    e: "2026-11-21",
    f: "no",
    g: "2026-11-21T10:00:00Z",
    h: "e1",
    i: "-.E2",
    j: ".",
    k: 10,
    l: 0.5,
  };
  assert.deepEqual(object["data"], data);
});

test("a folder is read with the folders below it, by name, without hidden ones", async (t) => {
  const files = {
    "p/b.yml": CONFIG,
    "p/a/c.json": '{"apiVersion": "v1", "kind": "ConfigMap"}',
    "p/.git/d.yaml": "::",
    "p/node_modules/e.yaml": "::",
    "p/values.yaml": "replicas: 1\n",
    "p/empty.yaml": "# nothing\n",
    "p/notes.txt": "::",
    "p/my-kustomization": "::",
    "p/kustomization": "::",
    "p/Makefile.Kustomization": "::",
  };
  const { objects, problems, ignored } = await loaded(t, files, ["p"]);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    objects.map(({ file }) => file),
    ["p/a/c.json", "p/b.yml"],
  );
  assert.equal(ignored, 2);
});

test("in a folder, an object that is almost one is a problem", async (t) => {
  const { problems } = await loaded(t, { "p/a.yaml": "kind: HookPolicy\nspec: {}\n" }, ["p"]);
  assert.match(problems[0]?.message ?? "", /no apiVersion/);
});

test("a file that is named twice, by itself, its folder and a pattern, is read once", async (t) => {
  const paths = ["p/a.yaml", "p", "./p/*.yaml", "p/../p/a.yaml"];
  assert.equal((await loaded(t, { "p/a.yaml": CONFIG }, paths)).objects.length, 1);
});

test("a folder that links to itself ends", async (t) => {
  const cwd = await folder(t, { "p/a.yaml": CONFIG });
  await symlink("..", join(cwd, "p/up"));
  assert.equal((await loadPaths(["p"], { cwd })).objects.length, 1);
});

test("standard input is a file named -", async () => {
  async function* stdin(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from(CONFIG));
  }
  const { objects } = await loadPaths(["-"], { stdin: stdin() });
  assert.deepEqual(
    objects.map(({ file, object }) => [file, object["kind"]]),
    [["-", "ConfigMap"]],
  );
});

test("the items of a List are objects of their own, also behind empty documents", async (t) => {
  const text = `---\n---\n${CONFIG}---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- apiVersion: v1\n  kind: B\n`;
  const { objects } = await loaded(t, { "a.yaml": text });
  assert.deepEqual(
    objects.map(({ object }) => object["kind"]),
    ["ConfigMap", "A", "B"],
  );
  assert.deepEqual(objects[2]?.position("kind"), { line: 12, column: 9 });
});

const POLICY = `# a comment
apiVersion: v1
kind: A
metadata:
  labels:
    example.com/tier.x: "a"
spec:
  rules:
    - name: first
      hooks: [BeforeClusterCreate, BeforeClusterDelete]
    - &second
      name: second
      until: []
    - *second
`;

const PLACES: Record<string, [number, number]> = {
  "spec.rules[0].hooks[1]": [10, 36],
  "spec.rules[1].name": [12, 13],
  "spec.rules[1].until": [13, 7],
  "spec.rules[0]": [9, 7],
  "spec.rules": [8, 3],
  "spec.rules[0].missing.deep": [9, 7],
  "spec.rules[7].name": [8, 3],
  "spec.missing": [7, 1],
  missing: [2, 1],
  "": [2, 1],
  "metadata.labels[example.com/tier.x]": [6, 25],
  "spec.rules[2].name": [12, 13],
};
for (const [path, [line, column]] of Object.entries(PLACES)) {
  test(`the place of ${JSON.stringify(path)} is known`, async (t) => {
    assert.deepEqual((await only(t, POLICY)).position(path), { line, column });
  });
}

test("documents are the same whether they are cut or not, with their places", async (t) => {
  const text = [
    "# nothing\n\n",
    "--- # one\napiVersion: v1\nkind: A\nx: |\n  ----\n  --- no document\n",
    "---\n",
    "---\t\n# a comment\napiVersion: v1\nkind: B\n",
    "--- {apiVersion: v1, kind: C}\n",
    "---\napiVersion: v1\nkind: D\n",
  ].join("");
  const seen = async (content: string): Promise<unknown> => {
    const { objects, problems } = await loaded(t, { "a.yaml": content });
    assert.deepEqual(problems, []);
    return objects.map((each) => [each.object, each.position("kind")]);
  };
  const cut = await seen(text);
  // A document whose end is written out keeps the text in one piece.
  assert.deepEqual(await seen(`${text}...\n`), cut);
  assert.deepEqual(await seen(text.replaceAll("\n", "\r\n")), cut);
});

test("a no-break space after a colon is named and placed", async (t) => {
  const { problems } = await loaded(t, { "a.yaml": "apiVersion:\u00A0v1\nkind: A\n" });
  const message = "has a no-break space (U+00A0), which is no space in YAML: write a space";
  const told = problems.map(({ lines: _, ...problem }) => problem);
  assert.deepEqual(told, [{ file: "a.yaml", line: 1, column: 12, message }]);
});

test("the place of a field's name is known, too", async (t) => {
  const source = await only(t, POLICY);
  assert.deepEqual(source.position("spec.rules[1].name", "key"), { line: 12, column: 7 });
  assert.equal(source.lines()[11], "      name: second");
});

test("places in JSON are known, with tabs and escapes, and with line ends of Windows", async (t) => {
  const json = '{\r\n\t"apiVersion": "v1",\r\n\t"kind": "A\\"b:",\r\n\t"spec": {"x": [1, 2]}\r\n}';
  const source = await only(t, json, "a.json");
  assert.equal(source.object["kind"], 'A"b:');
  assert.deepEqual(source.position("spec.x[1]"), { line: 4, column: 20 });
  assert.equal(source.lines().length, 5);
});

test("what is no regular file is skipped in a folder and by a pattern, and an error where it is named", async (t) => {
  const cwd = await folder(t, { "a.yaml": CONFIG });
  execFileSync("mkfifo", [join(cwd, "fifo.yaml")]);
  await symlink(join(cwd, "fifo.yaml"), join(cwd, "link.yaml"));
  for (const path of [".", "*.yaml"]) {
    const { objects, problems } = await loadPaths([path], { cwd });
    assert.deepEqual({ objects: objects.length, problems }, { objects: 1, problems: [] }, path);
  }
  const { problems } = await loadPaths(["fifo.yaml"], { cwd });
  assert.deepEqual(problems, [
    { file: "fifo.yaml", message: "is a pipe, expected a file; use - for standard input" },
  ]);
});

test("a file with comments only is nothing in a folder and by a pattern alike", async (t) => {
  const cwd = await folder(t, { "a.yaml": "# later\n", "b.yaml": CONFIG });
  for (const path of [".", "*.yaml"]) {
    assert.deepEqual((await loadPaths([path], { cwd })).problems, [], path);
  }
});
