/** Arguments of commands that read files. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "./program.ts";
import { rawCluster } from "./raw.ts";
import { hookpolicy } from "./resident.ts";

test("arguments that cannot be meant are usage errors", async (t) => {
  const cwd = await folder(t, { "fleet/clusters.yaml": JSON.stringify(rawCluster()) });
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["simulate", "-f", "-", "--against", "-"], /both read standard input/],
    [["simulate", "--against", "fleet", "-f", "fleet", "--to-version", "1.35"], /did you mean v1\.35\.0\?/],
    [["explain", "team-a/prod-1", "--from-version", "latest"], /Allowed: a version in full/],
    [["validate", ""], /the path is empty/],
    [["init", ""], /the path is empty/],
    [["prepare-uninstall", "--kubeconfig", "none"], /none/],
  ];
  for (const [args, says] of cases) {
    const { code, stderr } = await hookpolicy(args, { cwd });
    assert.match(stderr, says);
    assert.equal(code, 2, args.join(" "));
  }
});
