/** Loads a HookPolicyTest with the files that it names. */

import { dirname, isAbsolute, join } from "node:path";
import { fieldsOf, nonEmptyText } from "../../lib/fields.ts";
import { GROUP } from "../../api/hook-policy.ts";
import { loadPaths } from "../files/load.ts";
import { groupOf, isCluster, isNamespace, ownKind, policyKind, type RawObject } from "../fleet/kinds.ts";
import { textErrors } from "../fleet/text-fields.ts";
import { clusterProblems, isPlace, unbuiltIn } from "../fleet/cluster-files.ts";
import { problemAt } from "../fleet/object-problems.ts";
import { checkSuite } from "./suite-check.ts";
import { SUITE_GROUP, SUITE_KIND } from "./suite-schema.ts";
import type { SuiteSpec } from "./spec.gen.ts";
import type { Sources } from "./spec.ts";
import type { FileProblem, SourceObject } from "../files/parsed.ts";

/** A valid suite with its objects. */
export interface Suite {
  /** metadata.name; of an invalid suite without one, the kind. */
  readonly name: string;
  readonly source: SourceObject;
  readonly spec: SuiteSpec;
  /** The objects of all sections. */
  readonly objects: readonly RawObject[];
  /** The objects that each step creates. */
  readonly created: readonly (readonly RawObject[])[];
  /** Where each object comes from. */
  readonly places: ReadonlyMap<RawObject, FilePlace>;
}

/** The position of an object, in its own file or in that of the suite. */
export type FilePlace = Pick<SourceObject, "file" | "position">;

export interface LoadedSuite extends Pick<Suite, "name" | "source"> {
  /** Absent: the suite is invalid. */
  readonly suite?: Suite;
  /** The errors in the suite, and the problems with the files that it names. */
  readonly problems: readonly FileProblem[];
}

/** Whether the object is meant as a suite: an unknown version of the kind is an error, and not ignored. */
export function isMeantAsSuite(object: RawObject): boolean {
  return object["kind"] === SUITE_KIND || groupOf(object) === SUITE_GROUP;
}

export async function loadSuite(source: SourceObject): Promise<LoadedSuite> {
  const checked = checkSuite(source.object);
  if ("errors" in checked) {
    const problems = checked.errors.map((error) => problemAt(source, error));
    const named = nonEmptyText(fieldsOf(source.object["metadata"])["name"]);
    return { name: named ?? SUITE_KIND, source, problems };
  }
  const { metadata, spec } = checked.suite;
  const loading = new SuiteLoader(source);
  const objects: RawObject[] = [];
  for (const { section, ...belongs } of SECTIONS) {
    objects.push(...(await loading.read(spec[section] ?? [], `spec.${section}`, belongs)));
  }
  const created: (readonly RawObject[])[] = [];
  for (const [index, { create = [], patch = [] }] of spec.steps.entries()) {
    created.push(await loading.read(create, `spec.steps[${index}].create`, ANYTHING));
    for (const [at, each] of patch.entries()) loading.check(each, `spec.steps[${index}].patch[${at}]`);
  }
  const { places, problems } = loading;
  const { name } = metadata;
  const suite = { name, source, spec, objects, created, places };
  return { name, source, problems, ...(problems.length === 0 && { suite }) };
}

/** The objects that a section accepts; a file may contain others. */
interface Belongs {
  readonly what: string;
  readonly is: (object: RawObject) => boolean;
}

const SECTIONS = [
  {
    section: "policies",
    what: "HookPolicy or ClusterHookPolicy; HookRollouts belong in spec.rollouts",
    is: (object) => policyKind(object) !== undefined,
  },
  { section: "rollouts", what: "HookRollout", is: (object) => ownKind(object) === "HookRollout" },
  { section: "clusters", what: "Cluster", is: isCluster },
  { section: "namespaces", what: "Namespace", is: isNamespace },
  {
    section: "objects",
    what: "object that a gate could look at",
    is: (object) => groupOf(object) !== GROUP && !isMeantAsSuite(object),
  },
  { section: "overrides", what: "HookOverride", is: (object) => ownKind(object) === "HookOverride" },
] as const satisfies readonly (Belongs & { readonly section: keyof SuiteSpec })[];
const ANYTHING: Belongs = { what: "object", is: (object) => !isMeantAsSuite(object) };

class SuiteLoader {
  readonly problems: FileProblem[] = [];
  readonly places = new Map<RawObject, FilePlace>();
  /** The Clusters and Namespaces of all files. */
  readonly #places: SourceObject[] = [];
  readonly #suite: SourceObject;

  constructor(suite: SourceObject) {
    this.#suite = suite;
  }

  async read(sources: Sources, path: string, belongs: Belongs): Promise<RawObject[]> {
    const objects: RawObject[] = [];
    for (const [index, source] of sources.entries()) {
      const at = `${path}[${index}]`;
      if (typeof source === "string") objects.push(...(await this.#files(source, at, belongs)));
      else if (belongs.is(source)) {
        const { file } = this.#suite;
        this.places.set(source, {
          file,
          position: (inner, of) => this.#suite.position(`${at}.${inner}`, of),
        });
        this.check(source, at);
        objects.push(source);
      } else this.#wrong(`${at}.kind`, `found ${describeKind(source)}, expected a ${belongs.what}`);
    }
    return objects;
  }

  /** An object, or a part of one, that the suite itself contains. */
  check(object: RawObject, at: string): void {
    for (const { path, message } of textErrors(object)) this.#wrong(`${at}.${path}`, message);
  }

  #wrong(path: string, message: string): void {
    this.problems.push(problemAt(this.#suite, { path, message }));
  }

  /** Paths in a suite are relative to its folder. */
  async #load(path: string) {
    const cwd = dirname(this.#suite.file);
    const { objects, problems, kustomizations } = await loadPaths([path], { cwd });
    const fromHere = <T extends { readonly file: string }>(each: T): T => {
      return { ...each, file: isAbsolute(each.file) ? each.file : join(cwd, each.file) };
    };
    return {
      objects: objects.map(fromHere),
      problems: problems.map(fromHere),
      kustomizations: kustomizations.map(fromHere),
    };
  }

  async #files(file: string, path: string, { what, is }: Belongs): Promise<RawObject[]> {
    const { objects, problems, kustomizations } = await this.#load(file);
    const own = objects.filter(({ object }) => is(object));
    const unbuilt = unbuiltIn(objects, kustomizations, is);
    this.#places.push(...own.filter(({ object }) => isPlace(object)));
    const unclear = clusterProblems(this.#places, unbuilt);
    const wrong = own.flatMap((source) => {
      const texts = textErrors(source.object);
      const problem = unclear.get(source);
      const found = texts.length === 0 && problem !== undefined ? [problem] : texts;
      return found.map((each) => problemAt(source, each));
    });
    const changed = unbuilt.found.map((each) => problemAt(each.source, each));
    this.problems.push(...problems, ...changed, ...wrong);
    const found = own.map(({ object }) => object);
    for (const source of objects) this.places.set(source.object, source);
    // A path without objects would let a test pass that tests nothing.
    if (found.length === 0 && problems.length === 0)
      this.#wrong(path, `${JSON.stringify(file)} holds no ${what}`);
    return found;
  }
}

function describeKind({ apiVersion, kind }: RawObject): string {
  if (typeof kind !== "string" || typeof apiVersion !== "string")
    return "an object without apiVersion and kind";
  return `${apiVersion} ${kind}`;
}
