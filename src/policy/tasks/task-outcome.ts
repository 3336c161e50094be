/** Whether the object of a task shows that the task is done, or has failed. Pure. */

import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { HookTaskSpec } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtime-hooks.ts";
import { inOwnDecision } from "../budget.ts";
import { expressionOrBroken } from "../cel/expression.ts";

export interface TaskOutcome {
  readonly outcome: "Succeeded" | "Failed" | "Unfinished";
  /** What the object does not show yet, or why it has failed. */
  readonly message: string;
}

interface Expressions {
  readonly succeeded: string;
  readonly failed?: string;
}

/** "Ready" means too many things for any other kind to have a default. */
const DEFAULTS: Readonly<Record<string, Expressions>> = {
  "batch/v1 Job": { succeeded: conditionIsTrue("Complete"), failed: conditionIsTrue("Failed") },
  "v1 Pod": {
    succeeded: 'object.status.phase == "Succeeded"',
    failed: 'object.status.phase == "Failed"',
  },
};

function conditionIsTrue(type: string): string {
  return `object.status.conditions.exists(c, c.type == "${type}" && c.status == "True")`;
}

export interface JudgedObject {
  readonly spec: Pick<HookTaskSpec, "succeeded" | "failed" | "hook" | "request">;
  readonly kind: { readonly apiVersion: string; readonly kind: string };
  readonly object: unknown;
  readonly cluster: Cluster;
  readonly now: Date;
}

/** `failed` is judged first. A missing field, or any other error, counts as not finished. */
export function judgeObject({ spec, kind, object, cluster, now }: JudgedObject): TaskOutcome {
  const defaults = DEFAULTS[`${kind.apiVersion} ${kind.kind}`];
  const { succeeded = defaults?.succeeded, failed = defaults?.failed } = spec;
  if (succeeded === undefined)
    return { outcome: "Unfinished", message: `nothing says when a ${kind.kind} is done` };
  const call: HookCall = { hook: spec.hook, ...spec.request };
  const is = (source: string): true | string => {
    const expression = expressionOrBroken(source, "object");
    const result = inOwnDecision(() => expression.evaluate({ cluster, call, object, now }));
    if (result.ok) return result.value === true ? true : `not yet: ${source}`;
    // An author need not test for a field that comes later.
    return `not yet: ${source} (${result.problem})`;
  };
  if (failed !== undefined && is(failed) === true)
    return {
      outcome: "Failed",
      message: spec.failed === undefined ? reasonIn(object) : `it shows that ${failed}`,
    };
  const done = is(succeeded);
  if (done === true) return { outcome: "Succeeded", message: "" };
  return {
    outcome: "Unfinished",
    message: spec.succeeded === undefined ? `the ${kind.kind} has not finished${podsOf(object)}` : done,
  };
}

/**
 * Why a Job does not work: it is suspended, as by Kueue until a quota admits it, or its controller has seen it, and the API server
 * refuses its Pod, or the Pod cannot start.
 */
function podsOf(object: unknown): string {
  if (fieldsOf(fieldsOf(object)["spec"])["suspend"] === true) return ": it is suspended (spec.suspend)";
  const { startTime, active = 0, ready = 0 } = fieldsOf(fieldsOf(object)["status"]);
  if (typeof startTime !== "string" || typeof active !== "number" || typeof ready !== "number") return "";
  if (active === 0) return ": it has no active Pod";
  return ready < active ? `: ${ready} of ${active} active Pods ready` : "";
}

/** What a Job's condition, or a Pod's status, says of its failure. */
function reasonIn(object: unknown): string {
  const status = fieldsOf(fieldsOf(object)["status"]);
  const failed = listOf(status["conditions"]).find((each) => fieldsOf(each)["type"] === "Failed");
  const { reason, message } = fieldsOf(failed ?? status);
  const texts = [reason, message].filter((text) => typeof text === "string" && text !== "");
  return texts.length === 0 ? "it has failed" : texts.join(": ");
}
