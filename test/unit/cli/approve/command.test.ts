import assert from "node:assert/strict";
import test from "node:test";
import { answering, SERVES_CLUSTERS } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

const WRONG: Record<string, { args: string[]; says: RegExp }> = {
  "no Cluster": { args: [], says: /^error: missing required argument 'cluster'/ },
  "a Cluster of no name": { args: ["team-a/"], says: /Allowed: NAMESPACE\/NAME/ },
  "another namespace than that of the Cluster": {
    args: ["team-a/prod-1", "-n", "team-b"],
    says: /^error: team-a\/prod-1 is not in namespace team-b, which -n says/,
  },
  "an unknown hook": {
    args: ["a/b", "--hook", "BeforeClusterDelet"],
    says: /\(did you mean BeforeClusterDelete\?\)/,
  },
  "no duration": {
    args: ["a/b", "--timeout", "soon"],
    says: /Allowed: a duration such as 90s, 10m or 1h30m; see/,
  },
  "a duration in days": {
    args: ["a/b", "--timeout", "2d"],
    says: /Allowed: a duration such as 90s, 10m or 1h30m \(write 48h\)/,
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

test("approve and override take a Cluster by its name, in the namespace of -n or of the context", async (t) => {
  const { kubeconfig, asked } = await answering(t, SERVES_CLUSTERS);
  const override = ["--hook", "BeforeClusterDelete", "--reason", "why", "--for", "1h"];
  for (const [command, ...more] of [["approve"], ["override", ...override]]) {
    for (const [namespace, ...flags] of [["default"], ["team-a", "-n", "team-a"]]) {
      const args = [command ?? "", "prod-1", ...flags, ...more, "--kubeconfig", kubeconfig];
      assert.equal((await hookpolicy(args)).code, 2);
      const about = asked.filter((question) => question.includes("/namespaces/"));
      assert.match(about.at(-1) ?? "", new RegExp(`/namespaces/${namespace}\\b`), args.join(" "));
    }
  }
});
