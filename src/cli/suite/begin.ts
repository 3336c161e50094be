/** Starts a suite: its objects, its clock, and earlier calls. */

import { newOperation } from "../../operations/operation.ts";
import { servedHooks } from "../../api/hook-catalog.ts";
import { parseOptions } from "../../operator/options.ts";
import type { FleetOptions } from "../fleet/fleet.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { type RuleTimers, timerKey } from "../../policy/world.ts";
import type { Suite } from "./suite.ts";
import { SuiteError, within } from "./suite-error.ts";
import { checkNames, namesPolicy } from "./check-names.ts";
import { Session } from "./session.ts";
import type { AskedSpec, StepSpec, TimersSpec } from "./spec.gen.ts";
import { TaskMemory } from "../../tasks/task-memory.ts";
import { SuiteRollouts } from "./suite-rollouts.ts";
import { SuiteTasks } from "./suite-tasks.ts";
import { targetOfCall } from "./target.ts";
import { SuiteObjects } from "./suite-objects.ts";

/** As an operator without flags has it. `version`: a suite's own, which may be older than operators support. */
export function suiteOptions(version?: string): Pick<FleetOptions, "served" | "maxOverrideMs"> {
  const { capiVersion, maxOverrideMs } = parseOptions({});
  const minor = Number(version?.slice(2) ?? capiVersion.minor);
  return { served: servedHooks(minor), maxOverrideMs };
}

/** What the steps of a suite that has started work on. */
export interface SuiteWorld {
  readonly session: Session;
  readonly rollouts: SuiteRollouts;
  readonly tasks: SuiteTasks;
}

export async function begin({ spec, objects: given }: Suite): Promise<SuiteWorld> {
  if (!spec.steps.some(expectsAny))
    throw new SuiteError(`no step has ${EXPECTATIONS.join(", ")}, so that nothing is tested`, "steps");
  const now = new Date(spec.at);
  const options = suiteOptions(spec.capiVersion);
  const { served } = options;
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  const objects = new SuiteObjects({ ...options, now, tasks: memory });
  objects.create(given, now);
  const readsReports = spec.steps.some(
    ({ events, metrics }) => events !== undefined || metrics !== undefined,
  );
  const session = new Session(objects, { served, now, tasks: memory, readsReports });
  const tasks = new SuiteTasks(session, memory);
  const begun = { session, rollouts: new SuiteRollouts(session, tasks), tasks };
  for (const [index, asked] of (spec.asked ?? []).entries()) {
    within(`asked[${index}]`, () => adopt(begun, asked));
  }
  session.objectsChanged();
  await begun.rollouts.settle();
  return begun;
}

const EXPECTATIONS = ["expect", "events", "metrics", "rollouts", "tasks", "timeline"] as const;

export function expectsAny(step: StepSpec): boolean {
  return EXPECTATIONS.some((field) => step[field] !== undefined);
}

function adopt({ session, rollouts }: Pick<SuiteWorld, "session" | "rollouts">, asked: AskedSpec): void {
  const { cluster, call } = targetOfCall(session, asked);
  rollouts.show(cluster, call);
  const firstAsked = new Date(asked.firstAsked);
  if (firstAsked > session.now) throw new SuiteError("lies ahead of spec.at", "firstAsked");
  const operation = newOperation(call, cluster, firstAsked, undefined);
  const { namespace = "" } = cluster.metadata;
  const candidates = session.objects.fleet.policies.filter(
    ({ compiled: { ref } }) => (ref.namespace ?? namespace) === namespace,
  );
  const timers = (asked.timers ?? []).flatMap((spec, index) => {
    within(`timers[${index}]`, () =>
      checkNames({ policy: spec.policy, rule: spec.rule }, { policies: candidates, rollouts: [] }),
    );
    return candidates
      .filter(({ compiled }) => namesPolicy(spec.policy, policyName(compiled.ref)))
      .map(({ compiled }) => [timerKey(compiled.uid, spec.rule), timersOf(spec)] as const);
  });
  session.adopt({ ...operation, rules: new Map(timers) }, cluster);
  rollouts.adopt(cluster, call);
}

function timersOf({ blockedSince, gatesMetSince }: TimersSpec): RuleTimers {
  return {
    ...(blockedSince !== undefined && { blockedSince: new Date(blockedSince) }),
    ...(gatesMetSince !== undefined && { gatesMetSince: new Date(gatesMetSince) }),
  };
}
