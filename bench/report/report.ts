/** Keeps the results, and writes the pages about them. */

import { globSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { format } from "prettier";
import type { PartName, PartResult } from "../result.ts";
import { renderPage, renderPart } from "./page.ts";

const ROOT = join(import.meta.dirname, "../..");
const RESULTS = join(ROOT, "bench/results");

/** `undefined`: that part was never measured. */
export function readResult(part: PartName): PartResult | undefined {
  return readResults().find((result) => result.part === part);
}

export function readResults(): PartResult[] {
  const files = globSync("*.json", { cwd: RESULTS }).toSorted();
  return files.map((file) => JSON.parse(readFileSync(join(RESULTS, file), "utf8")));
}

/** Replaces the last result of its part, and writes all pages. */
export async function saveResult(result: PartResult): Promise<void> {
  checkSamples(result);
  await mkdir(RESULTS, { recursive: true });
  await writeFile(join(RESULTS, `${result.part}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
  await writeReport();
}

/** Rejects NaN and Infinity, which JSON does not know: they would come back as 0, which many goals allow. */
export function checkSamples({ tables }: PartResult): void {
  for (const { id, samples } of tables.flatMap(({ rows }) => rows)) {
    if (!samples.every(Number.isFinite))
      throw new Error(`${id}: a sample is no number: ${samples.join(", ")}`);
  }
}

export async function writeReport(): Promise<void> {
  for (const [file, text] of await renderReport(readResults())) await writeFile(join(ROOT, file), text);
}

/** The pages by their path from the root of the repository. */
export async function renderReport(results: readonly PartResult[]): Promise<Map<string, string>> {
  const files = new Map([["docs/benchmarks.md", renderPage(results)]]);
  for (const result of results) files.set(`bench/results/${result.part}.md`, renderPart(result));
  for (const [file, text] of files)
    files.set(file, await format(text, { parser: "markdown", printWidth: 110 }));
  return files;
}
