/** Finds what kustomizations change in the objects of files, so that the files are not what is applied. */

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
      // A label that one of them adds can be what a target of another selects.
      const marks = [...below].some((each) => MARKS.some((field) => field in each.object));
      const together = withBelow(kustomization, known, ["components"]);
      return {
        kustomization,
        files: new Set([...below].flatMap((each) => resourcesOf(each, known))),
        patches: new Set([...together].flatMap((each) => patchFilesOf(each))),
        changes: [...together].flatMap((each) => changesOf(each, known, marks)),
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

const MARKS = ["labels", "commonLabels", "commonAnnotations"];

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

/** `marks`: labels and annotations may be others than those of the file. */
function changesOf(each: SourceObject, known: SourceIndex, marks: boolean): readonly Change[] {
  const { object } = each;
  const patches = ["patches", "patchesStrategicMerge", "patchesJson6902", "replacements"];
  const unknown = textsOf(object["components"]).some((path) => !known.byFolder.has(pathFrom(each, path)));
  return [
    ...Object.entries(WHOLE)
      .filter(([field]) => field in object)
      .map(([field, hitsOf]) => ({ field, hits: hitsOf(object[field]) })),
    ...patches.flatMap((field) =>
      listOf(object[field]).map((patch) => ({ field, hits: patched(patch, { each, known, marks }) })),
    ),
    ...(unknown ? [{ field: "components", hits: EVERY }] : []),
  ];
}

/** What changes every object of a kind; transformers can do anything. */
const WHOLE: Readonly<Record<string, (value: unknown) => Change["hits"]>> = {
  namespace: (value) => (object) => {
    const { name, namespace } = fieldsOf(object["metadata"]);
    return (object["kind"] === "Namespace" ? name : namespace) !== value;
  },
  namePrefix: renamed,
  nameSuffix: renamed,
  labels: (value) => {
    const pairs = listOf(value).map((each) => fieldsOf(fieldsOf(each)["pairs"]));
    return (object) => pairs.some((each) => isMarked(object, "labels", each));
  },
  commonLabels: (value) => (object) => isMarked(object, "labels", fieldsOf(value)),
  commonAnnotations: (value) => (object) => isMarked(object, "annotations", fieldsOf(value)),
  transformers: () => EVERY,
  vars: () => (object) => JSON.stringify(object).includes("$("),
};

function renamed(value: unknown): Change["hits"] {
  return ({ kind }) => value !== "" && kind !== "Namespace";
}

function isMarked({ metadata }: Fields, field: "labels" | "annotations", marks: Fields): boolean {
  const there = fieldsOf(fieldsOf(metadata)[field]);
  return Object.entries(marks).some(([key, value]) => there[key] !== value);
}

interface From {
  readonly each: SourceObject;
  readonly known: SourceIndex;
  readonly marks: boolean;
}

/** What is not known of a patch could change everything. */
function patched(patch: unknown, from: From): Change["hits"] {
  const { target, targets, path, patch: text } = fieldsOf(patch);
  if (targets !== undefined) {
    const selects = listOf(targets).map((each) => fieldsOf(each)["select"]);
    return (object) => selects.some((select) => isSelected(object, select, from.marks));
  }
  if (target !== undefined) return (object) => isSelected(object, target, from.marks);
  const partial = partsIn(typeof patch === "string" ? patch : (text ?? path), from);
  if (partial.length === 0) return EVERY;
  return (object) => partial.some((part) => isTarget(object, part));
}

function partsIn(patch: unknown, { each, known }: From): readonly Fields[] {
  if (typeof patch !== "string") return [];
  const loaded = known.byFile.get(pathFrom(each, patch));
  if (loaded !== undefined) return loaded.map(({ object }) => object);
  const documents = patch.includes("\n") || patch.includes("{") ? parseYaml(patch).documents : [];
  return documents.map(({ value }) => value).filter((value) => isFields(value));
}

/** A strategic merge patch names one object; where it names no namespace, that of the object is unknown. */
function isTarget(object: Fields, part: Fields): boolean {
  const [is, wants] = [nameOf(object), nameOf(part)];
  return (
    is.group === wants.group &&
    is.kind === wants.kind &&
    is.name === wants.name &&
    (wants.namespace === undefined || wants.namespace === (is.namespace ?? "default"))
  );
}

/** `marks`: labels and annotations may be others than those of the file. A target that cannot be evaluated is met. */
function isSelected(object: Fields, target: unknown, marks: boolean): boolean {
  const is = nameOf(object);
  const { labelSelector, annotationSelector, ...wants } = fieldsOf(target);
  const { labels, annotations } = fieldsOf(object["metadata"]);
  return (
    isLike(is.group, wants["group"]) &&
    isLike(is.version, wants["version"]) &&
    isLike(is.kind, wants["kind"]) &&
    isLike(is.name, wants["name"]) &&
    isLike(is.namespace ?? "default", wants["namespace"]) &&
    (marks || (meetsSelector(labels, labelSelector) && meetsSelector(annotations, annotationSelector)))
  );
}

function nameOf({ apiVersion, kind, metadata }: Fields) {
  const [version = "", group = ""] = String(apiVersion).split("/").toReversed();
  const { name, namespace } = fieldsOf(metadata);
  return {
    group,
    version,
    kind: String(kind),
    name: String(name),
    namespace: typeof namespace === "string" ? namespace : undefined,
  };
}

/** Each field of a target is a pattern for the whole text. */
function isLike(text: string, pattern: unknown): boolean {
  if (typeof pattern !== "string" || pattern === "") return true;
  try {
    return RE2JS.compile(pattern).matches(text);
  } catch {
    return true;
  }
}

/** The selector of `kubectl get --selector`; sets (`in`, `notin`) count as met. */
function meetsSelector(marks: unknown, selector: unknown): boolean {
  if (typeof selector !== "string" || /[()]/.test(selector)) return true;
  const there = fieldsOf(marks);
  return selector
    .split(",")
    .map((each) => each.trim())
    .every((each) => {
      const [, not, key = "", operator, value = ""] =
        /^(!?)\s*([^\s=!]+)\s*(==?|!=)?\s*(.*)$/.exec(each) ?? [];
      if (operator === undefined) return key in there !== (not === "!");
      return (there[key] === value) === (operator !== "!=");
    });
}
