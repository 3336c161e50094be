import assert from "node:assert/strict";
import test from "node:test";
import { hookpolicy } from "../resident.ts";

const WRONG: Record<string, { args: string[]; says: RegExp }> = {
  "no Cluster": { args: [], says: /^error: missing required argument 'cluster'/ },
  "a Cluster without a namespace": { args: ["prod-1"], says: /Allowed: NAMESPACE\/NAME/ },
  "an unknown hook": {
    args: ["a/b", "--hook", "BeforeClusterDelet"],
    says: /\(did you mean BeforeClusterDelete\?\)/,
  },
  "no duration": {
    args: ["a/b", "--timeout", "soon"],
    says: /Allowed: a duration such as 90s, 10m or 1h30m/,
  },
  "no kubeconfig": {
    args: ["a/b", "--kubeconfig", "/none"],
    says: /^error: kubeconfig \/none: no such file\n$/,
  },
};
for (const [name, { args, says }] of Object.entries(WRONG)) {
  test(`approve refuses ${name}`, async () => {
    const { code, stdout, stderr } = await hookpolicy(["approve", ...args]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
  });
}
