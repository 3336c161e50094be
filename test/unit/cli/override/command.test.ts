import assert from "node:assert/strict";
import test from "node:test";
import { answering, FORBIDDEN, servingCluster } from "../api-server.ts";
import { rawCluster } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { refuses } from "../usage.ts";

const wish = (over: Record<string, string | undefined> = {}): string[] =>
  Object.entries({ hook: "BeforeClusterDelete", reason: "INC-1", for: "1h", ...over }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`--${name}`, value]),
  );

refuses("override a/b", {
  "no hook": [wish({ hook: undefined }), /^error: required option '--hook <name>' not specified/],
  "an unknown hook": [wish({ hook: "BeforeClusterDelet" }), /\(did you mean BeforeClusterDelete\?\)/],
  "no reason": [wish({ reason: " " }), /Allowed: a text that explains it later/],
  "no end": [wish({ for: undefined }), /^error: required option '--for <duration>' not specified/],
  "a kind that holds nothing": [
    wish({ policy: "ClusterHookPolcy/freeze", kubeconfig: "/none" }),
    /'--policy <name>' .* Allowed: HookPolicy, ClusterHookPolicy, HookRollout \(did you mean ClusterHookPolicy\?\)/,
  ],
  "a policy without a name": [
    wish({ policy: "HookPolicy/", kubeconfig: "/none" }),
    /Allowed: NAME or KIND\/NAME, such as ClusterHookPolicy\/freeze/,
  ],
  "what the API server would refuse": [
    wish({ reason: "a\nb", kubeconfig: "/none" }),
    /^error: spec\.reason: must be one line /,
  ],
  "no kubeconfig": [wish({ kubeconfig: "/none" }), /^error: kubeconfig \/none: no such file\n$/],
});

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
