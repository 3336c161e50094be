/** Objects in files that a kustomization changes, so that they are not what is applied. */

import { normalize } from "node:path";
import { counted } from "../../lib/counted.ts";
import { firstNames } from "../../lib/first-names.ts";
import { namespacedName } from "../../lib/keys.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import { gatesIn, reachOf } from "../../policy/gates/gates.ts";
import { objectKindKey } from "../../policy/objects.ts";
import { type Build, buildsOf, folderOf, type Kustomization } from "../files/kustomization.ts";
import type { SourceObject } from "../files/load.ts";
import { isCluster, isNamespace, kindKeyOf, ownKind, type RawObject } from "./kinds.ts";

/** A kustomization that changes objects of the files. */
export interface UnbuiltFolder {
  readonly source: Kustomization;
  /** The first field of it that does. */
  readonly path: string;
  readonly message: string;
}

export interface Unbuilt {
  readonly found: readonly UnbuiltFolder[];
  /** What is changed, or is a patch itself. */
  readonly changed: ReadonlySet<SourceObject>;
  /** By the normalised path of a file: the folder whose build has it, changed or not. */
  readonly folders: ReadonlyMap<string, string>;
}

/** A loosening patch that is overlooked makes a wrong all-clear. `counts`: the objects that the command decides with. */
export function unbuiltIn(
  sources: readonly SourceObject[],
  kustomizations: readonly Kustomization[] = [],
  counts = countsBeside(sources.map(({ object }) => object)),
): Unbuilt {
  if (kustomizations.length === 0) return { found: [], changed: new Set(), folders: new Map() };
  const counting = sources.filter(({ object }) => counts(object));
  const builds = buildsOf(kustomizations, sources);
  const hits = builds.map((build) => ({ build, ...hitsOf(build, counting) }));
  return {
    found: hits.flatMap(({ build, fields, objects }) =>
      objects.length === 0 ? [] : [told(build, fields, objects)],
    ),
    changed: new Set(hits.flatMap(({ objects }) => objects)),
    folders: new Map(
      builds
        .flatMap(({ kustomization, files, patches }) =>
          [...files, ...patches].map((file): [string, string] => [file, folderOf(kustomization)]),
        )
        .toReversed(),
    ),
  };
}

/** Places, objects of HookPolicy, and what the gates of these policies and rollouts look at. */
export function countsBeside(all: readonly RawObject[]): (object: RawObject) => boolean {
  const kinds = kindsOfGates(all);
  return (object) => isPlace(object) || ownKind(object) !== undefined || kinds.has(kindKeyOf(object));
}

export function buildFirst(folder: string): string {
  return `build it first, as in kubectl kustomize ${folder} | hookpolicy … -`;
}

/** Policies find it by its name. */
export function isPlace(object: RawObject): boolean {
  return isCluster(object) || isNamespace(object);
}

/** The kinds of objects that gates look at, by objectKindKey. */
export function kindsOfGates(objects: readonly RawObject[]): ReadonlySet<string> {
  const gates = objects
    .filter((object) => ownKind(object) !== undefined)
    .flatMap(({ spec }) => gatesIn(spec));
  return new Set(gates.flatMap(({ value }) => reachOf(value)).map(({ kind }) => objectKindKey(kind)));
}

interface Hits {
  readonly fields: readonly string[];
  readonly objects: readonly SourceObject[];
}

function hitsOf({ files, patches, changes }: Build, counting: readonly SourceObject[]): Hits {
  const fields = new Set<string>();
  const objects = counting.filter(({ file, object }) => {
    if (patches.has(normalize(file))) return true;
    if (!files.has(normalize(file))) return false;
    const all = changes.filter(({ field, hits }) => matters(field, object) && hits(object));
    for (const { field } of all) fields.add(field);
    return all.length > 0;
  });
  return { fields: fields.size > 0 ? [...fields] : [...new Set(changes.map(({ field }) => field))], objects };
}

/** Labels and annotations of a policy decide nothing, and only a HookPolicy of ours is in a namespace. */
function matters(field: string, object: RawObject): boolean {
  const kind = ownKind(object);
  if (kind === undefined) return true;
  if (field === "namespace") return kind === "HookPolicy";
  return !["labels", "commonLabels", "commonAnnotations"].includes(field);
}

function told(
  { kustomization }: Build,
  fields: readonly string[],
  objects: readonly SourceObject[],
): UnbuiltFolder {
  const byKind = Map.groupBy(objects, ({ object }) => String(object["kind"]));
  const what = [...byKind].map(([kind, each]) => {
    const names = [...new Set(each.map(({ object }) => namespacedName(viewMetadata(object["metadata"]))))];
    return `${counted(names.length, kind)} (${firstNames(names, 3)})`;
  });
  const [path = "", ...others] = fields;
  const together = others.length === 0 ? "" : `, together with ${others.join(" and ")}`;
  const message = `changes ${what.join(", ")}${together}, so that the files are not what is applied`;
  return { source: kustomization, path, message: `${message}: ${buildFirst(folderOf(kustomization))}` };
}
