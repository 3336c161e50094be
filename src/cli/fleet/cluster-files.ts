/** Finds objects in files that are not as a cluster would have them: parts, templates, and different ones of one name. */

import { normalize } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fieldsOf, nonEmptyText } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { SourceObject } from "../files/load.ts";
import { nameProblem, templateProblem } from "./object-names.ts";
import { textErrors } from "./text-fields.ts";
import { groupOf, isCluster, kindKeyOf, type RawObject } from "./kinds.ts";
import { buildFirst, isPlace, kindsOfGates, type Unbuilt } from "./unbuilt.ts";

/**
 * A wrong Cluster makes a wrong all-clear: these are errors in each command that reads Clusters. So does a wrong object that
 * gates of these files, or of `policies` from elsewhere, look at.
 */
export function clusterProblems(
  sources: readonly SourceObject[],
  { changed, folders }: Unbuilt,
  policies: readonly RawObject[] = [],
): ReadonlyMap<SourceObject, FieldError> {
  const kinds = kindsOfGates([...policies, ...sources.map(({ object }) => object)]);
  const counting = sources
    .filter(({ object }) => isPlace(object) || kinds.has(kindKeyOf(object)))
    .filter((source) => !changed.has(source));
  const twice = otherPlaces(counting);
  const problems = new Map<SourceObject, FieldError>();
  for (const source of counting) {
    const { object, file } = source;
    const problem =
      (isPlace(object) ? templateIn(object) : undefined) ??
      textErrors(object)[0] ??
      twice.get(source) ??
      (isCluster(object) ? partly(object) : undefined);
    if (problem === undefined) continue;
    const folder = folders.get(normalize(file));
    const advice = folder === undefined ? "" : `: ${buildFirst(folder)}`;
    problems.set(source, { ...problem, message: `${problem.message}${advice}` });
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

/** A Cluster that the API server would not accept. */
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
