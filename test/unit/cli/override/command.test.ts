import assert from "node:assert/strict";
import test from "node:test";
import { answering, FORBIDDEN, servingCluster } from "../api-server.ts";
import { rawCluster } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const wish = (over: Record<string, string | undefined> = {}): string[] =>
  Object.entries({ hook: "BeforeClusterDelete", reason: "INC-1", for: "1h", ...over }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`--${name}`, value]),
  );

const WRONG: Record<string, { args: string[]; says: RegExp }> = {
  "no hook": {
    args: wish({ hook: undefined }),
    says: /^error: required option '--hook <name>' not specified/,
  },
  "an unknown hook": {
    args: wish({ hook: "BeforeClusterDelet" }),
    says: /\(did you mean BeforeClusterDelete\?\)/,
  },
  "no reason": { args: wish({ reason: " " }), says: /Allowed: a text that explains it later/ },
  "no end": {
    args: wish({ for: undefined }),
    says: /^error: required option '--for <duration>' not specified/,
  },
  "a kind that holds nothing": {
    args: wish({ policy: "ClusterHookPolcy/freeze", kubeconfig: "/none" }),
    says: /'--policy <name>' .* Allowed: HookPolicy, ClusterHookPolicy, HookRollout \(did you mean ClusterHookPolicy\?\)/,
  },
  "a policy without a name": {
    args: wish({ policy: "HookPolicy/", kubeconfig: "/none" }),
    says: /Allowed: NAME or KIND\/NAME, such as ClusterHookPolicy\/freeze/,
  },
  "what the API server would refuse": {
    args: wish({ reason: "a\nb", kubeconfig: "/none" }),
    says: /^error: spec\.reason: must be one line /,
  },
  "no kubeconfig": {
    args: wish({ kubeconfig: "/none" }),
    says: /^error: kubeconfig \/none: no such file\n$/,
  },
};
for (const [name, { args, says }] of Object.entries(WRONG)) {
  test(`override refuses ${name}`, async () => {
    const { code, stdout, stderr } = await hookpolicy(["override", "a/b", ...args]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
  });
}

test("what shows an override that the operator has not answered looks where it was created", async (t) => {
  const { kubeconfig } = await answering(t, {
    ...servingCluster(rawCluster({ uid: "u1", resourceVersion: "1" }), { hookoverrides: FORBIDDEN }),
    "POST /apis/hookpolicy.dev/v1alpha1/hookoverrides": {
      metadata: { name: "o", uid: "u2", resourceVersion: "1" },
    },
  });
  const { code, stdout } = await hookpolicy(["override", "team-a/prod-1", ...wish({ kubeconfig }), "--yes"]);
  assert.equal(code, 1);
  assert.match(stdout, /see 'kubectl get hookoverride team-a-prod-1-\S+ --kubeconfig \S+'\n$/);
});
