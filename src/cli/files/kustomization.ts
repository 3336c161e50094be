/** Finds what kustomizations can change in the objects of files, so that the files are not what is applied. */

import { basename, dirname, join, normalize } from "node:path";
import { RE2JS } from "@bufbuild/re2";
import { type Fields, fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import type { SourceObject } from "./parsed.ts";
import { parseYaml } from "./yaml.ts";

export function isKustomization(file: string): boolean {
  return /^(?:kustomization\.ya?ml|Kustomization)$/.test(basename(file));
}

interface Change {
  readonly field: string;
  readonly hits: (object: Fields) => boolean;
}

/** What a kustomization does to the files that it takes; files are by their normalised path. */
export interface Build {
  readonly kustomization: SourceObject;
  /** Those of its resources, of the kustomizations below, too. */
  readonly files: ReadonlySet<string>;
  /** They have no whole objects. */
  readonly patches: ReadonlySet<string>;
  readonly changes: readonly Change[];
}

export function buildsOf(all: readonly SourceObject[], objects: readonly SourceObject[]): readonly Build[] {
  const known: SourceIndex = {
    byFolder: new Map(all.map((each) => [folderOf(each), each])),
    byFile: Map.groupBy(objects, ({ file }) => normalize(file)),
  };
  return all
    .map((kustomization) => {
      const below = withBelow(kustomization, known, ["resources", "bases", "components"]);
      const together = withBelow(kustomization, known, ["components"]);
      return {
        kustomization,
        files: new Set([...below].flatMap((each) => resourcesOf(each, known))),
        patches: new Set([...together].flatMap((each) => patchFilesOf(each))),
        changes: [...together].flatMap((each) => changesOf(each, known)),
      };
    })
    .filter(({ changes }) => changes.length > 0);
}

export function folderOf({ file }: Pick<SourceObject, "file">): string {
  return normalize(dirname(file));
}

interface SourceIndex {
  readonly byFolder: ReadonlyMap<string, SourceObject>;
  readonly byFile: ReadonlyMap<string, readonly SourceObject[]>;
}

function withBelow(
  from: SourceObject,
  { byFolder }: SourceIndex,
  fields: readonly string[],
): ReadonlySet<SourceObject> {
  const seen = new Set([from]);
  for (const each of seen) {
    for (const path of fields.flatMap((field) => textsOf(each.object[field]))) {
      const below = byFolder.get(pathFrom(each, path));
      if (below !== undefined) seen.add(below);
    }
  }
  return seen;
}

function resourcesOf(each: SourceObject, { byFolder }: SourceIndex): readonly string[] {
  return ["resources", "bases"]
    .flatMap((field) => textsOf(each.object[field]))
    .map((path) => pathFrom(each, path))
    .filter((path) => !byFolder.has(path));
}

function patchFilesOf(each: SourceObject): readonly string[] {
  const paths = ["patches", "patchesJson6902"].flatMap((field) =>
    listOf(each.object[field]).map((patch) => fieldsOf(patch)["path"]),
  );
  const named = [...paths, ...textsOf(each.object["patchesStrategicMerge"])];
  return named.filter((path) => typeof path === "string").map((path) => pathFrom(each, path));
}

/** A folder has no slash at its end. */
function pathFrom(kustomization: SourceObject, path: string): string {
  return normalize(join(folderOf(kustomization), path)).replace(/\/$/, "");
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((each) => typeof each === "string");
}

const EVERY = (): boolean => true;

/** What changes every object; transformers can do anything. */
const WHOLE = [
  "namePrefix",
  "nameSuffix",
  "labels",
  "commonLabels",
  "commonAnnotations",
  "transformers",
  "vars",
];
const PATCHES = ["patches", "patchesStrategicMerge", "patchesJson6902", "replacements"];

function changesOf(each: SourceObject, known: SourceIndex): readonly Change[] {
  const { object } = each;
  const unknown = textsOf(object["components"]).some((path) => !known.byFolder.has(pathFrom(each, path)));
  return [
    ...(object["namespace"] === undefined ? [] : [moved(object["namespace"])]),
    ...WHOLE.filter((field) => field in object).map((field) => ({ field, hits: EVERY })),
    ...PATCHES.flatMap((field) =>
      listOf(object[field]).map((patch) => ({ field, hits: patched(patch, each, known) })),
    ),
    ...(unknown ? [{ field: "components", hits: EVERY }] : []),
  ];
}

function moved(to: unknown): Change {
  const hits = ({ kind, metadata }: Fields): boolean => {
    const { name, namespace } = fieldsOf(metadata);
    return (kind === "Namespace" ? name : namespace) !== to;
  };
  return { field: "namespace", hits };
}

/** What is not known of a patch could change everything. */
function patched(patch: unknown, each: SourceObject, known: SourceIndex): Change["hits"] {
  const { target, targets, path, patch: text } = fieldsOf(patch);
  const named = target === undefined ? listOf(targets).map((one) => fieldsOf(one)["select"]) : [target];
  const parts = partsIn(typeof patch === "string" ? patch : (text ?? path), each, known);
  const wanted =
    named.length > 0
      ? named.map(fieldsOf)
      : parts.map(({ kind, metadata }) => ({ kind, name: fieldsOf(metadata)["name"] }));
  return wanted.length === 0 ? EVERY : (object) => wanted.some((one) => isTarget(object, one));
}

function partsIn(patch: unknown, each: SourceObject, known: SourceIndex): readonly Fields[] {
  if (typeof patch !== "string") return [];
  const loaded = known.byFile.get(pathFrom(each, patch));
  if (loaded !== undefined) return loaded.map(({ object }) => object);
  const documents = patch.includes("\n") || patch.includes("{") ? parseYaml(patch).documents : [];
  return documents.map(({ value }) => value).filter((value) => isFields(value));
}

/** Looks at kind and name only: what else a target wants counts as met. */
function isTarget({ kind, metadata }: Fields, wants: Fields): boolean {
  return isLike(kind, wants["kind"]) && isLike(fieldsOf(metadata)["name"], wants["name"]);
}

/** Each field of a target is a pattern for the whole text. */
function isLike(text: unknown, pattern: unknown): boolean {
  if (typeof pattern !== "string" || pattern === "") return true;
  try {
    return RE2JS.compile(pattern).matches(String(text));
  } catch {
    return true;
  }
}
