/** Reads Cluster API's status of a Cluster: the hooks that it waits for, and the steps of an upgrade. */

import { type Fields, fieldsOf, listOf, textOf } from "../lib/fields.ts";
import type { TopologyProgress } from "../api/meta.ts";
import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import { isVersion } from "../api/target-version.ts";

const AT_REST: TopologyProgress = { reconciled: true };

/**
 * Cluster API: core/reconcilers/topology/cluster/status.go and, up to 1.11, scope/hookresponsetracker.go. v1beta1 keeps
 * the newer fields in status.v1beta2. Absent: the status does not show any progress.
 */
export function viewProgress(
  status: Fields,
  generation: number | undefined,
  { isPinned = false }: { readonly isPinned?: boolean } = {},
): TopologyProgress | undefined {
  const newer = { ...status, ...fieldsOf(status["v1beta2"]) };
  const { message, heldAt, reconciled, begun } = viewCondition(newer["conditions"], generation);
  const controlPlane = fieldsOf(newer["controlPlane"]);
  const workers = fieldsOf(newer["workers"]);
  const progress = present({
    heldAt,
    begun: begun || undefined,
    plan: versionsIn(controlPlane["upgradePlan"]) ?? planIn(message) ?? (heldAt && []),
    version: onlyVersion(controlPlane),
    workersVersion: onlyVersion(workers),
    workersVersions: isPinned ? severalVersions(workers) : undefined,
  });
  if (progress === undefined) return reconciled ? AT_REST : undefined;
  return { ...progress, ...(reconciled && { reconciled }) };
}

/** Thousands of Clusters are kept, so absent values take no space. */
function present(progress: {
  readonly [K in keyof TopologyProgress]: TopologyProgress[K] | undefined;
}): TopologyProgress | undefined {
  const shown = Object.entries(progress).filter(([, value]) => value !== undefined);
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

/** Cluster API 1.11 mentions workers only after the control plane (topology/cluster/conditions.go). */
const ABOUT_WORKERS = /^Machine(Deployment|Pool)s/;

/**
 * A condition of another generation says nothing about the present. Only one with a generation can say that everything
 * is done.
 */
function viewCondition(
  conditions: unknown,
  generation: number | undefined,
): { message: string; heldAt: HookName | undefined; reconciled: boolean; begun: boolean } {
  const found = listOf(conditions)
    .map(fieldsOf)
    .find(({ type }) => type === "TopologyReconciled");
  const { status, reason, observedGeneration, message: text } = found ?? {};
  const isCurrent = typeof observedGeneration !== "number" || observedGeneration === generation;
  const message = textOf(text);
  const heldAt = isCurrent && status === "False" ? heldAtIn(message) : undefined;
  const isAboutWorkers = status === "False" && typeof reason === "string" && ABOUT_WORKERS.test(reason);
  return {
    message,
    heldAt,
    reconciled: isCurrent && status === "True" && observedGeneration !== undefined,
    begun: isCurrent && (isAboutWorkers || heldAt === "AfterControlPlaneUpgrade"),
  };
}

/** The hook's name comes before the first colon that is not Cluster API's own; the text of an answer follows it. */
const HELD = /^(?:([^:"]*): |hook ")([A-Za-z]+)(?:[:;"\n]|$)/;
const BLOCKING = "Following hooks are blocking ";

function heldAtIn(message: string): HookName | undefined {
  const [, before = BLOCKING, name] = HELD.exec(message) ?? [];
  return before.includes(BLOCKING) ? HOOK_NAMES.find((hook) => hook === name) : undefined;
}

const PLAN = /^ {2}\* \w+ (?:pending upgrade to version|upgrading to version \S+ \()([^)]*?)(?: pending\))?$/;

/**
 * If the status has no plan, the condition has it in a separate line (Cluster API 1.12 and 1.13), unless it reports an
 * error instead. A condition that names a hook has the line if there is a plan.
 */
function planIn(message: string): readonly string[] | undefined {
  const lines = message.split("\n").slice(1);
  const plan = lines.map((line) => PLAN.exec(line)?.[1] ?? "").find((text) => text !== "");
  const versions = plan?.split(",").map((text) => text.trim());
  return versions?.filter(isVersion);
}

function onlyVersion({ versions }: Fields): string | undefined {
  const [version, ...others] = versionsIn(versions) ?? [];
  return others.length === 0 ? version : undefined;
}

function severalVersions({ versions }: Fields): readonly string[] | undefined {
  const all = versionsIn(versions) ?? [];
  return all.length > 1 ? all : undefined;
}

function versionsIn(raw: unknown): readonly string[] | undefined {
  if (!Array.isArray(raw)) return undefined;
  return raw
    .map((each) => fieldsOf(each)["version"])
    .filter((text): text is string => typeof text === "string" && isVersion(text));
}
