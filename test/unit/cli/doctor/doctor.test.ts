/** What each check says of what was read. That it is so on a real API server, and how it is cured: test/capi/doctor.test.ts. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Evidence, ReadResult } from "../../../../src/cli/doctor/finding.ts";
import { flagOf } from "../../../../src/cli/doctor/check-install.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { CRD_SCHEMAS } from "../../../../src/api/crd-schemas.ts";
import { rawOverride } from "../raw.ts";
import {
  found,
  absent,
  forbidden,
  settings,
  definition,
  deployment,
  OURS,
  THEIRS,
  GATES,
  cluster,
  policy,
  evidence,
  check,
  table,
} from "./evidence-fixture.ts";
import { examine } from "../../../../src/cli/doctor/doctor.ts";
test("where all is well every check is ok", () => {
  const wrong = examine(evidence(), settings()).filter(({ state }) => state !== "ok");
  assert.deepEqual(wrong, []);
});

describe("installed", () => {
  const older = structuredClone(CRD_SCHEMAS.HookPolicy) as {
    properties: Record<string, { properties: Record<string, unknown> }>;
  };
  delete older.properties["spec"]?.properties["mode"];
  const newer = structuredClone(older);
  Object.assign(newer.properties["spec"]?.properties ?? {}, { mode: {}, budget: {} });
  const crds = (crd: ReadResult<RawObject>, kind = "HookPolicy"): Partial<Evidence> => ({
    definitions: new Map([[kind, crd]]),
  });
  const runs = (...list: RawObject[]): Partial<Evidence> => ({ deployments: found(list) });
  table("CRDs", {
    "a CRD that is missing": {
      given: crds(absent),
      error: /no CustomResourceDefinition of HookPolicy → kubectl apply/,
    },
    "one that the user may not read": { given: crds(forbidden), unknown: /you may not/ },
    "one that is not established": { given: crds(definition({}, "False")), error: /not established/ },
    "one of another version": {
      given: crds(
        found({
          metadata: {},
          spec: { versions: [{ name: "v1" }] },
          status: { conditions: [{ type: "Established", status: "True" }] },
        }),
      ),
      error: /does not serve v1alpha1/,
    },
    "one that is older": { given: crds(definition(older)), error: /it lacks spec\.mode/ },
    "one that is newer": { given: crds(definition(newer)), warning: /does not know spec\.budget/ },
    "one that the operator writes": { given: crds(definition(newer), "HookTask"), error: /renderedHash/ },
  });
  table("operator", {
    "no operator": { given: runs(), error: /no Deployment/ },
    "an operator with a replica less": {
      given: runs(deployment(OURS, "", [], { availableReplicas: 1 })),
      warning: /1 of 2 .*kubectl describe pods -n ns/,
    },
    "an operator that has stopped though its replicas are available": {
      given: { operatorSilence: "the operator's last sign of life is 74s old: it seems not to run" },
      error:
        /last sign of life is 74s old.*2 of 2 available → kubectl get pods -n ns .*; kubectl logs -n ns -l \S+ --tail=-1 --prefix --since=1h$/,
    },
    "a second operator, which has the first one's rights and registration": {
      given: runs(deployment(OURS, "", []), {
        ...deployment(OURS, "", []),
        metadata: { namespace: "another", name: "d", labels: OURS },
      }),
      error: /^2 Deployments .*: another\/d, ns\/d → apply the one that you keep again; then delete/,
    },
    "an operator that was scaled to nothing": {
      given: runs({ ...deployment(OURS, "", [], { availableReplicas: 0 }), spec: { replicas: 0 } }),
      error: /0 of 0 .*kubectl scale deployment -n ns d --replicas=2/,
    },
  });
  table("feature gates", {
    "a webhook that says that the gate is off": {
      given: { creation: found(false), deployments: found([]) },
      error: /Cluster API are off.*: RuntimeSDK →/,
    },
    "a gate that is off": {
      given: runs(deployment(THEIRS, "", ["--feature-gates=RuntimeSDK=true"])),
      error: /Cluster API are off.*: ClusterTopology →/,
    },
    "gates that the flags do not name": {
      given: runs(deployment(THEIRS, "", [])),
      error: /Cluster API are off.*: ClusterTopology, RuntimeSDK →/,
    },
    "gates by the flags alone": {
      given: { creation: forbidden },
      ok: /ClusterTopology and RuntimeSDK are on/,
    },
    "gates that the user may not see": {
      given: { creation: forbidden, deployments: forbidden },
      unknown: /may not/,
    },
    "a webhook that does not answer": {
      given: { creation: { ...absent, why: "Failed", message: "timeout" } },
      error: /does not answer: timeout/,
    },
  });
  table("Cluster API", {
    "a Cluster API of which nothing is known": {
      given: runs(deployment(OURS, "", [])),
      unknown: /its version is unknown → .*hookpolicy doctor --capi-version 1\.13/,
    },
    "a Cluster API of which its CRD tells the least version": {
      given: {
        ...runs(deployment(OURS, "", [])),
        clusterDefinition: found({ spec: { versions: [{ name: "v1beta2", served: true }] } }),
      },
      unknown: /1\.11 or newer/,
    },
    "a Cluster API that the Cluster API Operator installed": {
      given: {
        ...runs(deployment(THEIRS, "capi@sha256:00", [GATES])),
        coreProviders: found([{ status: { installedVersion: "v1.13.4" } }]),
      },
      ok: /^Cluster API v1\.13\.4/,
    },
    "a Cluster API whose CRD has a label with its version": {
      given: {
        ...runs(deployment(THEIRS, "capi:nightly", [GATES])),
        clusterDefinition: found({ metadata: { labels: { "app.kubernetes.io/version": "1.13.2" } } }),
      },
      ok: /^Cluster API 1\.13\.2/,
    },
    "a Cluster API whose version the user says": {
      given: runs(deployment(OURS, "", [])),
      settings: { toldCapi: "1.12" },
      ok: /^Cluster API 1\.12/,
    },
    "a Cluster API that clusterctl installed": {
      given: { providers: found([{ providerName: "cluster-api", version: "v1.12.3" }]) },
      ok: /^Cluster API v1\.12\.3/,
    },
    "a digest after the tag": {
      given: runs(deployment(THEIRS, "r:5000/c:v1.13.1@sha256:00", [GATES])),
      ok: /v1\.13\.1 /,
    },
    "no Cluster API": { given: { clusters: absent }, error: /serves no Clusters/ },
    "a Cluster API without Runtime SDK": { given: { registrations: absent }, error: /no Runtime SDK/ },
  });

  test("a flag is found in both its forms, and the last one counts", () => {
    assert.equal(flagOf({ args: ["--a=1", "--a", "2", "--b"] }, "a"), "2");
    assert.equal(flagOf({ args: ["--aa=1", "--a=x=y"] }, "a"), "x=y");
    assert.equal(flagOf({ args: ["--aa=1"] }, "a"), undefined);
  });
});

describe("protected", () => {
  const broken = policy(
    {},
    {
      conditions: [{ type: "Ready", status: "False", reason: "InvalidSpec", message: "spec.rules[0]: no" }],
    },
  );
  const failedCall = {
    type: "TopologyReconciled",
    status: "False",
    message: 'error: failed to call extension handler "h": refused',
  };
  const silent = policy(
    {},
    { conditions: [{ type: "NotCalled", status: "True", reason: "NotDiscovered", message: "see it" }] },
  );
  const override = (expiresAt: string, uid?: string): RawObject =>
    rawOverride(
      { name: "o", uid: "o", creationTimestamp: new Date().toISOString() },
      { clusterRef: { namespace: "team-a", name: "c1", uid }, expiresAt },
    );
  const marked = (name: string, annotations: object, more: object = {}): RawObject => {
    const object = cluster(name);
    return { ...object, metadata: { namespace: "team-a", name, uid: name, annotations, ...more } };
  };
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  const nothing = { ...policy({ rules: [{ name: "r", hooks: ["AfterControlPlaneInitialized"] }] }) };
  const policies = (...list: RawObject[]): Partial<Evidence> => ({ policies: found(list) });
  const overrides = (...list: RawObject[]): Partial<Evidence> => ({ overrides: found(list) });
  const clusters = (...list: RawObject[]): Partial<Evidence> => ({ clusters: found(list) });
  const grant = (missing: ReadResult<readonly string[]>): Partial<Evidence> => ({
    grants: [{ resource: "backups.velero.io", missing }],
  });
  table("policies", {
    "by no policy": { given: policies(), warning: /no policy/ },
    "by one that is not Ready": {
      given: policies(broken),
      error:
        /^1 policy not Ready\nHookPolicy team-a\/p \(InvalidSpec\): spec\.rules\[0\]: no → kubectl edit hookpolicy p -n team-a$/,
    },
    "by two that are not Ready, each with its own cure": {
      given: policies(
        broken,
        policy(
          {},
          {
            conditions: [
              { type: "Ready", status: "False", reason: "ObjectsForbidden", message: "may not list" },
            ],
          },
          "q",
        ),
      ),
      error:
        /^2 policies not Ready\n.* → kubectl edit hookpolicy p -n team-a\nHookPolicy team-a\/q \(ObjectsForbidden\): may not list → do what the check grants says$/,
    },
    "by statuses that no operator keeps": {
      given: { deployments: found([deployment(OURS, "", [], { availableReplicas: 0 })]) },
      unknown: /1 policy, whose statuses are old: no replica of the operator runs/,
    },
    "by policies that prepare-uninstall has left": {
      given: policies(
        policy({}, { conditions: [{ type: "Ready", status: "Unknown", reason: "OperatorGone" }] }),
      ),
      error:
        /prepare-uninstall has stopped the operator, which holds nothing any more for 1 policy: HookPolicy team-a\/p/,
    },
    "by an operator that the user may not see": {
      given: { deployments: forbidden },
      ok: /whether the operator runs is not known/,
    },
    "by one that was not reviewed": {
      given: policies(policy({}, { observedGeneration: -1 })),
      error: /has not looked at/,
    },
  });
  table("calls", {
    "by a call that failed": {
      given: { clusters: found([{ ...cluster("c1"), status: { conditions: [failedCall] } }, cluster("c2")]) },
      error:
        /^Cluster API's last call failed for 1 Cluster\n?.*team-a\/c1: failed to call extension handler "h": refused/s,
    },
    "by one that is not asked": { given: policies(silent), error: /NotDiscovered → see it/ },
  });
  table("effect", {
    "by one that matches nothing": {
      given: clusters(),
      warning: /1 policy without a Cluster\nHookPolicy team-a\/p/,
    },
    "but one that only observes need not match": {
      given: { ...policies(nothing), ...clusters() },
      ok: /every policy/,
    },
  });
  table("topology", {
    "although Cluster API calls no hook": {
      given: clusters(cluster("c1", {})),
      error: /policies match 1 Cluster without .*team-a\/c1/,
    },
    "by none, and no hook": {
      given: { ...clusters(cluster("c1", {})), ...policies() },
      warning: /1 Cluster \(team-a\/c1\)/,
    },
  });
  table("ok-to-delete", {
    "unless it is deleted: it is marked ahead of that": {
      given: clusters(marked("c1", { "runtime.cluster.x-k8s.io/ok-to-delete": "" })),
      error:
        /will not ask before it deletes 1 Cluster .*\nteam-a\/c1 → kubectl annotate clusters.cluster.x-k8s.io -n team-a c1 runtime.cluster.x-k8s.io\/ok-to-delete-$/,
    },
    "but not once Cluster API has marked it": {
      given: clusters(
        marked("c1", { "runtime.cluster.x-k8s.io/ok-to-delete": "" }, { deletionTimestamp: inAnHour }),
      ),
      ok: /no Cluster/,
    },
  });
  table("unsafe marks", {
    "with a check of Cluster API disabled": {
      given: clusters(marked("c1", { "unsafe.topology.cluster.x-k8s.io/disable-update-version-check": "" })),
      warning:
        /on 1 Cluster\nteam-a\/c1 → .* c1 unsafe.topology.cluster.x-k8s.io\/disable-update-version-check-$/,
    },
  });
  table("coverage", {
    "all but one": {
      given: {
        ...clusters(cluster("c1"), cluster("c2")),
        ...policies(policy({ clusterSelector: { matchLabels: { a: "b" } } })),
      },
      warning: /matches 2 Clusters: team-a\/c1, team-a\/c2/,
    },
  });
  table("overrides", {
    "until an override lifts it": {
      given: overrides(override(inAnHour)),
      warning:
        /o \(team-a\/c1 until .*kubectl patch hookoverride o --type merge -p '\{"spec":\{"expiresAt":"/,
    },
    "by an override of this very Cluster": { given: overrides(override(inAnHour, "c1")), warning: /o / },
    "although an override names a Cluster that had this name": {
      given: overrides(override(inAnHour, "gone")),
      ok: /^active only for Clusters that are gone: o →/,
    },
    "perhaps not, where the Cluster of an override cannot be read": {
      given: { ...overrides(override(inAnHour, "gone")), clusters: forbidden },
      warning: /o /,
    },
    "after an override has ended": { given: overrides(override("2020-01-01T00:00:00Z")), ok: /none/ },
  });
  table("grants", {
    "by objects that may not be read": {
      given: grant(found(["watch"])),
      error: /may not watch backups\.velero\.io.*kubectl create clusterrole/,
    },
    "by objects that may be read": { given: grant(found([])), ok: /may read backups/ },
    "by objects that do not exist": { given: grant(absent), error: /serves no backups\.velero\.io/ },
    "by objects whose rights the user may not review": { given: grant(forbidden), unknown: /may not/ },
  });

  test("names are few, however many there are", () => {
    const many = Array.from({ length: 9 }, (_, n) => cluster(`c${n}`));
    const { detail } = check("coverage", { clusters: found(many), policies: found([]) });
    assert.match(detail, /9 Clusters: team-a\/c0, .*team-a\/c4 and 4 more$/);
  });
});
