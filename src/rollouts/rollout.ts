/** Compiles a HookRollout, valid or not: an invalid rollout holds every Cluster that it may select. */

import { hash } from "node:crypto";
import { isWithin } from "../lib/field-path.ts";
import { withoutNulls } from "../lib/fields.ts";
import type {
  HookRollout,
  HookRolloutSpec,
  RolloutSpreadSpec,
  RolloutStageSpec,
} from "../api/hook-policy.ts";
import type { Operation } from "../operations/beginnings.ts";
import { compileExpression, type Expression } from "../policy/cel/expression.ts";
import { durationOrNever } from "../lib/duration.ts";
import { compileGate } from "../policy/gates/gates.ts";
import type { CompiledGate } from "../policy/policy.ts";
import { readTimestamp } from "../lib/instant.ts";
import { describeErrors } from "../policy/message.ts";
import { compileSelector, type LabelMatcher, SELECTS_ALL } from "../api/selector.ts";
import { describeTooLarge } from "../views/too-large.ts";
import { type FieldError, validatePolicy } from "../policy/validation/schema.ts";
import { sizeErrors } from "../policy/validation/spec-size.ts";
import { checkRollout } from "../policy/validation/rollout-semantics.ts";
import { isSound } from "../policy/validation/sound-parts.ts";
import type { Limit } from "./limit.ts";

export interface CompiledRollout {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly createdAt: Date;
  readonly operation: Operation;
  readonly mode: "Enforce" | "Audit";
  readonly paused: boolean;
  readonly selectsNamespace: LabelMatcher;
  readonly selectsCluster: LabelMatcher;
  readonly maxConcurrency: Limit;
  readonly spread: readonly RolloutSpreadSpec[];
  readonly orderLabelKey?: string;
  readonly retryAfterSeconds: number;
  readonly progressDeadlineMs: number;
  /** All must be true; `undefined`: an expression that does not compile. */
  readonly healthyWhen: readonly (Expression | undefined)[];
  readonly ignoreFailuresBefore?: Date;
  /** At least one: without stages, all members are in a single one. */
  readonly stages: readonly CompiledStage[];
  /** The errors of the spec, because of which nothing may begin. */
  readonly problem?: string;
  /** Compiled of a stub: see views/too-large.ts. */
  readonly tooLarge?: true | undefined;
}

export interface CompiledStage {
  readonly name: string;
  readonly selectsNamespace: LabelMatcher;
  readonly selectsCluster: LabelMatcher;
  /** Absent: only the limit of the whole rollout counts. */
  readonly maxConcurrency?: Limit;
  readonly minSucceeded: Limit;
  readonly minSuccessTimeMs: number;
  readonly maxFailures: Limit;
  /** All must be met by a Cluster of the stage. */
  readonly until: readonly CompiledGate[];
}

/** The stage of a rollout without stages. */
export const WHOLE = "all";

/** Of a stage that does not say it. */
export const MIN_SUCCEEDED = "100%";

const WITHOUT_STAGES: CompiledStage = {
  name: WHOLE,
  selectsNamespace: SELECTS_ALL,
  selectsCluster: SELECTS_ALL,
  minSucceeded: MIN_SUCCEEDED,
  minSuccessTimeMs: 0,
  maxFailures: 0,
  until: [],
};

const AVAILABLE = {
  name: "available",
  expression: "cluster.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
};

/** As in the CRD, which a rollout in a file has not passed. */
const DEFAULTS = { operation: "Upgrade", maxConcurrency: 1, retryAfterSeconds: 10, paused: false } as const;

