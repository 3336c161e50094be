/** Finds objects in files that are not as a cluster would have them: parts, templates, different ones of one name, or changed by a kustomization. */

import { normalize } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fieldsOf, nonEmptyText } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { type FieldError, storedSpec } from "../../policy/validation/schema.ts";
import { nameProblem, templateProblem, textErrors } from "./text-fields.ts";
import { identityOf, isCluster, isNamespace, kindName, ownKind, type RawObject, titleOf } from "./kinds.ts";
import { counted } from "../../lib/counted.ts";
import { firstNames } from "../../lib/first-names.ts";
import { gatesIn, reachOf } from "../../policy/gates/gates.ts";
import { type Build, buildsOf, folderOf } from "../files/kustomization.ts";
import type { SourceObject } from "../files/parsed.ts";

/**
 * A wrong Cluster makes a wrong all-clear: these are errors in each command that reads Clusters. So does a wrong object that
 * gates of these files, or of `policies` from elsewhere, look at.
 */
export function clusterProblems(
  sources: readonly SourceObject[],
  { changed }: Pick<UnbuiltFiles, "changed">,
  policies: readonly RawObject[] = [],
): ReadonlyMap<SourceObject, FieldError> {
  const kinds = kindsOfGates([...policies, ...sources.map(({ object }) => object)]);
  const counting = sources
    .filter(({ object }) => isPlace(object) || kinds.has(kindName(object)))
    .filter((source) => !changed.has(source));
  const twice = otherPlaces(counting);
  const problems = new Map<SourceObject, FieldError>();
  for (const source of counting) {
    const { object } = source;
    const problem =
      (isPlace(object) ? templateIn(object) : undefined) ??
      textErrors(object)[0] ??
      twice.get(source) ??
      (isCluster(object) ? partly(object) : undefined);
    if (problem !== undefined) problems.set(source, problem);
  }
  return problems;
}

function templateIn({ metadata, spec }: RawObject): FieldError | undefined {
  const { name, namespace, labels } = fieldsOf(metadata);
  const { version } = fieldsOf(fieldsOf(spec)["topology"]);
  const named = nameProblem(name, "an object", 253);
  if (named !== undefined) return { path: "metadata.name", message: named };
  const place = namespace === undefined ? undefined : nameProblem(namespace, "a namespace", 63);
  if (place !== undefined) return { path: "metadata.namespace", message: place };
  const values = Object.entries(fieldsOf(labels)).map(
    ([key, value]) => [`metadata.labels[${key}]`, value] as const,
  );
  for (const [path, value] of [...values, ["spec.topology.version", version] as const]) {
    const message = templateProblem(value);
    if (message !== undefined) return { path, message };
  }
  return undefined;
}

/** The second of two different objects of one name, with the place of the first. HookPolicy's own differ by their specs. */
export function otherPlaces(sources: readonly SourceObject[]): ReadonlyMap<SourceObject, FieldError> {
  const first = new Map<string, SourceObject>();
  const found = new Map<SourceObject, FieldError>();
  for (const source of sources) {
    const { object } = source;
    const key = identityOf(object);
    const before = first.get(key);
    if (before === undefined) first.set(key, source);
    else if (!isDeepStrictEqual(whatCounts(before.object), whatCounts(object))) {
      const place = `${before.file}:${before.position("metadata.name").line}`;
      const message = `${titleOf(object)} is also at ${place}, and differs, so that it is unknown which of them is meant: name the folder of one management cluster`;
      found.set(source, { path: "metadata.name", message });
    }
  }
  return found;
}

function whatCounts(object: RawObject): unknown {
  const kind = ownKind(object);
  return kind === undefined ? object : storedSpec(kind, object["spec"]);
}

function partly({ spec }: RawObject): FieldError | undefined {
  const { topology } = fieldsOf(spec);
  const { class: className, classRef } = fieldsOf(topology);
  const isWhole = nonEmptyText(className) ?? nonEmptyText(fieldsOf(classRef)["name"]);
  if (topology === undefined || isWhole !== undefined) return undefined;
  return {
    path: "spec.topology",
    message: "names no ClusterClass, so this is a part of a Cluster, such as a patch",
  };
}

