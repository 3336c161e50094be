/** Reviews of Clusters, with the real store and the real confirmation: only what was confirmed passes. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { LiveReader } from "../../../src/decisions/live-reads.ts";
import { viewCluster } from "../../../src/views/cluster.ts";
import { APPROVED, clusterHookPolicy, objectsOf, range, rule } from "../builders.ts";
import { policyList } from "../memory/fixtures.ts";
import { deny, type Setup, lab, raw, type RawCluster, review } from "./cluster-lab.ts";

const deletion = (over: RawCluster = {}): object => review("DELETE", { oldObject: raw(over) });
const APPROVES = { annotations: { [APPROVED]: "yes" } };

describe("a deletion", () => {
  test("is refused at once while the Cluster's own annotation is missing", async () => {
    const { ask, reads } = lab();
    const { allowed, uid, status } = await ask(deletion());
    assert.deepEqual([allowed, uid, status?.code, status?.reason], [false, "review-1", 403, "Forbidden"]);
    assert.equal(
      status?.message,
      `Cluster team-a/prod-1 cannot be deleted yet: HookPolicy team-a/protect, rule confirmed-delete: gate approved waits for annotation ${APPROVED} on Cluster team-a/prod-1 (kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 ${APPROVED}=true)`,
    );
    assert.deepEqual(reads, []);
  });

  test("passes with the annotation, after a read of the policies", async () => {
    const { ask, reads } = lab();
    assert.equal((await ask(deletion(APPROVES))).allowed, true);
    assert.ok(reads.includes("policies"));
  });

  test("passes with a warning where the rule only warns", async () => {
    const { ask, outcomes } = lab({ policies: [deny({ admission: "Warn" })] });
    const { allowed, warnings = [] } = await ask(deletion());
    assert.equal(allowed, true);
    assert.match(
      warnings.join("\n"),
      /^HookPolicy team-a\/protect, rule confirmed-delete: gate approved waits for/,
    );
    assert.equal(outcomes[0]?.verdict, "Warned");
  });

  test("is refused by a gate on other objects only after they were read", async () => {
    const backup = { apiVersion: "velero.io/v1", kind: "Backup", selector: {} };
    const policies = [deny({ until: [{ name: "backup", object: backup }] })];
    const refused = lab({ policies });
    assert.equal((await refused.ask(deletion())).status?.code, 403);
    assert.ok(refused.reads.includes("objects"));
    const objects = objectsOf({
      "velero.io/v1 Backup": [
        { metadata: { name: "b", namespace: "team-a", uid: "b", resourceVersion: "1" } },
      ],
    });
    const found = async (): Promise<ReturnType<typeof objects.find>> =>
      await Promise.resolve(objects.find(backup, "team-a"));
    // Memory has no such objects: it must release, too.
    assert.equal((await lab({ policies, reader: { objects: found } }).ask(deletion())).allowed, false);
  });

  test("is not refused by memory alone where the labels of the Namespace decide", async () => {
    const { ask, reads } = lab({
      policies: [clusterHookPolicy({ rules: [rule({ admission: "Deny" })] })],
    });
    assert.equal((await ask(deletion())).status?.code, 403);
    assert.ok(reads.includes("namespace"));
  });
});

describe("another request", () => {
  const upgrade = review("UPDATE", { oldObject: raw(), object: raw({ version: "v1.35.0" }) });

  test("upgrades: its new version decides", async () => {
    const until = [{ name: "approved", annotation: { key: "ok", valueFrom: "TargetVersion" as const } }];
    const policies = [deny({ hooks: ["BeforeClusterUpgrade"], until })];
    const { status } = await lab({ policies }).ask(upgrade);
    assert.match(
      status?.message ?? "",
      /^Cluster team-a\/prod-1 cannot be upgraded to v1\.35\.0 yet: .*prod-1 ok=v1\.35\.0\)/,
    );
    const approved = raw({ version: "v1.35.0", annotations: { ok: "v1.35.0" } });
    const passes = review("UPDATE", { oldObject: raw(), object: approved });
    assert.equal((await lab({ policies }).ask(passes)).allowed, true);
  });

  test("creates: the message says where the annotation belongs", async () => {
    const policies = [deny({ hooks: ["BeforeClusterCreate"] })];
    const { status } = await lab({ policies }).ask(review("CREATE", { object: raw() }));
    assert.match(
      status?.message ?? "",
      /cannot be created yet: .*set what it lacks in the object that you apply$/,
    );
  });

  test("begins nothing, and passes without a read", async () => {
    const { ask, reads } = lab();
    const same = review("UPDATE", { oldObject: raw(), object: raw({ annotations: { a: "b" } }) });
    assert.equal((await ask(same)).allowed, true);
    assert.deepEqual(reads, []);
  });
});

describe("a deletion that every policy would let pass is refused", () => {
  const fails = async (): Promise<never> => await Promise.reject(new Error("connection refused"));
  const cases: Record<string, { given: Setup; says: RegExp }> = {
    "while policies are still loaded": {
      given: { decisions: { loaded: () => false } },
      says: /still loading/,
    },
    "when policies cannot be read": {
      given: { reader: { policies: fails } },
      says: /could not confirm its decision with the API server \(ApiServerUnavailable\)/,
    },
    "when the Namespace cannot be read": {
      given: { reader: { namespace: fails } },
      says: /ApiServerUnavailable/,
    },
    "when the API server has a policy that memory lacks": {
      given: {
        reader: {
          policies: async () =>
            await Promise.resolve(
              policyList([{ name: "new", namespace: "team-a", uid: "n", resourceVersion: "1" }]),
            ),
        },
      },
      says: /PolicyNotInMemory/,
    },
    "when the clocks differ": { given: { reader: { clockAheadMs: () => 60_000 } }, says: /ClockSkewed/ },
    "when the API server shows no clock": {
      given: { reader: { clockAheadMs: () => undefined } },
      says: /ClockUnknown/,
    },
    "when too many wait": {
      given: { decisions: { inTurn: (_request, _decide, refuse) => refuse() } },
      says: /try again in a second/,
    },
    "when a bug throws": {
      given: {
        decisions: {
          refusal: () => {
            throw new Error("bug");
          },
        },
      },
      says: /internal error/,
    },
    "when the confirmation rejects": {
      given: { decisions: { confirmRequest: fails } },
      says: /internal error/,
    },
  };
  for (const [name, { given, says }] of Object.entries(cases)) {
    test(name, async () => {
      const { allowed, uid, status } = await lab(given).ask(deletion(APPROVES));
      assert.deepEqual([allowed, uid], [false, "review-1"]);
      assert.match(status?.message ?? "", says);
    });
  }
});

test("a deletion passes as soon as memory has every policy that the API server has", async () => {
  const unknown = { name: "new", namespace: "team-a", uid: "n", resourceVersion: "1" };
  let lists = 0;
  const policies: LiveReader["policies"] = async (kind) => {
    if (kind === "HookPolicy") lists += 1;
    const live = lists <= 2 ? [deny().metadata, unknown] : [deny().metadata];
    return await Promise.resolve(policyList(kind === "HookPolicy" ? live : []));
  };
  assert.equal((await lab({ reader: { policies } }).ask(deletion(APPROVES))).allowed, true);
});

describe("what is no review of a Cluster is refused", () => {
  const cases: Record<string, object> = {
    nothing: {},
    "a deletion without its object": review("DELETE", {}),
    "an update without the old object": review("UPDATE", { object: raw() }),
    "a creation without its object": review("CREATE", {}),
    "a connection": review("CONNECT", { object: raw() }),
    "an object without a name": review("DELETE", { oldObject: { metadata: { namespace: "team-a" } } }),
    "another kind": {
      request: {
        ...Object(Reflect.get(deletion(APPROVES), "request")),
        kind: { group: "cluster.x-k8s.io", kind: "Machine" },
      },
    },
    "a subresource": {
      request: { ...Object(Reflect.get(deletion(APPROVES), "request")), subResource: "status" },
    },
  };
  for (const [name, body] of Object.entries(cases)) {
    test(name, async () => {
      const { allowed, uid } = await lab().ask(body);
      assert.deepEqual([allowed, uid], [false, ""]);
    });
  }
});

test("the Cluster of a review is read in both versions of the API", () => {
  const v1beta2 = { ...raw(), spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" } } };
  assert.deepEqual(viewCluster(v1beta2), viewCluster(raw()));
});

describe("a flood of large reviews", () => {
  const LETTERS = 200_000;
  const large = (team: string, letters = LETTERS): object => {
    return review("DELETE", {
      namespace: team,
      object: null,
      oldObject: raw({ annotations: { long: "x".repeat(letters) } }),
    });
  };

  test("is parsed one in a turn of the event loop, and namespaces take turns", async (t) => {
    const parse = t.mock.method(JSON, "parse");
    const parsed = (): string[] =>
      parse.mock.calls.flatMap(({ arguments: [text] }) =>
        text.length > LETTERS ? [/"namespace":"(team-[xy])"/.exec(text)?.[1] ?? ""] : [],
      );
    const { ask } = lab();
    const asked = ["team-x", "team-x", "team-x", "team-y"].map(async (team) => await ask(large(team)));
    assert.deepEqual(parsed(), []);
    const counts = [0];
    while (counts.at(-1) !== asked.length) {
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(parsed().length);
    }
    const atOnce = counts.slice(1).map((count, index) => count - (counts[index] ?? 0));
    assert.equal(Math.max(...atOnce), 1);
    assert.deepEqual(parsed(), ["team-x", "team-x", "team-y", "team-x"]);
    assert.ok((await Promise.all(asked)).every(({ uid }) => uid === "review-1"));
  });

  test("is none where a review has a Cluster of 45 KiB twice, however many come", async () => {
    const { ask } = lab();
    const answers = await Promise.all(range(40).map(async () => await ask(large("team-x", 90 * 1024))));
    assert.deepEqual(
      answers.filter(({ status }) => status?.code === 429),
      [],
    );
  });

  test("is refused with a 429 where one namespace sends too many, and others are not", async () => {
    const { ask } = lab();
    const flood = Array.from({ length: 40 }, async () => await ask(large("team-x")));
    const other = await ask(large("team-y"));
    assert.notEqual(other.status?.code, 429);
    const refused = (await Promise.all(flood)).filter(({ status }) => status?.code === 429);
    assert.ok(refused.length >= 40 - 17, `${refused.length} refused`);
    assert.ok(refused.every(({ uid, allowed }) => uid === "review-1" && !allowed));
  });
});
