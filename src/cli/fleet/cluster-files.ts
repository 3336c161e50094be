/** Finds objects in files that are not as a cluster would have them: parts, templates, and different ones of one name. */

import { normalize } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fieldsOf, listOf, nonEmptyText } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import { reachOf } from "../../policy/gates/gates.ts";
import { objectKindKey } from "../../policy/objects.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { changedFiles, changesOf, folderOf, type Kustomization } from "../files/kustomization.ts";
import type { SourceObject } from "../files/load.ts";
import { nameProblem, templateProblem } from "./object-names.ts";
import { textErrors } from "./text-fields.ts";
import { groupOf, isCluster, isNamespace, kindKeyOf, ownKind, type RawObject } from "./kinds.ts";

/**
 * A wrong Cluster makes a wrong all-clear: these are errors in each command that reads Clusters. So does a wrong object that
 * gates of these files, or of `policies` from elsewhere, look at.
 */
export function clusterProblems(
  sources: readonly SourceObject[],
  kustomizations: readonly Kustomization[],
  policies: readonly RawObject[] = [],
): ReadonlyMap<SourceObject, FieldError> {
  const changed = changedFiles(kustomizations);
  const kinds = kindsOfGates([...policies, ...sources.map(({ object }) => object)]);
  const counting = sources.filter(({ object }) => isPlace(object) || kinds.has(kindKeyOf(object)));
  const twice = otherPlaces(counting);
  const problems = new Map<SourceObject, FieldError>();
  for (const source of counting) {
    const { object, file } = source;
    const kustomization = changed.get(normalize(file));
    const problem =
      (isPlace(object) ? templateIn(object) : undefined) ??
      textErrors(object)[0] ??
      twice.get(source) ??
      (isCluster(object) ? partly(object, kustomization) : undefined);
    if (problem === undefined) continue;
    const advice = kustomization === undefined ? "" : `: ${buildFirst(kustomization)}`;
    problems.set(source, { ...problem, message: `${problem.message}${advice}` });
  }
  return problems;
}

/** Policies find it by its name. */
export function isPlace(object: RawObject): boolean {
  return isCluster(object) || isNamespace(object);
}

function buildFirst(kustomization: Kustomization): string {
  return `build it first, as in kubectl kustomize ${folderOf(kustomization)} | hookpolicy … -`;
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

/** The second of two different objects of one name, with the place of the first. */
function otherPlaces(sources: readonly SourceObject[]): ReadonlyMap<SourceObject, FieldError> {
  const first = new Map<string, SourceObject>();
  const found = new Map<SourceObject, FieldError>();
  for (const source of sources) {
    const { object } = source;
    const title = titleOf(object);
    const key = `${groupOf(object)} ${title}`;
    const before = first.get(key);
    if (before === undefined) first.set(key, source);
    else if (!isDeepStrictEqual(before.object, object)) {
      const place = `${before.file}:${before.position("metadata.name").line}`;
      const message = `${title} is also at ${place}, and differs, so that it is unknown which of them is meant`;
      found.set(source, { path: "metadata.name", message });
    }
  }
  return found;
}

/** "Cluster team-a/prod-1" */
function titleOf(object: RawObject): string {
  const { name, namespace } = viewMetadata(object["metadata"]);
  const place = isCluster(object) ? { namespace: namespace ?? "default" } : { namespace };
  return `${String(object["kind"])} ${namespacedName({ ...place, name })}`;
}

/** The kinds of objects that gates look at, by objectKindKey. */
function kindsOfGates(objects: readonly RawObject[]): ReadonlySet<string> {
  const specs = objects.filter((object) => ownKind(object) !== undefined).map(({ spec }) => fieldsOf(spec));
  const gates = specs
    .flatMap(({ rules, stages }) => [...listOf(rules), ...listOf(stages)])
    .flatMap((rule) => listOf(fieldsOf(rule)["until"]));
  return new Set(gates.flatMap(reachOf).map(({ kind }) => objectKindKey(kind)));
}

/** A Cluster that the API server would not accept, or that a kustomization changes. */
function partly({ spec }: RawObject, kustomization: Kustomization | undefined): FieldError | undefined {
  const { topology } = fieldsOf(spec);
  const { class: className, classRef } = fieldsOf(topology);
  const isWhole = nonEmptyText(className) ?? nonEmptyText(fieldsOf(classRef)["name"]);
  if (topology !== undefined && isWhole === undefined) {
    return {
      path: "spec.topology",
      message: "names no ClusterClass, so this is a part of a Cluster, such as a patch",
    };
  }
  if (kustomization === undefined) return undefined;
  const message = `is not the Cluster that is applied, because ${kustomization.file} changes it (${changesOf(kustomization)})`;
  return { path: "metadata.name", message };
}
