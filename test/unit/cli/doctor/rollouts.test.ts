/** What doctor says of HookRollouts. */

import { describe } from "node:test";
import type { Evidence } from "../../../../src/cli/doctor/finding.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { fieldsOf } from "../../../../src/lib/fields.ts";
import { invalidCorpus, kindOf } from "../../../corpus/corpus.ts";
import { rawRollout } from "../raw.ts";
import {
  absent,
  cluster,
  extension,
  forbidden,
  found,
  policy,
  registrations,
  table,
} from "./evidence-fixture.ts";

const READY = { type: "Ready", status: "True", message: "" };

const rollout = (
  spec: object = {},
  conditions: readonly object[] = [READY],
  meta: object = {},
): RawObject => ({
  ...rawRollout({ name: "upgrades", uid: "r", generation: 1, ...meta }, spec),
  status: { observedGeneration: 1, conditions },
});

const has = (...list: RawObject[]): Partial<Evidence> => ({ rollouts: found(list) });
const second = (spec: object = {}): RawObject => rollout(spec, [READY], { name: "zone" });

function named(name: string): RawObject {
  const each = cluster(name);
  return { ...each, metadata: { ...(each["metadata"] as object), labels: { name } } };
}
const C1 = { matchLabels: { name: "c1" } };

describe("rollouts", () => {
  table("rollouts", {
    "that the user may not read": { given: { rollouts: forbidden }, unknown: /you may not/ },
    "that there are none of": { given: has(), ok: /no HookRollout/ },
    "that let Clusters begin": { given: has(rollout()), ok: /1 HookRollout, all Ready/ },
    "that Cluster API does not call": {
      given: { ...has(rollout(), second({ operation: "Delete" })), registrations: registrations() },
      error:
        /2 HookRollouts not asked by Cluster API.*\nupgrades: Cluster API does not call BeforeClusterUpgrade → do first.*\nzone: .*BeforeClusterDelete →/,
    },
    "that no Cluster API is there to call": {
      given: { ...has(rollout()), registrations: absent },
      error: /does not call BeforeClusterUpgrade/,
    },
    "of which ExtensionConfigs would tell, which the user may not read": {
      given: { ...has(rollout()), registrations: forbidden },
      ok: /1 HookRollout/,
    },
    "that are not Ready": {
      given: has(rollout({}, [{ ...READY, status: "False", message: "the status was lost" }])),
      error: /not Ready.*\nupgrades: the status was lost → .*kubectl edit hookrollout upgrades/,
    },
    "that the operator has not seen": {
      given: has(rollout({}, [])),
      error: /has not looked at its spec → see whether the operator runs/,
    },
    "that were edited since": {
      given: has(rollout({}, [READY], { generation: 2 })),
      error:
        /1 HookRollout not Ready.*\nupgrades: .*has not looked at its spec → see whether the operator runs/,
    },
    "whose operator was removed: another check tells that none runs": {
      given: has(rollout({}, [{ ...READY, status: "Unknown", reason: "OperatorGone" }])),
      ok: /1 HookRollout/,
    },
    "that are halted": {
      given: has(rollout({}, [READY, { type: "Halted", status: "True", message: "2 Clusters failed" }])),
      error: /halted\nupgrades: 2 Clusters failed → hookpolicy rollout status upgrades/,
    },
    "that are paused, with the reason": {
      given: has(
        rollout({ paused: true }, [READY], { annotations: { "hookpolicy.dev/pause-reason": "INC-7" } }),
      ),
      warning: /paused.*\nupgrades: INC-7 → hookpolicy rollout resume upgrades/,
    },
    "that are halted, beside one that is paused": {
      given: has(
        rollout({}, [READY, { type: "Halted", status: "True", message: "2 Clusters failed" }]),
        second({ paused: true }),
      ),
      error:
        /1 HookRollout halted; 1 HookRollout paused, so nothing more begins\nupgrades: 2 Clusters failed → .*\nzone → hookpolicy rollout resume zone/,
    },
    "of mode Audit, which hold nothing": {
      given: has(
        rollout({ mode: "Audit", paused: true }, [
          READY,
          { type: "Halted", status: "True", message: "2 Clusters failed" },
        ]),
      ),
      ok: /1 HookRollout, all Ready/,
    },
    "of mode Audit that are not Ready": {
      given: has(rollout({ mode: "Audit" }, [{ ...READY, status: "False", message: "the status was lost" }])),
      warning: /1 HookRollout of mode Audit not Ready\nupgrades: the status was lost →/,
    },
    "that are paused without one": {
      given: has(rollout({ paused: true })),
      warning: /nothing more begins\nupgrades →/,
    },
  });
});

describe("rollouts whose spec is invalid, with the path of the field, also before the operator has looked", () => {
  const invalid = invalidCorpus().filter(({ object }) => kindOf(object) === "HookRollout");
  const semantic = rollout({ healthyWhen: [{ name: "h", expression: "cluster.(" }] }, []);
  table("rollouts", {
    ...Object.fromEntries(
      invalid.map(({ name, object, path }) => [
        name,
        {
          given: has(object as unknown as RawObject),
          error: new RegExp(`not Ready.*
.*${path.replaceAll(/[[\].]/g, String.raw`\$&`)}`),
        },
      ]),
    ),
    "an expression": { given: has(semantic), error: /spec\.healthyWhen\[0\]\.expression/ },
  });
});

