import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { compileSelector } from "../../../src/api/selector.ts";
import { ApiServerReviewer } from "../../../src/adapters/access-reviewer.ts";
import { admissionWorld } from "../../../src/operator/admission-wiring.ts";
import { cluster, clusterHookPolicy, hookPolicy, namespace } from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";
import { hookRollout } from "../rollouts/fixtures.ts";
import { json, type RecordedRequest, status } from "../kube/fake-api-server.ts";
import { startLab } from "../kube/fixtures.ts";
import { serving, WIDGET } from "../objects/object-lab.ts";

/** From when it is asked: other files may run for minutes before this one in one process. */
const soon = (): AbortSignal => AbortSignal.timeout(60_000);

interface OperationState {
  readonly kind: string;
  readonly spec: { readonly resourceAttributes: { readonly verb: string } };
}

interface Lab {
  readonly reviewer: ApiServerReviewer;
  readonly asked: OperationState[];
}

/** Discovery of Widgets, and access reviews answered by `decide`. */
async function reviewerOf(
  t: TestContext,
  decide: (asked: OperationState) => unknown = () => ({ allowed: true }),
  discovery = serving(),
): Promise<Lab> {
  const { server, client } = await startLab(t);
  const asked: OperationState[] = [];
  server.always("other", (request: RecordedRequest, response) => {
    if (!/^\/apis\/authorization.k8s.io\/v1\/(self)?subjectaccessreviews$/.test(request.path)) {
      return discovery(request, response);
    }
    const review: OperationState = JSON.parse(request.body);
    asked.push(review);
    // Stored nowhere: without name and resourceVersion.
    json(response, 201, { ...review, metadata: {}, status: decide(review) });
  });
  return { reviewer: new ApiServerReviewer(client, { tellsOwn: true }), asked };
}

test("asks what a user may do with everything that is known of the user", async (t) => {
  const { reviewer, asked } = await reviewerOf(t);
  const user = { username: "jane", uid: "7", groups: ["devs"], extra: { tenant: ["a"] } };
  const access = {
    verb: "get",
    group: "velero.io",
    resource: "backups",
    namespace: "team-a",
    name: "b",
  } as const;
  assert.equal(await reviewer.may(user, access, soon()), true);
  assert.deepEqual(asked, [
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: "jane",
        uid: "7",
        groups: ["devs"],
        extra: { tenant: ["a"] },
        resourceAttributes: access,
      },
    },
  ]);
});

test("anything but a plain yes is a no, and a failure is neither", async (t) => {
  const access = { verb: "list", group: "", resource: "pods" } as const;
  for (const said of [{ allowed: false }, { denied: true }, { allowed: "true" }, {}, null, "yes"]) {
    const { reviewer } = await reviewerOf(t, () => said);
    assert.equal(await reviewer.may({ username: "jane" }, access, soon()), false, JSON.stringify(said));
  }
  const { server, client } = await startLab(t);
  server.always("other", status(403, "Forbidden"));
  await assert.rejects(
    new ApiServerReviewer(client, { tellsOwn: true }).may({ username: "jane" }, access, soon()),
    /403|forbidden/i,
  );
});

test("a kind that the operator can watch is located, and nothing is wrong with it", async (t) => {
  const { reviewer, asked } = await reviewerOf(t);
  const { resource, problem } = await reviewer.locate(WIDGET, soon());
  assert.deepEqual(
    [resource?.group, resource?.plural, resource?.namespaced],
    ["example.com", "widgets", true],
  );
  assert.equal(problem, undefined);
  assert.deepEqual(
    new Set(asked.map(({ kind, spec }) => `${kind} ${spec.resourceAttributes.verb}`)),
    new Set(["SelfSubjectAccessReview list", "SelfSubjectAccessReview watch", "SelfSubjectAccessReview get"]),
  );
});

test("a verb that the operator was not granted is told in the words of a refused watch", async (t) => {
  for (const missing of ["list", "watch", "get"]) {
    const { reviewer } = await reviewerOf(t, ({ spec }) => ({
      allowed: spec.resourceAttributes.verb !== missing,
    }));
    const { resource, problem } = await reviewer.locate(WIDGET, soon());
    assert.equal(resource?.plural, "widgets");
    assert.match(
      problem ?? "",
      /^the operator may not read widgets\.example\.com: bind the verbs get, list and watch/,
    );
  }
});

