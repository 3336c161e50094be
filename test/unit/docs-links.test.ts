/** Every link of every page leads to a file that is there, and to a heading of it; and every page can be found. */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import test from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES = globSync(["*.md", "docs/**/*.md", "test/**/*.md", "manifests/**/*.md", "bench/**/*.md"], {
  cwd: ROOT,
});
/** What users read. */
const FOR_USERS = PAGES.filter((page) => /^(?:README\.md|docs\/)/.test(page) && page !== "docs/design.md");

function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8").replaceAll(/^( *)```.*?^\1```$/gms, "");
}

/** As GitHub and GitLab make them: words in lower case, joined by hyphens; the second of a name gets "-1". */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = text.replaceAll(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** What is linked from a page, from the root of the repository; addresses of the web are left out. */
function linksOf(page: string): { readonly file: string; readonly anchor: string }[] {
  const prose = proseOf(page).replaceAll(/`[^`]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor = ""] = target.split("#");
      return { file: path === "" ? page : normalize(join(dirname(page), path)), anchor };
    });
}

test("links lead to files, and to headings of them", () => {
  assert.ok(PAGES.length > 30);
  const broken = PAGES.flatMap((page) =>
    linksOf(page)
      .filter(({ file, anchor }) => {
        if (!existsSync(join(ROOT, file))) return true;
        return anchor !== "" && !anchorsOf(file).has(anchor);
      })
      .map(({ file, anchor }) => `${page}: ${file}#${anchor}`),
  );
  assert.deepEqual(broken, []);
});

test("every page of docs/ is linked from README.md or CONTRIBUTING.md, every recipe from their list", () => {
  const linked = (...pages: string[]): string[] => pages.flatMap(linksOf).map(({ file }) => file);
  const expected = (folder: string): string[] =>
    globSync(`${folder}/*.md`, { cwd: ROOT }).filter((page) => page !== `${folder}/README.md`);
  const missing = (folder: string, ...lists: string[]): string[] =>
    expected(folder).filter((page) => !linked(...lists).includes(page));
  assert.deepEqual(missing("docs", "README.md", "CONTRIBUTING.md"), []);
  assert.deepEqual(missing("docs/recipes", "docs/recipes/README.md"), []);
});

test("each test that a page names is there: it proves what the page says", () => {
  const named = PAGES.flatMap((page) =>
    [...proseOf(page).matchAll(/`(?:[^`]*[ =])?([^` =]+\.test\.ts)`/g)].map(([, file = ""]) => ({
      page,
      file,
    })),
  );
  assert.ok(named.length > 20);
  const missing = named.filter(({ file }) => !existsSync(join(ROOT, file)));
  assert.deepEqual(missing, []);
  const forUsers = named.filter(({ page }) => FOR_USERS.includes(page));
  assert.deepEqual(forUsers, [], "users need no tests: docs/design.md names them");
});

test("a cell of a table has at most 35 words: a paragraph has more", () => {
  const cells = FOR_USERS.flatMap((page) =>
    proseOf(page)
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .flatMap((line) => line.split(/(?<!\\)\|/))
      .map((cell) => ({ page, cell: cell.trim() })),
  );
  assert.ok(cells.length > 1000);
  assert.deepEqual(
    cells.filter(({ cell }) => cell.split(/\s+/).length > 35),
    [],
  );
});