describe("Clusters of rollouts", () => {
  table("rollout Clusters", {
    "that the user may not list": {
      given: { ...has(rollout()), clusters: forbidden },
      unknown: /you may not/,
    },
    "whose rollouts the user may not list": { given: { rollouts: forbidden }, unknown: /you may not/ },
    "without a rollout": { given: has(), ok: /no HookRollout/ },
    "of one rollout": { given: has(rollout()), ok: /its 1 Cluster/ },
    "without a topology": {
      given: { ...has(rollout()), clusters: found([cluster("c1", {})]) },
      warning: /1 Cluster without spec\.topology.*team-a\/c1/,
    },
    "that two rollouts select": {
      given: has(rollout(), second()),
      warning: /HookRollouts upgrades and zone select the same 1 Cluster.*team-a\/c1/,
    },
    "that two rollouts select for different operations": {
      given: has(rollout(), second({ operation: "Delete" })),
      ok: /alone decides/,
    },
    "that another one only audits": { given: has(rollout(), second({ mode: "Audit" })), ok: /alone decides/ },
    "that two rollouts share between them": {
      given: {
        ...has(
          rollout({ clusterSelector: C1 }),
          second({ clusterSelector: { matchLabels: { name: "c2" } } }),
        ),
        clusters: found(["c1", "c2"].map(named)),
      },
      ok: /alone decides/,
    },
    "that it does not select": {
      given: has(second({ namespaceSelector: { matchLabels: { a: "z" } } })),
      warning:
        /1 rollout or stage without a Cluster\nHookRollout zone, which limits nothing → correct spec\.namespaceSelector/,
    },
    "without a topology, which two rollouts select, beside a rollout that selects nothing": {
      given: {
        ...has(
          rollout(),
          second(),
          rollout({ namespaceSelector: { matchLabels: { a: "z" } } }, [READY], { name: "typo" }),
        ),
        clusters: found([cluster("c1", {})]),
      },
      warning:
        /without spec\.topology.*\n.*\nHookRollouts upgrades and zone select the same .*\nHookRollout typo, which limits nothing → /,
    },
    "that one of its stages does not select": {
      given: {
        ...has(
          rollout({
            stages: [
              { name: "canary", clusterSelector: { matchLabels: { name: "c9" } } },
              { name: "rest", clusterSelector: {} },
            ],
          }),
        ),
        clusters: found([named("c1")]),
      },
      warning: /stage canary of HookRollout upgrades → correct its clusterSelector/,
    },
  });
  table("namespaces", {
    "in a namespace that the ExtensionConfig leaves out": {
      given: {
        ...has(rollout()),
        policies: found([]),
        registrations: registrations(
          Object.assign(extension(), {
            spec: { ...(extension()["spec"] as object), namespaceSelector: { matchLabels: { a: "z" } } },
          }),
        ),
      },
      error: /leaves out namespaces.*team-a/,
    },
  });
});

describe("policies and rollouts", () => {
  const row = { namespace: "team-a", since: "2026-11-29T08:00:00Z", reason: "r", message: "m" };
  const decision = (name: string) => ({
    ...row,
    cluster: name,
    clusterUID: name,
    hook: "BeforeClusterUpgrade",
    rule: "r",
    verdict: "Blocked",
    firstAsked: row.since,
  });
  const holding: Partial<Evidence> = {
    policies: found([policy({}, { decisions: ["c1", "c2"].map(decision) })]),
    rollouts: found([
      {
        ...rollout(),
        status: { ...fieldsOf(rollout()["status"]), held: [{ ...row, name: "c2", uid: "c2" }] },
      },
    ]),
  };
  table("policies", {
    "that hold a Cluster together, which is one": {
      given: holding,
      ok: /^1 policy, all Ready; 2 Clusters held \(get -A lists them\) →/,
    },
    "that hold nothing": { given: { policies: found([policy()]) }, ok: /^1 policy, all Ready →/ },
  });
});

describe("rollouts that are Ready, whose stages do not pass", () => {
  const large = { ...READY, reason: "TooLarge", message: "In force; the labels of team-a/c1 are too large" };
  table("rollouts", {
    "without Clusters that are too large for memory": {
      given: has(rollout({}, [large]), second()),
      warning:
        /1 HookRollout that a Cluster too large for memory delays.*\nupgrades: In force; the labels of team-a\/c1 are too large → .*labels/,
    },
    "without Clusters whose Namespace is not known": {
      given: has(rollout({}, [{ ...large, reason: "NamespaceUnknown" }]), second()),
      warning: /1 HookRollout that an unread Namespace delays.*\nupgrades: In force; .* → .*list and watch/,
    },
  });
});

describe("Clusters that two rollouts select", () => {
  table("rollout Clusters", {
    "count once": { given: has(rollout(), second({ operation: "Delete" })), ok: /its 1 Cluster(?!s)/ },
  });
});
