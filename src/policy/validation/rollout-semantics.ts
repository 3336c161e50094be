/** Checks of a HookRollout beyond its CRD: CEL, cron, zones, version ranges, and what is legal but suspicious. */

import type { HookRolloutSpec, RolloutStageSpec, RuleSpec } from "../../api/hook-policy.ts";
import { fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import { atOnce } from "../../lib/work-steps.ts";
import { includes } from "./selector-overlap.ts";
import type { FieldError } from "./schema.ts";
import { isSound, soundRules } from "./sound-parts.ts";
import { checkRuleSet, type Semantics, type RuleSet } from "./semantics.ts";

/** Checks only what fits the schema: `schemaErrors` are those of validatePolicy(). */
export function checkRollout(spec: unknown, schemaErrors: readonly FieldError[]): Semantics {
  const { stages, healthyWhen }: Partial<HookRolloutSpec> = isFields(spec) ? spec : {};
  const health = listOf(healthyWhen)
    .map((item, index) => ({ item: fieldsOf(item), path: `spec.healthyWhen[${index}]` }))
    .filter(({ path }) => isSound(path, schemaErrors));
  const together: RuleSet = {
    path: "spec",
    rules: soundRules(listOf(stages).map(asRule), schemaErrors, "spec.stages"),
    health: health.map(({ item, path }) => {
      return { source: textOf(item["expression"]), use: "health", path: `${path}.expression` };
    }),
    remedy: "shorten them, or make several rollouts",
  };
  const { errors, warnings } = atOnce(checkRuleSet(together));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it fits the schema
  const sound = schemaErrors.length > 0 ? undefined : (spec as HookRolloutSpec);
  const suspicious = sound === undefined ? [] : [...nothingBegins(sound), ...unreachable(sound)];
  return { errors, warnings: [...warnings, ...suspicious] };
}

/** The gates of a stage hold the first hook of an upgrade. */
function asRule(stage: unknown): RuleSpec {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- soundRules() leaves out what does not fit
  const { name, until } = fieldsOf(stage) as Partial<RolloutStageSpec>;
  return { name: textOf(name), hooks: ["BeforeClusterUpgrade"], ...(until !== undefined && { until }) };
}

function nothingBegins({ maxConcurrency, spread = [], stages = [] }: HookRolloutSpec): readonly FieldError[] {
  const limits = [
    { limit: maxConcurrency, path: "spec" },
    ...spread.map((each, i) => ({ limit: each.maxConcurrency, path: `spec.spread[${i}]` })),
    ...stages.map((each, i) => ({ limit: each.maxConcurrency, path: `spec.stages[${i}]` })),
  ];
  const message =
    "no operation begins with this limit. To stop a rollout for some time, set spec.paused instead, which Clusters and status name as the reason";
  return limits
    .filter(({ limit }) => limit === 0 || limit === "0%")
    .map(({ path }) => ({ path: `${path}.maxConcurrency`, id: "nothing-begins", message }));
}

/** A Cluster belongs to the first stage that selects it. */
function unreachable(spec: HookRolloutSpec): readonly FieldError[] {
  const { stages = [] } = spec;
  return stages.flatMap((later, index) => {
    const earlier = stages.slice(0, index).find((each) => takesAllOf(each, later, spec));
    if (earlier === undefined) return [];
    const message = `no Cluster comes to stage ${JSON.stringify(later.name)}, as the earlier stage ${JSON.stringify(earlier.name)} selects all of them. Put the narrower stage first`;
    return [{ path: `spec.stages[${index}]`, id: "unreachable-stage", message }];
  });
}

function takesAllOf(earlier: RolloutStageSpec, later: RolloutStageSpec, spec: HookRolloutSpec): boolean {
  return (["clusterSelector", "namespaceSelector"] as const).every((field) =>
    includes(earlier[field], [spec[field], later[field]]),
  );
}
