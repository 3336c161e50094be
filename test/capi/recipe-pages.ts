/** What stands in docs/recipes/: the tests apply the YAML and type the commands as they are there. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");
export const RECIPES = join(ROOT, "docs/recipes");

export const PAGES: readonly string[] = readdirSync(RECIPES)
  .filter((name) => name.endsWith(".md"))
  .toSorted();

export interface Block {
  readonly language: string;
  readonly text: string;
}

export function textOf(page: string): string {
  return readFileSync(join(RECIPES, page), "utf8");
}

/** Fenced blocks. */
export function blocksOf(page: string): Block[] {
  const fences = textOf(page).matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...fences].map(([, language = "", text = ""]) => ({ language, text }));
}

/** The suite of a page, for `hookpolicy test`; the page links to it. */
export function suiteOf(page: string): string | undefined {
  const file = join(RECIPES, "suites", page.replace(/md$/, "yaml"));
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Pages whose YAML has a HookRollout: test/capi/rollout-recipes.test.ts reads them. */
export const ROLLOUT_PAGES: readonly string[] = PAGES.filter((page) =>
  blocksOf(page).some(({ text }) => /^kind: HookRollout$/m.test(text)),
);

/** Pages whose policies speak at admission: test/capi/cluster-admission.test.ts reads them. */
export const ADMISSION_PAGES: readonly string[] = PAGES.filter((page) =>
  blocksOf(page).some(({ text }) => /^ +admission: (?:Warn|Deny)$/m.test(text)),
);

/** Pages whose policies have tasks: test/capi/task-recipes.test.ts reads them. */
export const TASK_PAGES: readonly string[] = PAGES.filter((page) =>
  blocksOf(page).some(({ text }) => /^ +tasks:\n +- name:/m.test(text) && !text.includes("HookPolicyTest")),
);

/** What a `sh` block has a reader type: a line each, but a here-document is part of its command. */
export function commandsOf(page: string): string[] {
  return blocksOf(page)
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.match(/^.*<<EOF\n[^]*?^EOF$|^.+$/gm) ?? []);
}

/** What follows `$ ` in a block, and what is then shown. */
export function transcriptsOf(page: string): { readonly command: string; readonly output: string }[] {
  return blocksOf(page).flatMap(({ text }) => {
    const [, command, output] = /^\$ (.*)\n([^]*)$/.exec(text) ?? [];
    return command === undefined || output === undefined ? [] : [{ command, output }];
  });
}
