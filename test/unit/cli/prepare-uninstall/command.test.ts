import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import test, { describe, type TestContext } from "node:test";
import { answering, list, listing } from "../api-server.ts";
import { MAIN } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const EXTENSION = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/hookpolicy";

const RECORD = "/api/v1/namespaces/hookpolicy-system/secrets/sh.helm.release.v1.hookpolicy.v3";
const FOR_HELM = "prepare-uninstall --yes --while-helm-uninstalls sh.helm.release.v1.hookpolicy.v3".split(
  " ",
);

const PROTECT = { namespace: "team-a", name: "protect", uid: "2", resourceVersion: "1" };
const HELD_ROW = { namespace: "team-a", cluster: "prod-1", hook: "BeforeClusterDelete", verdict: "Blocked" };
/** A policy that holds one Cluster. */
const HOLDING = { metadata: PROTECT, status: { decisions: [HELD_ROW] } };
const HELD = listing({ hookpolicies: [HOLDING] });

const RUNNING = {
  metadata: { namespace: "hookpolicy-system", name: "hookpolicy", uid: "4", resourceVersion: "1" },
  spec: { replicas: 0, selector: { matchLabels: { app: "hookpolicy" } } },
  status: { availableReplicas: 2 },
};

/** An API server of one ExtensionConfig and these answers, and the kubeconfig for it. */
async function apiServer(
  t: TestContext,
  answers: Parameters<typeof answering>[1] = {},
): Promise<{ kubeconfig: string; deleted: () => string[] }> {
  const always: Record<string, object> = {
    "GET /apis/runtime.cluster.x-k8s.io": { versions: [{ version: "v1beta2" }] },
    [`GET ${EXTENSION}`]: { metadata: { name: "hookpolicy", uid: "1", resourceVersion: "1" } },
    [`DELETE ${EXTENSION}`]: { kind: "Status", status: "Success" },
  };
  // Answers may be computed anew for each question, so they are not copied.
  const { kubeconfig, asked } = await answering(t, Object.setPrototypeOf(always, answers));
  const verb = "DELETE ";
  const deleted = (): string[] =>
    asked.filter((each) => each.startsWith(verb)).map((each) => each.slice(verb.length));
  return { kubeconfig, deleted };
}

test("without a terminal to ask on, nothing is done unless told so", async (t) => {
  const { kubeconfig, deleted } = await apiServer(t);
  const { code, stdout, stderr } = await hookpolicy(["prepare-uninstall", "--kubeconfig", kubeconfig]);
  assert.deepEqual([code, stdout], [2, "would delete ExtensionConfig hookpolicy\n"]);
  assert.match(
    stderr,
    /^server: \S+, context \S+\nerror: standard input is no terminal to ask on: confirm with --yes/,
  );
  const dry = await hookpolicy(["prepare-uninstall", "--dry-run", "--yes", "--kubeconfig", kubeconfig]);
  assert.deepEqual([dry.code, dry.stdout], [0, "would delete ExtensionConfig hookpolicy\n"]);
  assert.match(dry.stderr, /^server: \S+, context \S+\n$/);
  assert.deepEqual(deleted(), []);
  const done = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
  assert.deepEqual([done.code, done.stdout], [0, "delete ExtensionConfig hookpolicy ... done\n"]);
  assert.match(done.stderr, /^server: \S+, context \S+\n$/);
  assert.deepEqual(deleted(), [EXTENSION]);
});

/** On a terminal of util-linux' script(1), answering the question. */
async function answered(kubeconfig: string, answer: string): Promise<string> {
  const command = `${process.execPath} ${MAIN} prepare-uninstall --kubeconfig ${kubeconfig}`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"]);
  child.stdout.on("data", (data: Buffer) => {
    if (data.includes("[y/N]")) child.stdin.write(`${answer}\n`);
  });
  return await text(child.stdout);
}

const HAS_TERMINALS = ((): boolean => {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux");
  } catch {
    return false;
  }
})();

