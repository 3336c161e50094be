/** `hookpolicy test --record`: a suite of what a running operator decided. */

import { writeFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { stringify } from "yaml";
import { fieldsOf } from "../../../api/fields.ts";
import { GROUP } from "../../../api/hookpolicy.ts";
import { servedHooks } from "../../../api/hookcatalog.ts";
import { viewMetadata } from "../../../policy/cluster.ts";
import { CommandError, FAILED, USAGE } from "../../command.ts";
import { loadPaths, type SourceObject } from "../../files/load.ts";
import { readText } from "../../files/read.ts";
import { createFleet, type Fleet } from "../../fleet/fleet.ts";
import { groupOf, isCluster, isNamespace, policyKind, type RawObject } from "../../fleet/kinds.ts";
import { readAllObjects } from "../../fleet/objectfiles.ts";
import { stderr, stdout } from "../../terminal/output.ts";
import { DEFAULT_CAPI_MINOR, MAX_OVERRIDE_MS } from "../begin.ts";
import { runSuite } from "../runsuite.ts";
import type { SuiteResult } from "../result.ts";
import type { StepSpec } from "../spec.ts";
import { isSuite, loadSuite } from "../suite.ts";
import { SUITE_API_VERSION, SUITE_KIND } from "../suiteschema.ts";
import { type Answered, readAuditLines } from "./auditlines.ts";
import { record } from "./recording.ts";
import { verify } from "./verify.ts";

export interface RecordFlags {
  /** The audit log. */
  readonly record: string;
  /** Absent: standard output. */
  readonly write?: string;
}

/** `paths`: the policies, and the Clusters, Namespaces and objects as they were before. */
export async function recordSuite(
  paths: readonly string[],
  { record: log, write }: RecordFlags,
): Promise<void> {
  const read = await readText({ name: log, named: true }, {});
  if (!read.ok) throw new CommandError(USAGE, `${log}: ${read.message}`);
  const sources = (await readAllObjects(paths)).filter(({ object }) => !isSuite(object));
  const { answers, undecided, others } = readAuditLines(read.text);
  const objects = asBefore(
    sources.map(({ object }) => object),
    answers,
  );
  const fleet = createFleet(objects, {
    served: servedHooks(DEFAULT_CAPI_MINOR),
    maxOverrideMs: MAX_OVERRIDE_MS,
    now: new Date(answers[0]?.time ?? 0),
    complete: true,
  });
  const meant = answers.filter((answer) => isOf(fleet, answer));
  tellLeftOut({ undecided, others, foreign: answers.length - meant.length });
  if (meant.length === 0) {
    throw new CommandError(USAGE, `${log} holds no answer about a Cluster of ${paths.join(", ")}`);
  }
  const { spec, answers: kept } = record(meant, fleet, objects);
  const folder = dirname(write ?? "x");
  const suiteOf = (steps: readonly StepSpec[]): RawObject => ({
    apiVersion: SUITE_API_VERSION,
    kind: SUITE_KIND,
    metadata: { name: `recorded-${spec.at.slice(0, 10)}` },
    spec: { at: spec.at, ...sections(sources, objects, folder), ...withoutSteps(spec), steps },
  });
  const { steps, unrepeated } = await verify(
    spec.steps,
    kept,
    async (each) => await run(suiteOf(each), folder),
  );
  for (const { answer, why } of unrepeated)
    stderr.line(`${answer.time} ${answer.hook} ${nameOf(answer)} is not repeated: ${why}`);
  if (steps.length === 0)
    throw new CommandError(FAILED, "no answer of the log is repeated: nothing is recorded");
  await put(stringify(suiteOf(steps), { version: "1.1", lineWidth: 0 }), write);
  if (unrepeated.length > 0) throw new CommandError(FAILED);
}

function withoutSteps({
  steps: _,
  at: _at,
  ...rest
}: {
  readonly steps: unknown;
  readonly at: string;
}): object {
  return rest;
}

function nameOf({ cluster: { namespace, name } }: Answered): string {
  return `${namespace}/${name}`;
}

/** A Cluster of Git has the uid of the log. It is not deleted yet: the answers tell when it is. */
function asBefore(objects: readonly RawObject[], answers: readonly Answered[]): RawObject[] {
  const uids = new Map(answers.map((answer) => [nameOf(answer), answer.cluster.uid]));
  return objects.map((object) => {
    const { managedFields: _managed, ...own } = fieldsOf(object["metadata"]);
    if (!isCluster(object)) return { ...object, metadata: own };
    const { deletionTimestamp: _deleted, ...metadata } = own;
    const { namespace = "default", name } = viewMetadata(metadata);
    const uid = metadata["uid"] ?? uids.get(`${namespace}/${name}`);
    return { ...object, metadata: { ...metadata, ...(uid !== undefined && { uid }) } };
  });
}

function isOf(fleet: Fleet, { cluster: { namespace, name, uid } }: Answered): boolean {
  return fleet.cluster(namespace, name)?.metadata.uid === uid;
}

function tellLeftOut(left: {
  readonly undecided: number;
  readonly others: number;
  readonly foreign: number;
}): void {
  const told = [
    [left.foreign, "about other Clusters than the given ones"],
    [left.undecided, "that rest on no decision, such as NotConfirmed"],
    [left.others, "that are no answers"],
  ] as const;
  for (const [count, which] of told) if (count > 0) stderr.line(`left out ${count} of the lines: ${which}`);
}

/** Policies stay in their files, so that the suite tests their next version; the rest is kept as it was. */
function sections(sources: readonly SourceObject[], objects: readonly RawObject[], folder: string): object {
  const policies = sources.filter(({ object }) => policyKind(object) !== undefined);
  const files = new Set(policies.map(({ file }) => file).filter((file) => file !== "-"));
  const inline = policies.filter(({ file }) => file === "-").map(({ object }) => object);
  const others = objects.filter(
    (object) => groupOf(object) !== GROUP && !isCluster(object) && !isNamespace(object),
  );
  const namespaces = objects.filter(isNamespace);
  return {
    policies: [...[...files].map((file) => relative(folder, file)), ...inline],
    clusters: objects.filter(isCluster),
    ...(namespaces.length > 0 && { namespaces }),
    ...(others.length > 0 && { objects: others }),
  };
}

const START = { line: 1, column: 1 };

async function run(object: RawObject, folder: string): Promise<SuiteResult> {
  const source = {
    file: resolve(folder, "recorded.yaml"),
    document: 1,
    object,
    position: () => START,
    lines: [],
  };
  return runSuite(await loadSuite(source, async (files) => await loadPaths(files, { cwd: folder })));
}

async function put(text: string, file: string | undefined): Promise<void> {
  if (file === undefined) return stdout.document(text);
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    throw new CommandError(USAGE, `${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  stderr.line(`wrote ${file}`);
}
