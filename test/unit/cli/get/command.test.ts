import assert from "node:assert/strict";
import test from "node:test";
import { hookpolicy } from "../resident.ts";

const WRONG: Record<string, { args: string[]; says: RegExp }> = {
  "two places at once": {
    args: ["-A", "-n", "team-a"],
    says: /^error: -A means all namespaces, -n one of them/,
  },
  "a watch of sums": { args: ["-w", "--by", "policy"], says: /^error: -w shows operations: leave --by out/ },
  "an unknown format": { args: ["-o", "jsn"], says: /\(did you mean json\?\)/ },
  "an unknown grouping": { args: ["--by", "clusters"], says: /\(did you mean cluster\?\)/ },
  "no kubeconfig": { args: ["--kubeconfig", "/none"], says: /^error: kubeconfig \/none: no such file\n$/ },
};
for (const [name, { args, says }] of Object.entries(WRONG)) {
  test(`get refuses ${name}`, async () => {
    const { code, stdout, stderr } = await hookpolicy(["get", ...args]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
  });
}