test("on a terminal the steps are shown, and only yes is yes", { skip: !HAS_TERMINALS }, async (t) => {
  const { kubeconfig, deleted } = await apiServer(t);
  for (const answer of ["", "n", "yep"]) {
    const printed = await answered(kubeconfig, answer);
    assert.match(printed, /would delete ExtensionConfig hookpolicy/);
    assert.match(printed, /error: not confirmed: nothing was changed/);
  }
  assert.deepEqual(deleted(), []);
  assert.match(await answered(kubeconfig, "y"), /\ndelete ExtensionConfig hookpolicy \.\.\. done/);
  assert.deepEqual(deleted(), [EXTENSION]);
});

test("--yes does not release what is held: that has a flag of its own", async (t) => {
  const { kubeconfig, deleted } = await apiServer(t, HELD);
  const flags = ["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig];
  const refused = await hookpolicy(flags);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(
    refused.stderr,
    /\n {2}Cluster team-a\/prod-1 at BeforeClusterDelete, by HookPolicy team-a\/protect\n/,
  );
  assert.match(
    refused.stderr,
    /error: nothing was changed, .*'hookpolicy get -A --kubeconfig \S+'.* --release-held-clusters --kubeconfig \S+'\n$/,
  );
  assert.deepEqual(deleted(), []);
  assert.equal((await hookpolicy([...flags, "--release-held-clusters"])).code, 0);
  assert.deepEqual(deleted(), [EXTENSION]);
});

for (const reason of ["TooLarge", "BudgetExhausted"])
  test(`what is held although a policy proceeds where it is not evaluable counts as held: ${reason}`, async (t) => {
    const policy = {
      metadata: PROTECT,
      spec: { failurePolicy: "Ignore" },
      status: { decisions: [{ ...HELD_ROW, verdict: "NotEvaluable", reason }] },
    };
    const { kubeconfig, deleted } = await apiServer(t, {
      ...listing({ hookpolicies: [policy] }),
      "GET /apis/apps/v1/namespaces/hookpolicy-system/deployments/hookpolicy": RUNNING,
      "GET /api/v1/namespaces/hookpolicy-system/pods": list(),
    });
    const { code, stderr } = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
    assert.match(stderr, /Cluster team-a\/prod-1 at BeforeClusterDelete, by HookPolicy team-a\/protect/);
    assert.deepEqual([code, deleted()], [1, []]);
  });

test("what is held only since the question is not released", async (t) => {
  const path = "GET /apis/hookpolicy.dev/v1alpha1/hookpolicies";
  let lists = 0;
  const { kubeconfig, deleted } = await apiServer(t, {
    get [path]() {
      lists += 1;
      return lists > 1 ? list(HOLDING) : list();
    },
  });
  const { code, stderr } = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
  assert.match(stderr, /Cluster team-a\/prod-1 at BeforeClusterDelete[^]*more is held by now/);
  assert.deepEqual([code, deleted()], [1, []]);
});

describe("for the Job of the chart nothing is changed", () => {
  const record = (status: string) => ({
    metadata: { name: "any", uid: "3", resourceVersion: "1", labels: { owner: "helm", status } },
  });
  for (const [name, answers, says] of [
    [
      "without a record of Helm",
      {},
      /there is no record hookpolicy-system\/sh\.helm\.release\.v1\.hookpolicy\.v3/,
    ],
    [
      "while Helm has deployed the release",
      { [`GET ${RECORD}`]: record("deployed") },
      /says that the release is deployed/,
    ],
    ["after a rollback", { [`GET ${RECORD}`]: record("superseded") }, /says that the release is superseded/],
    [
      "by a Secret of that name that is not Helm's",
      {
        [`GET ${RECORD}`]: {
          metadata: { name: "any", uid: "3", resourceVersion: "1", labels: { status: "uninstalling" } },
        },
      },
      /there is no record/,
    ],
  ] as const) {
    test(name, async (t) => {
      const { kubeconfig, deleted } = await apiServer(t, answers);
      const { code, stderr } = await hookpolicy([...FOR_HELM, "--kubeconfig", kubeconfig]);
      assert.equal(code, 1);
      assert.match(stderr, says);
      assert.match(stderr, /^error: nothing was changed, .* run 'hookpolicy prepare-uninstall /m);
      assert.deepEqual(deleted(), []);
    });
  }

  test("if a Cluster is held", async (t) => {
    const { kubeconfig, deleted } = await apiServer(t, {
      ...HELD,
      [`GET ${RECORD}`]: record("uninstalling"),
    });
    assert.equal((await hookpolicy([...FOR_HELM, "--kubeconfig", kubeconfig])).code, 1);
    assert.deepEqual(deleted(), []);
  });
});

for (const kind of ["secrets", "configmaps"]) {
  test(`while Helm uninstalls the release, by its record in ${kind}, the Job acts`, async (t) => {
    const { kubeconfig, deleted } = await apiServer(t, {
      [`GET ${RECORD.replace("secrets", kind)}`]: {
        metadata: {
          name: "any",
          uid: "3",
          resourceVersion: "1",
          labels: { owner: "helm", status: "uninstalling" },
        },
      },
    });
    assert.equal((await hookpolicy([...FOR_HELM, "--kubeconfig", kubeconfig])).code, 0);
    assert.deepEqual(deleted(), [EXTENSION]);
  });
}

test("a time that is none is refused", async () => {
  const wrong = await hookpolicy(["prepare-uninstall", "--yes", "--timeout", "soon"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--timeout.*Allowed: a duration such as 90s/);
});

describe("what is held at the second look is compared with what was shown:", () => {
  const row = { namespace: "team-a", cluster: "c1", clusterUID: "u1", hook: "BeforeClusterDelete" };
  const policyOf = (name: string, decisions: readonly object[], decisionsOmitted = 0): object => ({
    metadata: { namespace: "team-a", name, uid: name, resourceVersion: "1" },
    status: {
      decisions: decisions.map((each) => ({ ...row, verdict: "Blocked", ...each })),
      decisionsOmitted,
    },
  });
  const some = [{ clusterUID: "u1" }, { cluster: "c2", clusterUID: "u2" }];
  const cases: Readonly<Record<string, readonly [readonly object[], readonly object[], boolean]>> = {
    "fewer that no status names": [[policyOf("a", some, 250)], [policyOf("a", some, 249)], false],
    "more of them": [[policyOf("a", some, 250)], [policyOf("a", some, 251)], true],
    "one of them has a row now": [
      [policyOf("a", some, 250)],
      [policyOf("a", [...some, { cluster: "c3", clusterUID: "u3" }], 249)],
      false,
    ],
    "one policy less": [[policyOf("a", some), policyOf("b", some)], [policyOf("b", some)], false],
    "another policy": [[policyOf("a", some)], [policyOf("a", some), policyOf("b", some)], true],
    "another Cluster of the name": [
      [policyOf("a", [{ clusterUID: "u1" }])],
      [policyOf("a", [{ clusterUID: "u3" }])],
      true,
    ],
  };
  for (const [title, [shown, present, refuses]] of Object.entries(cases))
    test(
      `${title} ${refuses ? "is not agreed to" : "was agreed to"}`,
      { skip: !HAS_TERMINALS },
      async (t) => {
        const path = "GET /apis/hookpolicy.dev/v1alpha1/hookpolicies";
        let lists = 0;
        const { kubeconfig, deleted } = await apiServer(t, {
          get [path]() {
            return { items: (lists += 1) > 1 ? present : shown, metadata: { resourceVersion: "1" } };
          },
        });
        const printed = await answered(kubeconfig, "y");
        assert.equal(/more is held by now/.test(printed), refuses, printed);
        assert.deepEqual(deleted(), refuses ? [] : [EXTENSION]);
      },
    );
});

test("whether a policy holds something is not known before an operator that runs again has written its status", async (t) => {
  const gone = { type: "Ready", status: "Unknown", reason: "OperatorGone" };
  const metadata = { namespace: "team-a", name: "p", uid: "2", resourceVersion: "1" };
  const { kubeconfig, deleted } = await apiServer(t, {
    "GET /apis/hookpolicy.dev/v1alpha1/hookpolicies": {
      items: [{ metadata, status: { conditions: [gone] } }],
      metadata: { resourceVersion: "1" },
    },
    "GET /apis/apps/v1/namespaces/hookpolicy-system/deployments/hookpolicy": RUNNING,
    "GET /api/v1/namespaces/hookpolicy-system/pods": { items: [], metadata: { resourceVersion: "1" } },
  });
  const { code, stderr } = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
  assert.match(stderr, /what HookPolicy team-a\/p holds is not known: no operator has written its status/);
  assert.deepEqual([code, deleted()], [1, []]);
});
