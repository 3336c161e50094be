/** Finds the files that a kustomization changes, so that they are not what is applied. */

import { basename, dirname, join, normalize } from "node:path";
import { type Fields, fieldsOf, listOf } from "../../lib/fields.ts";

export interface Kustomization {
  readonly file: string;
  readonly fields: Fields;
}

export function isKustomization(file: string): boolean {
  return /^(?:kustomization\.ya?ml|Kustomization)$/.test(basename(file));
}

/** What changes the objects that it takes from files; images and generators change no Cluster. */
const CHANGES = [
  "components",
  "namespace",
  "namePrefix",
  "nameSuffix",
  "labels",
  "commonLabels",
  "commonAnnotations",
  "patches",
  "patchesStrategicMerge",
  "patchesJson6902",
  "replacements",
  "transformers",
  "vars",
];

/** The kustomization that changes a file, or has it as a patch, by the normalised path of the file. */
export function changedFiles(all: readonly Kustomization[]): ReadonlyMap<string, Kustomization> {
  const byFolder = new Map(all.map((each) => [folderOf(each), each]));
  const found = all
    .filter(({ fields }) => CHANGES.some((field) => field in fields))
    .flatMap((each) => [...filesOf(each, byFolder)].map((file): [string, Kustomization] => [file, each]));
  return new Map(found.toReversed());
}

/** "patches and namespace" */
export function changesOf({ fields }: Kustomization): string {
  return CHANGES.filter((field) => field in fields).join(" and ");
}

export function folderOf({ file }: Kustomization): string {
  return normalize(dirname(file));
}

/** Follows the kustomizations below it; a folder without one has no files in the build. */
function filesOf(from: Kustomization, byFolder: ReadonlyMap<string, Kustomization>): ReadonlySet<string> {
  const files = new Set<string>();
  const seen = new Set([from]);
  for (const each of seen) {
    for (const path of pathsIn(each.fields)) {
      const target = normalize(join(folderOf(each), path));
      const below = byFolder.get(target.replace(/\/$/, ""));
      if (below === undefined) files.add(target);
      else seen.add(below);
    }
  }
  return files;
}

function pathsIn(fields: Fields): readonly string[] {
  const named = ["resources", "bases", "components", "patchesStrategicMerge"].flatMap((field) =>
    listOf(fields[field]),
  );
  const patches = listOf(fields["patches"]).map((patch) => fieldsOf(patch)["path"]);
  return [...named, ...patches].filter((path) => typeof path === "string");
}
