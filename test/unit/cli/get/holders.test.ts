import assert from "node:assert/strict";
import test from "node:test";
import { followHolders, readHolders } from "../../../../src/cli/get/holders.ts";
import type { KubeClient } from "../../../../src/kube/kube-client.ts";
import { KubeError } from "../../../../src/kube/kube-error.ts";
import type { Resource } from "../../../../src/kube/resource.ts";

/** Refuses to list these kinds with the code, and has no objects of the others. */
function clientOf(refused: Readonly<Record<string, number>>): KubeClient {
  const list = async ({ kind }: Resource): Promise<object> => {
    const code = refused[kind];
    if (code === undefined) return await Promise.resolve({ items: [], resourceVersion: "1" });
    throw new KubeError("refused", { code, reason: code === 404 ? "NotFound" : "Forbidden" });
  };
  return { list } as unknown as KubeClient;
}

test("what is followed is what is served and may be read, and what may not be read is named", async () => {
  const read = async (refused: Readonly<Record<string, number>>, namespace?: string): Promise<unknown> => {
    const { resources, unread } = await readHolders(clientOf(refused), namespace);
    return [resources.map(({ kind }) => kind), unread];
  };
  const policies = ["HookPolicy", "ClusterHookPolicy"];
  assert.deepEqual(await read({}), [[...policies, "HookRollout"], []]);
  assert.deepEqual(await read({ HookRollout: 404 }), [policies, []]);
  assert.deepEqual(await read({ HookRollout: 403 }), [
    policies,
    ["you may not list hookrollouts.hookpolicy.dev"],
  ]);
  assert.deepEqual(await read({ ClusterHookPolicy: 403 }, "team-a"), [
    ["HookPolicy", "HookRollout"],
    ["you may not list clusterhookpolicies.hookpolicy.dev"],
  ]);
});

test("without policies that are served or may be read, nothing is", async () => {
  await assert.rejects(
    readHolders(clientOf({ HookPolicy: 404 })),
    /serves no hookpolicies\.hookpolicy\.dev: HookPolicy, or its CRDs, are not installed/,
  );
  await assert.rejects(readHolders(clientOf({ HookPolicy: 403 }), "team-a"), /refused/);
  await assert.rejects(readHolders(clientOf({ ClusterHookPolicy: 403 })), /refused/);
});

for (const [verb, code] of [
  ["watch", 403],
  ["list", 403],
  ["list", 404],
] as const)
  test(`policies are followed where rollouts are not: ${verb} ${code}`, async () => {
    const end = new AbortController();
    const all = clientOf({});
    const refused = clientOf(verb === "list" ? { HookRollout: code } : {});
    const client = {
      list: async (resource: Resource) => await refused.list(resource),
      watch: async ({ kind }: Resource, { signal }: { signal: AbortSignal }): Promise<object> => {
        if (kind === "HookRollout") throw new KubeError("refused", { code, reason: "Forbidden" });
        return await new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      },
    } as unknown as KubeClient;
    const { resources } = await readHolders(all);
    const unread: string[] = [];
    let told = 0;
    const follower = {
      onHolders: () => {
        told += 1;
        if (unread.length > 0) end.abort();
      },
      onLost: () => undefined,
      onOperator: () => undefined,
      onUnread: (text: string) => unread.push(text),
    };
    await followHolders(client, { resources }, follower, end.signal);
    assert.deepEqual(unread, ["refused"]);
    assert.ok(told > 0);
  });
