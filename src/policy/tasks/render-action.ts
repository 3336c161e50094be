/** The HookTask of a task for one Cluster: its template without expressions, completed and checked. */

import type { HookTaskSpec, TaskAccount, TaskAction } from "../../api/hook-policy.ts";
import { DNS_LABEL, isObjectName, LABEL_LETTERS } from "../../lib/dns-names.ts";
import { type Fields, fieldsOf, isFields, withoutNulls } from "../../lib/fields.ts";
import { byteLength } from "../../lib/truncate.ts";
import type { ExpressionVariables } from "../cel/view.ts";
import type { CompiledPolicy } from "../policy.ts";
import type { PolicyRef } from "../policy-ref.ts";
import type { Situation } from "../world.ts";
import type { CompiledTask } from "./compile-task.ts";
import { readablePart, renderedHash, type TaskIdentity, taskName } from "./task-identity.ts";
import type { TaskIntent } from "./task-trace.ts";
import type { RenderResult } from "./template.ts";
import { metadataProblems } from "./template-metadata.ts";

type Failure = Extract<RenderResult, { ok: false }>;

export type RenderedAction = { readonly ok: true; readonly action: TaskAction } | Failure;

interface Owner {
  readonly policy: PolicyRef;
  readonly account: TaskAccount;
}

/** What would be stored for a run of the task, or why nothing can be. */
export function renderIntent(
  task: CompiledTask,
  { ref, account }: Pick<CompiledPolicy, "ref" | "account">,
  identity: TaskIdentity,
  { world: { cluster, namespace }, call, now }: Situation,
): { readonly ok: true; readonly intent: TaskIntent } | Failure {
  if (account === undefined) return fails("its policy names no ServiceAccount");
  const rendered = renderAction(task, { policy: ref, account }, { cluster, namespace, call, now });
  if (!rendered.ok) return rendered;
  const { action } = rendered;
  const { succeeded, failed, timeout, retries } = task;
  const { fromKubernetesVersion, toKubernetesVersion, kubernetesVersion } = call;
  const request = {
    ...(fromKubernetesVersion !== undefined && { fromKubernetesVersion }),
    ...(toKubernetesVersion !== undefined && { toKubernetesVersion }),
    ...(kubernetesVersion !== undefined && { kubernetesVersion }),
  };
  const spec: HookTaskSpec = {
    ...identity,
    serviceAccountName: account.name,
    ...(Object.keys(request).length > 0 && { request }),
    action,
    renderedHash: renderedHash(action),
    ...(succeeded !== undefined && { succeeded }),
    ...(failed !== undefined && { failed }),
    timeout,
    retries,
  };
  return { ok: true, intent: { name: taskName(identity), namespace: account.namespace, task, spec } };
}

const MAX_RENDERED_BYTES = 64 * 1024;
/** An attempt adds '-' and ten characters. */
const PREFIX_LETTERS = LABEL_LETTERS - 11;

export function renderAction(
  task: CompiledTask,
  owner: Owner,
  variables: ExpressionVariables,
): RenderedAction {
  const { verb, template, ownedByCluster } = task.action;
  const rendered = template.render(variables);
  if (!rendered.ok) return rendered;
  if (byteLength(JSON.stringify(rendered.value)) > MAX_RENDERED_BYTES)
    return fails(`with its values it has more than ${MAX_RENDERED_BYTES / 1024} KiB`);
  // As it will be read again, because its hash has to stay the same.
  const value = withoutNulls(rendered.value);
  const done = verb === "delete" ? deletionOf(value, owner) : objectOf(value, task, owner);
  if (!done.ok) return done;
  const { namespace } = fieldsOf(done.value["metadata"]);
  if (ownedByCluster === true && namespace !== variables.cluster.metadata.namespace)
    return fails(
      `ownedByCluster: the object is in namespace ${String(namespace)}, the Cluster is not: ${BESIDE_IT}`,
    );
  const action: TaskAction = { [verb]: done.value, ...(ownedByCluster === true && { ownedByCluster }) };
  return { ok: true, action };
}

