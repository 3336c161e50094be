/** Finds objects that resemble HookPolicy's kinds but are not, and duplicates. */

import { GROUP, CRD_VERSION } from "../../api/hook-policy.ts";
import { clusterProblems, countsBeside, otherPlaces, type SourceError, unbuiltIn } from "./cluster-files.ts";
import { otherUIDs } from "./idle-overrides.ts";
import type { LoadedFiles } from "../files/load.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { found } from "../../lib/quoted-value.ts";
import { unexpected } from "../../policy/validation/field-message.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { groupOf, isHookTask, OWN_KINDS, ownKind, type RawObject, titleOf } from "./kinds.ts";
import { textErrors } from "./text-fields.ts";
import { SUITE_GROUP, SUITE_KIND } from "../suite/suite-schema.ts";
import { namespaceFindings } from "../validate/beyond-schema.ts";
import { type FileProblem, itemKind, type SourceObject } from "../files/parsed.ts";

/**
 * Reports HookPolicy's kinds in another group, and unknown kinds in its group, so that a misspelt policy is not ignored
 * as a foreign object.
 */
export function kindProblem(object: RawObject): FieldError | undefined {
  if (itemKind(object) !== undefined || isHookTask(object)) return undefined;
  const group = groupOf(object);
  const kind = String(object["kind"]);
  const own: Readonly<Record<string, readonly string[]>> = {
    [GROUP]: OWN_KINDS,
    [SUITE_GROUP]: [SUITE_KIND],
  };
  const expected = own[group];
  if (expected !== undefined && !expected.includes(kind)) {
    return { path: "kind", message: unexpected("found", kind, expected) };
  }
  const home = Object.keys(own).find((each) => own[each]?.includes(kind) === true);
  if (home === undefined || home === group) return undefined;
  const version = `${home}/${CRD_VERSION}`;
  return {
    path: "apiVersion",
    message: `found ${found(object["apiVersion"])}, expected ${version} for a ${kind}`,
  };
}

/** Problems that hide which kind of object is meant, in which namespace, or what it is like. `policies`: from elsewhere. */
export function objectProblems(
  { objects: sources, kustomizations = [] }: Pick<LoadedFiles, "objects" | "kustomizations">,
  policies: readonly RawObject[] = [],
): readonly FileProblem[] {
  const all = [...policies, ...sources.map(({ object }) => object)];
  const unbuilt = unbuiltIn(sources, kustomizations, countsBeside(all));
  const clusters = clusterProblems(sources, unbuilt, policies);
  const twice = otherPlaces(namedOwn(sources).filter((source) => !unbuilt.changed.has(source)));
  const uids = otherUIDs(sources, all);
  const single = sources.flatMap((source) => {
    const problem =
      kindProblem(source.object) ?? clusters.get(source) ?? twice.get(source) ?? uids.get(source);
    const problems = problem === undefined ? ownProblems(source.object) : [problem];
    return problems.map((each) => ({ source, ...each }));
  });
  return [...unbuilt.found, ...single].map((each) => problemAt(each.source, each));
}

function ownProblems(object: RawObject): readonly FieldError[] {
  const { errors } = namespaceFindings(object);
  return errors.length > 0 || ownKind(object) === undefined ? errors : textErrors(object);
}

export function objectWarnings(sources: readonly SourceObject[]): readonly FileProblem[] {
  const misplaced = sources.flatMap((source) =>
    namespaceFindings(source.object).warnings.map((warning) => ({ source, ...warning })),
  );
  return [...misplaced, ...repeated(sources)].map((each) => problemAt(each.source, each));
}

export function problemAt(source: SourceObject, { path, message }: FieldError): FileProblem {
  const { file } = source;
  return { file, ...source.position(path), message: path === "" ? message : `${path}: ${message}` };
}

/** Each object with the same name as an earlier one, with both positions. */
export function repeated(sources: readonly SourceObject[]): readonly SourceError[] {
  const first = new Map<string, SourceObject>();
  return namedOwn(sources).flatMap((source) => {
    const title = titleOf(source.object);
    const before = first.get(title);
    first.set(title, source);
    if (before === undefined) return [];
    const place = `${before.file}:${before.position("metadata.name").line}`;
    const message = `${title} is also at ${place}: this one counts, as if they were applied one after the other`;
    return [{ source, path: "metadata.name", id: "duplicate-object", message }];
  });
}

function namedOwn(sources: readonly SourceObject[]): readonly SourceObject[] {
  return sources.filter(
    ({ object }) => ownKind(object) !== undefined && viewMetadata(object["metadata"]).name !== "",
  );
}
