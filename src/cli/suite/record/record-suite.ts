/** `hookpolicy test --record`: writes a suite from the decisions of a running operator. */

import { writeFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { stringify } from "yaml";
import { messageOf } from "../../../lib/thrown.ts";
import { fieldsOf } from "../../../lib/fields.ts";
import { namespacedName } from "../../../lib/keys.ts";
import { viewMetadata } from "../../../views/cluster.ts";
import { CommandError, FAILED, USAGE } from "../../command.ts";
import { readText } from "../../files/paths.ts";
import { Fleet } from "../../fleet/fleet.ts";
import { isCluster, isNamespace, kindName, ownKind, policyKind, type RawObject } from "../../fleet/kinds.ts";
import { readAllObjects } from "../../fleet/object-files.ts";
import { stderr, stdout } from "../../terminal/output.ts";
import { suiteOptions } from "../begin.ts";
import { runSuite } from "../run-suite.ts";
import type { SuiteResult } from "../result.ts";
import { checkNames } from "../check-names.ts";
import type { ExpectSpec, StepSpec } from "../spec.gen.ts";
import { asNotBegun } from "../cluster-api.ts";
import { SuiteError } from "../suite-error.ts";
import { isMeantAsSuite, loadSuite } from "../suite.ts";
import { SUITE_API_VERSION, SUITE_KIND } from "../suite-schema.ts";
import { holdingRollout, type RecordedAnswer, readAuditLines, refusedRequest } from "./audit-lines.ts";
import { answerText, record } from "./recording.ts";
import { verify } from "./verify.ts";
import type { SourceObject } from "../../files/parsed.ts";

/**
 * `paths`: the policies, and the Clusters, Namespaces and objects as they were before. `log`: the audit log. `file`: a new
 * file for the suite; absent: standard output.
 */
export async function recordSuite(
  paths: readonly string[],
  log: string,
  file: string | undefined,
): Promise<void> {
  const read = await readText({ name: log, named: true }, {});
  if (!read.ok) throw new CommandError(USAGE, `${log}: ${read.message}`);
  const sources = (await readAllObjects(paths)).filter(({ object }) => !isMeantAsSuite(object));
  const { answers, others } = readAuditLines(read.text);
  const objects = asBefore(
    sources.map(({ object }) => object),
    answers,
  );
  const fleet = new Fleet(objects, {
    ...suiteOptions(),
    now: new Date(answers[0]?.time ?? 0),
    complete: true,
  });
  const meant = answers.filter((answer) => isOf(fleet, answer));
  const rollouts = objects.filter((object) => ownKind(object) === "HookRollout");
  const left = [
    [
      answers.length - meant.length,
      "lines about other Clusters than the given ones, or without spec.topology",
    ],
    [others, "lines that rest on no decision, such as NotConfirmed, or are neither answers nor refusals"],
    [rollouts.length, "HookRollouts, because the log does not tell which Clusters had a slot"],
  ] as const;
  for (const [count, what] of left) if (count > 0) stderr.line(`left out ${what} (${count})`);
  if (meant.length === 0) {
    throw new CommandError(
      USAGE,
      `${log} holds neither an answer nor a refusal about a Cluster of ${paths.join(", ")}`,
    );
  }
  const { at, asked, recorded } = record(meant, fleet, objects);
  const folder = dirname(file ?? "x");
  const suiteOf = (steps: readonly StepSpec[]): RawObject => ({
    apiVersion: SUITE_API_VERSION,
    kind: SUITE_KIND,
    metadata: { name: `recorded-${at.slice(0, 10)}` },
    spec: { at, ...sections(sources, objects, { fleet, meant }, folder), ...(asked && { asked }), steps },
  });
  const { steps, unrepeated } = await verify(
    recorded,
    async (each) => await run(suiteOf(each), folder),
    (expect) => nameProblem(expect, fleet),
  );
  for (const { answer, why } of unrepeated)
    stderr.line(`${answer.time} ${answerText(answer)} is not repeated: ${why}${rolloutText(answer)}`);
  if (steps.length === 0)
    throw new CommandError(FAILED, "no answer of the log is repeated: nothing is recorded");
  await put(stringify(suiteOf(steps), { version: "1.1", lineWidth: 0 }), file);
  if (unrepeated.length > 0) throw new CommandError(FAILED);
}

function rolloutText(answer: RecordedAnswer): string {
  const rollout = holdingRollout(answer);
  return rollout === "" ? "" : `: HookRollout ${rollout} held it`;
}

function nameProblem(expect: ExpectSpec, fleet: Fleet): string | undefined {
  try {
    checkNames(expect, fleet);
    return undefined;
  } catch (error) {
    if (error instanceof SuiteError) return error.message;
    throw error;
  }
}

function nameOf({ cluster }: RecordedAnswer): string {
  return namespacedName(cluster);
}

/** Gives Clusters without a uid that of the log, and removes what shows operations: the answers show when those began. */
function asBefore(objects: readonly RawObject[], answers: readonly RecordedAnswer[]): RawObject[] {
  const stored = answers.filter((answer) => refusedRequest(answer) !== "Create");
  const uids = new Map(stored.map((answer) => [nameOf(answer), answer.cluster.uid]));
  const creations = answers.filter(({ hook }) => hook === "BeforeClusterCreate");
  const isNew = new Set(creations.filter((answer) => refusedRequest(answer) === undefined).map(nameOf));
  return objects.map((object) => {
    const { managedFields: _managed, ...own } = fieldsOf(object["metadata"]);
    if (!isCluster(object)) return { ...object, metadata: own };
    const { deletionTimestamp: _deleted, ...metadata } = own;
    const key = keyOf(object);
    const uid = metadata["uid"] ?? uids.get(key);
    const known = { ...object, metadata: { ...metadata, ...(uid !== undefined && { uid }) } };
    return asNotBegun(known, !isNew.has(key));
  });
}

/** No Cluster has the uid of a refused creation. Admission is also about Clusters without a topology. */
function isOf(fleet: Fleet, answer: RecordedAnswer): boolean {
  const { namespace, name, uid } = answer.cluster;
  const cluster = fleet.cluster(namespace, name);
  const request = refusedRequest(answer);
  if (cluster === undefined || (request === undefined && cluster.topology === undefined)) return false;
  return request === "Create" || cluster.metadata.uid === uid;
}

/** Policies stay in their files, so that the suite tests their next version; other objects are copied as they were. */
function sections(
  sources: readonly SourceObject[],
  objects: readonly RawObject[],
  { fleet, meant }: { readonly fleet: Fleet; readonly meant: readonly RecordedAnswer[] },
  folder: string,
): object {
  const policies = sources.filter(({ object }) => policyKind(object) !== undefined);
  const files = new Set(policies.map(({ file }) => file).filter((file) => file !== "-"));
  const inline = policies.filter(({ file }) => file === "-").map(({ object }) => object);
  const clusters = new Set(meant.map(nameOf));
  const spaces = new Set(meant.map(({ cluster }) => cluster.namespace));
  const kinds = new Set(fleet.demands().map(({ kind }) => kindName(kind)));
  const isLookedAt = (object: RawObject): boolean => kinds.has(kindName(object));
  const namespaces = objects.filter((object) => isNamespace(object) && spaces.has(keyOf(object)));
  const others = objects.filter((object) => isLookedAt(object) && !isCluster(object) && !isNamespace(object));
  return {
    policies: [...[...files].map((file) => relative(folder, file)), ...inline],
    clusters: objects.filter(
      (object) => isCluster(object) && (clusters.has(keyOf(object)) || isLookedAt(object)),
    ),
    ...(namespaces.length > 0 && { namespaces }),
    ...(others.length > 0 && { objects: others }),
  };
}

/** A Cluster's namespace and name, or a Namespace's name. */
function keyOf(object: RawObject): string {
  const { namespace = "default", name } = viewMetadata(object["metadata"]);
  return isNamespace(object) ? name : namespacedName({ namespace, name });
}

const START = { line: 1, column: 1 };

async function run(object: RawObject, folder: string): Promise<SuiteResult> {
  const source = {
    file: resolve(folder, "recorded.yaml"),
    object,
    position: () => START,
    text: "",
    lines: () => [],
  };
  return await runSuite(await loadSuite(source));
}

async function put(text: string, file: string | undefined): Promise<void> {
  if (file === undefined) return stdout.document(text);
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    throw new CommandError(USAGE, `${file}: ${messageOf(error)}`);
  }
  stderr.line(`wrote ${file}`);
}
