/**
 * Generates the chart's README.md from the comments of its values.yaml (npm run generate). Running it twice changes
 * nothing.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { isMap, isScalar, type Node, type Pair, parse, parseDocument } from "yaml";

const CHART = join(import.meta.dirname, "../manifests/helm/hookpolicy");

export interface Value {
  /** Such as "image.repository". */
  readonly path: string;
  readonly description: string;
  readonly default: unknown;
}

/** Every value with a comment that begins with `# --`; throws for a leaf that has none above it. */
export function valuesOf(yaml: string): readonly Value[] {
  const { contents } = parseDocument(yaml);
  return isMap<Node, Node>(contents) ? contents.items.flatMap((pair, index) => under("", pair, index)) : [];
}

function under(parent: string, { key, value }: Pair<Node, Node | null>, index: number): Value[] {
  const name = isScalar(key) ? String(key.value) : "";
  const path = parent === "" ? name : `${parent}.${name}`;
  const comment = key.commentBefore ?? "";
  const description = descriptionIn(comment);
  if (description !== undefined) return [{ path, description, default: value?.toJSON() }];
  if (!isMap<Node, Node>(value))
    throw new Error(`values.yaml: ${path} (item ${index}) has no comment "# -- …"`);
  const [first, ...rest] = value.items;
  // The parser gives the comment above the first key to the map.
  if (first !== undefined) first.key.commentBefore = value.commentBefore ?? null;
  return [...(first === undefined ? [] : [first]), ...rest].flatMap((pair, at) => under(path, pair, at));
}

/** The last one: what stands before an empty line is about the file. */
function descriptionIn(comment: string): string | undefined {
  const [, text] = /^ -- (.*)$/ms.exec(comment.split(/\n{2,}/).at(-1) ?? "") ?? [];
  return text?.replaceAll(/\n\s*/g, " ");
}

/** As prettier leaves it. */
export async function chartReadme(yaml: string, chart: string): Promise<string> {
  const { description }: { description: string } = parse(chart);
  const rows = valuesOf(yaml).map(
    (value) => `| \`${value.path}\` | \`${JSON.stringify(value.default)}\` | ${value.description} |`,
  );
  const text = `<!-- Generated from values.yaml by release/chart-readme.ts (npm run generate): change that instead. -->

# HookPolicy's Helm chart

${description} How to install, upgrade and uninstall with it: docs/install.md.

Names are fixed and there is one release per management cluster, in a namespace of your choice.

| Value | Default | What it is |
| --- | --- | --- |
${rows.join("\n")}
`;
  return await format(text, { parser: "markdown", printWidth: 110 });
}

if (import.meta.main) {
  const read = (name: string): string => readFileSync(join(CHART, name), "utf8");
  writeFileSync(join(CHART, "README.md"), await chartReadme(read("values.yaml"), read("Chart.yaml")));
}