test("a kind that is not served, and one that cannot be watched, have no resource", async (t) => {
  const { reviewer } = await reviewerOf(t);
  const unknown = await reviewer.locate({ apiVersion: "example.com/v1", kind: "Gadget" }, soon());
  assert.equal(unknown.resource, undefined);
  assert.match(unknown.problem ?? "", /serves no kind Gadget in example\.com\/v1/);
  const fixed = await reviewerOf(t, undefined, serving({ verbs: ["create"] }));
  const unwatched = await fixed.reviewer.locate(WIDGET, soon());
  assert.equal(unwatched.resource, undefined);
  assert.match(unwatched.problem ?? "", /cannot list and watch kind Widget/);
});

test("Secrets are refused without a review, whatever a user may do", async (t) => {
  const { reviewer, asked } = await reviewerOf(t);
  const { resource, problem } = await reviewer.locate({ apiVersion: "v1", kind: "Secret" }, soon());
  assert.deepEqual([resource, asked], [undefined, []]);
  assert.match(problem ?? "", /never reads Secrets/);
});

test("an API server that does not answer in time is a failure", async (t) => {
  const { reviewer } = await reviewerOf(t, undefined, status(500, "InternalError"));
  await assert.rejects(reviewer.locate(WIDGET, soon()), /internal error/);
  await assert.rejects(reviewer.locate(WIDGET, AbortSignal.abort()), /aborted/);
  await assert.rejects(
    reviewer.may({ username: "jane" }, { verb: "list", group: "", resource: "pods" }, AbortSignal.abort()),
    /aborted/,
  );
});

test("the world is the controller's memory", async () => {
  const policy = hookPolicy({ clusterSelector: { matchLabels: { tier: "prod" } } });
  const prod = cluster({ labels: { tier: "prod" } });
  const fixture = storeWith({ policies: [policy, clusterHookPolicy()], clusters: [prod], load: false });
  const clusters = new Map([["team-a/prod-1", prod]]);
  const world = admissionWorld({
    store: fixture.store,
    clusters: {
      get: (key) => clusters.get(key),
      list: () => clusters.values(),
      byNamespace: (name) => (name === "team-a" ? clusters.values() : []),
    },
    namespaces: {
      get: (key) => (key === "team-a" ? namespace() : undefined),
      list: () => [],
      byNamespace: () => [],
    },
  });
  assert.equal(world.loaded(), false);
  fixture.store.load();
  assert.equal(world.loaded(), true);
  assert.equal(world.cluster("team-a", "prod-1"), prod);
  assert.equal(world.cluster("team-b", "prod-1"), undefined);
  assert.equal(world.policy("HookPolicy", "team-a", "protect")?.uid, "uid-protect");
  assert.equal(world.policy("ClusterHookPolicy", undefined, "fleet")?.uid, "uid-fleet");
  assert.equal(world.policy("ClusterHookPolicy", undefined, "protect"), undefined);
  fixture.store.rolloutChanged("upgrades", hookRollout());
  assert.deepEqual(
    ["upgrades", "upgrade"].map((name) => world.hasRollout(name)),
    [true, false],
  );
  const selects = async (
    own: string | undefined,
    clusterLabels: Readonly<Record<string, string>> = {},
    namespaceLabels: Readonly<Record<string, string>> = {},
  ): Promise<boolean> =>
    await world.matchesCluster({
      field: "clusterSelector",
      ref:
        own === undefined
          ? { kind: "ClusterHookPolicy", name: "p" }
          : { kind: "HookPolicy", namespace: own, name: "p" },
      selectsCluster: compileSelector({ matchLabels: clusterLabels }),
      ...(own === undefined && { selectsNamespace: compileSelector({ matchLabels: namespaceLabels }) }),
    });
  assert.equal(await selects("team-a"), true);
  assert.equal(await selects("team-a", { tier: "staging" }), false);
  assert.equal(await selects("team-b"), false);
  assert.equal(await selects(undefined), true);
  assert.equal(await selects(undefined, {}, { team: "z" }), false);
});