export function compileRollout(object: HookRollout): CompiledRollout {
  const { name, uid, generation = 0, creationTimestamp } = object.metadata;
  // A rollout in a file may have no spec.
  const given: Partial<HookRolloutSpec> | undefined = object.spec;
  const spec = { ...DEFAULTS, ...withoutNulls(given ?? {}) };
  const errors = errorsOf(object);
  const selects = (field: "namespaceSelector" | "clusterSelector"): LabelMatcher =>
    isSound(`spec.${field}`, errors) ? compileSelector(spec[field]) : SELECTS_ALL;
  return {
    name,
    uid,
    generation,
    createdAt: new Date(creationTimestamp ?? NaN),
    operation: spec.operation,
    mode: spec.mode === "Audit" && (errors.length === 0 || object.tooLarge === true) ? "Audit" : "Enforce",
    paused: spec.paused,
    selectsNamespace: selects("namespaceSelector"),
    selectsCluster: selects("clusterSelector"),
    maxConcurrency: spec.maxConcurrency,
    retryAfterSeconds: spec.retryAfterSeconds,
    progressDeadlineMs: durationOrNever(spec.progressDeadline ?? ""),
    ...(errors.length > 0
      ? { ...NOTHING_BEGINS, problem: describeErrors(errors), tooLarge: object.tooLarge }
      : partsOf(spec)),
  };
}

const NOT_IN_MEMORY: readonly FieldError[] = [{ path: "spec", message: describeTooLarge(undefined) }];

function errorsOf(object: HookRollout): readonly FieldError[] {
  if (object.tooLarge === true) return NOT_IN_MEMORY;
  const size = sizeErrors(object.spec);
  if (size.length > 0) return size;
  const schemaErrors = validatePolicy("HookRollout", object).filter(({ path }) => isWithin(path, "spec"));
  return [...schemaErrors, ...checkRollout(object.spec, schemaErrors).errors];
}

type Parts = Pick<
  CompiledRollout,
  "spread" | "healthyWhen" | "stages" | "orderLabelKey" | "ignoreFailuresBefore"
>;

const NOTHING_BEGINS: Parts = { spread: [], healthyWhen: [], stages: [WITHOUT_STAGES] };

function partsOf({
  spread = [],
  healthyWhen = [AVAILABLE],
  stages = [],
  orderLabelKey,
  ...spec
}: Partial<HookRolloutSpec>): Parts {
  const ignoreFailuresBefore = readTimestamp(spec.ignoreFailuresBefore ?? undefined);
  return {
    spread,
    healthyWhen: healthyWhen.map(({ expression }) => compileExpression(expression, "health").expression),
    stages: stages.length === 0 ? [WITHOUT_STAGES] : stages.map(compileStage),
    ...(orderLabelKey !== undefined && { orderLabelKey }),
    ...(ignoreFailuresBefore !== undefined && { ignoreFailuresBefore }),
  };
}

function compileStage(spec: RolloutStageSpec): CompiledStage {
  const { name, namespaceSelector, clusterSelector, maxConcurrency, minSuccessTime } = spec;
  return {
    name,
    selectsNamespace: compileSelector(namespaceSelector),
    selectsCluster: compileSelector(clusterSelector),
    ...(maxConcurrency !== undefined && { maxConcurrency }),
    minSucceeded: spec.minSucceeded ?? MIN_SUCCEEDED,
    minSuccessTimeMs: soakMs(minSuccessTime),
    maxFailures: spec.maxFailures ?? 0,
    // Like a ClusterHookPolicy, a stage may look into every namespace.
    until: (spec.until ?? []).map((gate) => compileGate(gate, { kind: "ClusterHookPolicy", name })),
  };
}

/** Without a soak the text is absent, or 0s, 0m or 0h0m. */
function soakMs(text = "0s"): number {
  return /^(0+[hms])+$/.test(text) ? 0 : durationOrNever(text);
}

/** Identifies the set of members by the selectors: claims that were made under other selectors may be incomplete. */
export function scopeOf({ mode, namespaceSelector, clusterSelector, stages = [] }: HookRolloutSpec): string {
  const selectors = stages.map((stage) => [stage.name, stage.namespaceSelector, stage.clusterSelector]);
  const text = JSON.stringify([mode, namespaceSelector, clusterSelector, selectors]);
  return hash("sha256", text).slice(0, 16);
}