/** The garbage collector takes an owner in another namespace for absent, and deletes the object. */
export const BESIDE_IT =
  "set metadata.namespace: << cluster.metadata.namespace >>, or remove ownedByCluster (a Cluster cannot own an object of a kind without namespaces)";

function fails(problem: string): Failure {
  return { ok: false, problem };
}

function objectOf(object: Fields, task: CompiledTask, owner: Owner): RenderResult {
  const metadata = object["metadata"] ?? {};
  if (!isFields(metadata)) return fails("metadata: it is no object");
  const { action } = task;
  const name = action.verb === "create" ? prefixOf(metadata["name"] ?? task.name) : metadata["name"];
  if (!isObjectName(name)) return fails(`metadata.name: ${NO_NAME}`);
  const namespace = namespaceOf(metadata["namespace"], owner);
  if (namespace === undefined) return fails(notThere("metadata.namespace", owner));
  const [problem] = metadataProblems(metadata, action.ownedByCluster === true);
  if (problem !== undefined) return fails(`metadata.${problem.path}: ${problem.message}`);
  return {
    ok: true,
    value: withTimeout({ ...object, metadata: { ...metadata, name, namespace } }, task.timeoutMs),
  };
}

/** Names are shorter where they get a suffix. Dots become dashes: a Job's name is also a label. */
function prefixOf(name: unknown): string | undefined {
  return typeof name === "string" ? readablePart(name, PREFIX_LETTERS) : undefined;
}

const NO_NAME = "it gives no name of an object, which has 1 to 253 characters, none of them / or %";

/** A HookPolicy reaches its own namespace alone, whatever the API server has stored. */
function namespaceOf(given: unknown, { policy, account }: Owner): string | undefined {
  const namespace = given ?? account.namespace;
  if (typeof namespace !== "string" || namespace.length > LABEL_LETTERS || !DNS_LABEL.test(namespace))
    return undefined;
  return policy.kind === "ClusterHookPolicy" || namespace === policy.namespace ? namespace : undefined;
}

function notThere(path: string, { policy }: Owner): string {
  return policy.kind === "HookPolicy"
    ? `${path}: a HookPolicy's tasks stay in its own namespace`
    : `${path}: it gives no name of a namespace`;
}

/** Without a limit of its own, a Job would run on after the task has given up. */
function withTimeout(object: Fields, timeoutMs: number): Fields {
  const spec = object["spec"];
  const isJob = object["apiVersion"] === "batch/v1" && object["kind"] === "Job";
  if (!isJob || !isFields(spec) || spec["activeDeadlineSeconds"] !== undefined) return object;
  return { ...object, spec: { ...spec, activeDeadlineSeconds: Math.ceil(timeoutMs / 1000) } };
}

function deletionOf(deletion: Fields, owner: Owner): RenderResult {
  const { apiVersion, kind, name, selector } = deletion;
  const namespace = namespaceOf(deletion["namespace"], owner);
  if (namespace === undefined) return fails(notThere("namespace", owner));
  const what = { apiVersion, kind, namespace };
  if (selector === undefined)
    return isObjectName(name) ? { ok: true, value: { ...what, name } } : fails(`name: ${NO_NAME}`);
  const labels = Object.entries(fieldsOf(fieldsOf(selector)["matchLabels"]));
  const wrong = labels.find(([, value]) => !isLabelValue(value));
  if (wrong !== undefined) return fails(`selector.matchLabels[${wrong[0]}]: it gives no value of a label`);
  return { ok: true, value: { ...what, selector: { matchLabels: Object.fromEntries(labels) } } };
}

/** An empty selector would select every object. */
function isLabelValue(value: unknown): boolean {
  return typeof value === "string" && /^[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/.test(value);
}
