/** Writes into statuses that no operator updates them any more, or else they would stay Ready. */

import { CONDITION, REASON } from "../../api/hook-policy.ts";
import type { Condition } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isConflict, unlessNotFound } from "../../kube/kube-error.ts";
import type { KubeObject, Resource } from "../../kube/resource.ts";
import { timestamp } from "../../lib/instant.ts";
import { despite } from "../../lib/thrown.ts";

const GONE = { status: "Unknown", reason: REASON.OperatorGone } as const;

/** Whether the status does not say yet that the operator is gone. */
export function seemsCurrent(object: KubeObject): boolean {
  return conditionsOf(object).some(needsOperator);
}

/** An override that has no effect has none without an operator, either. */
function needsOperator({ type, status, reason }: Condition): boolean {
  return type === CONDITION.Ready ? reason !== GONE.reason : type === CONDITION.Active && status === "True";
}

/** Keeps the rows of the status: another operator continues from them. */
export async function reportGone(
  client: Pick<KubeClient, "get" | "replaceStatus">,
  resource: Resource,
  object: KubeObject,
): Promise<void> {
  const { group, version, kind } = resource;
  await writeWhile(seemsCurrent, client, { resource, object }, async (current) => {
    const status = { ...statusOf(current), conditions: conditionsOf(current).flatMap(conditionAfter) };
    const value = { ...current, apiVersion: `${group}/${version}`, kind, status };
    await client.replaceStatus(resource, value);
  });
}

/** Reads again what another client has written meanwhile. An object that is gone needs nothing. */
export async function writeWhile(
  needs: (current: KubeObject) => boolean,
  client: Pick<KubeClient, "get">,
  { resource, object }: { readonly resource: Resource; readonly object: KubeObject },
  write: (current: KubeObject) => Promise<unknown>,
): Promise<void> {
  let current: KubeObject | undefined = object;
  await despite(
    isConflict,
    async () => {
      if (current !== undefined && needs(current)) await unlessNotFound(write(current));
    },
    async () => {
      current = await unlessNotFound(client.get(resource, object.metadata));
    },
  );
}

function conditionAfter(condition: Condition): readonly Condition[] {
  if (condition.type === CONDITION.Reconciling) return [];
  if (!needsOperator(condition)) return [condition];
  const does = condition.type === CONDITION.Active ? "releases" : "holds";
  const message = `The operator was stopped by prepare-uninstall: it ${does} nothing until one runs again`;
  return [{ ...condition, ...GONE, message, lastTransitionTime: timestamp(new Date()) }];
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  return statusOf(object).conditions ?? [];
}

function statusOf({ status }: KubeObject): { readonly conditions?: readonly Condition[] } {
  return status ?? {};
}