/** Of an object, or of a kustomization, in a file. */
export interface SourceError extends FieldError {
  readonly source: SourceObject;
}

export interface UnbuiltFiles {
  /** At the first field of a kustomization that changes something. */
  readonly found: readonly SourceError[];
  /** What is changed, or is a patch itself. */
  readonly changed: ReadonlySet<SourceObject>;
  /** They need not be valid by themselves. */
  readonly patches: ReadonlySet<SourceObject>;
}

/** A loosening patch that is overlooked makes a wrong all-clear. `counts`: the objects that the command decides with. */
export function unbuiltIn(
  sources: readonly SourceObject[],
  kustomizations: readonly SourceObject[] = [],
  counts = countsBeside(sources.map(({ object }) => object)),
): UnbuiltFiles {
  if (kustomizations.length === 0) return { found: [], changed: new Set(), patches: new Set() };
  const counting = sources.filter(({ object }) => counts(object));
  const builds = buildsOf(kustomizations, sources);
  const hits = builds
    .map((build) => ({ build, objects: counting.filter((source) => isChanged(build, source)) }))
    .filter(({ objects }) => objects.length > 0);
  return {
    found: hits.map(({ build, objects }) => told(build, objects)),
    changed: new Set(hits.flatMap(({ objects }) => objects)),
    patches: new Set(sources.filter((source) => isPatchAlone(source, builds))),
  };
}

/** Places, objects of HookPolicy, and what the gates of these policies and rollouts look at. */
export function countsBeside(all: readonly RawObject[]): (object: RawObject) => boolean {
  const kinds = kindsOfGates(all);
  return (object) => isPlace(object) || ownKind(object) !== undefined || kinds.has(kindName(object));
}

/** Policies find it by its name. */
export function isPlace(object: RawObject): boolean {
  return isCluster(object) || isNamespace(object);
}

function kindsOfGates(objects: readonly RawObject[]): ReadonlySet<string> {
  const gates = objects
    .filter((object) => ownKind(object) !== undefined)
    .flatMap(({ spec }) => gatesIn(spec));
  return new Set(gates.flatMap(({ value }) => reachOf(value)).map(({ kind }) => kindName(kind)));
}

/** What is also a resource is applied as it is. */
function isPatchAlone({ file }: SourceObject, builds: readonly Build[]): boolean {
  const path = normalize(file);
  return builds.some(({ patches }) => patches.has(path)) && !builds.some(({ files }) => files.has(path));
}

function isChanged({ files, patches, changes }: Build, { file, object }: SourceObject): boolean {
  if (patches.has(normalize(file))) return true;
  return files.has(normalize(file)) && changes.some((change) => isHit(change, object));
}

function isHit({ field, hits }: Build["changes"][number], object: RawObject): boolean {
  return matters(field, object) && hits(object);
}

/** Labels and annotations of a policy decide nothing, and only a HookPolicy of ours is in a namespace. */
function matters(field: string, object: RawObject): boolean {
  const kind = ownKind(object);
  if (kind === undefined) return true;
  if (field === "namespace") return kind === "HookPolicy";
  return !["labels", "commonLabels", "commonAnnotations"].includes(field);
}

function told({ kustomization, changes }: Build, objects: readonly SourceObject[]): SourceError {
  const byKind = Map.groupBy(objects, ({ object }) => String(object["kind"]));
  const what = [...byKind].map(([kind, each]) => {
    const names = [...new Set(each.map(({ object }) => namespacedName(viewMetadata(object["metadata"]))))];
    return `${counted(names.length, kind)} (${firstNames(names, 3)})`;
  });
  const first = changes.find((change) => objects.some(({ object }) => isHit(change, object))) ?? changes[0];
  const advice = `build it first, and use the output: kubectl kustomize ${folderOf(kustomization)}`;
  const message = `can change ${what.join(", ")}, so that the files are not what is applied: ${advice}`;
  return { source: kustomization, path: first?.field ?? "", id: "not-built", message };
}
