/** What stands in README.md and docs/, for tests that type it and write it. */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");

export interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

const FENCE = /^( *)```(\w*)\n(.*?)^\1```$/gms;

/** `page` from the root of the repository. */
export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** Fenced blocks, without the indentation of the list that they stand in. */
export function blocksOf(page: string): Block[] {
  return [...textOf(page).matchAll(FENCE)].map(([, indent = "", language = "", text = ""]) => ({
    page,
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** Inline code, on one line. */
export function spansOf(page: string): string[] {
  const prose = textOf(page).replaceAll(FENCE, "");
  return [...prose.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll(/\s+/g, " "));
}

/** Everything a reader may type: all of a `sh` block, what follows `$ ` in others, and kubectl in the text. */
export function commandsOf(page: string): string[] {
  const typed = blocksOf(page).flatMap(({ language, text }) => {
    const lines = text.replaceAll(/\\\n\s*/g, "").split("\n");
    if (language === "sh") return lines.filter((line) => line !== "");
    return lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  });
  return [...typed, ...spansOf(page).filter((code) => code.startsWith("kubectl "))];
}
